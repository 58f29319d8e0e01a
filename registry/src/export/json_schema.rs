//! The JSON Schema of frames in their JSON form.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use ::serde::{Serialize, Serializer};
use serde_json::Value;

use super::formats;
use super::frames::{Frame, Pair, Param, written};
use super::grammar::Expr;
use super::{regex, tokens};
use crate::format::Format;
use crate::model::Registry;
use crate::tables::EnvelopeKind;
use crate::types::Type;

/// Returns the schema of these frames, as text.
pub(super) fn write(registry: &Registry, frames: &[Frame<'_>], depth: u32) -> String {
    let mut builder = Builder {
        registry,
        definitions: BTreeMap::new(),
    };
    let frames: Vec<Node> = frames
        .iter()
        .map(|frame| builder.frame(frame, depth))
        .collect();
    let definitions = builder.definitions.into_iter();
    let schema = object([
        (
            "$schema",
            text("https://json-schema.org/draft/2020-12/schema"),
        ),
        (
            "$comment",
            text(
                "The frames of a registry, by `accp grammar export --format json-schema`; do not edit.",
            ),
        ),
        ("anyOf", Node::Array(frames)),
        ("$defs", Node::Object(definitions.collect())),
    ]);
    let text = serde_json::to_string_pretty(&schema);
    text.expect("a tree of texts, numbers and booleans can be written") + "\n"
}

/// JSON with the keys of objects in the given order, which is the order of the frame.
pub(super) enum Node {
    Scalar(Value),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Scalar(value) => value.serialize(serializer),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(entries) => {
                serializer.collect_map(entries.iter().map(|(key, node)| (key, node)))
            }
        }
    }
}

pub(super) fn text(text: &str) -> Node {
    Node::Scalar(Value::from(text))
}

pub(super) fn object<const N: usize>(entries: [(&str, Node); N]) -> Node {
    Node::Object(entries.map(|(key, node)| (key.to_owned(), node)).into())
}

fn of_type(name: &str) -> Node {
    object([("type", text(name))])
}

/// Returns the schema of a string that matches a token.
fn pattern(token: &Expr) -> Node {
    let pattern = format!("^(?:{})$", regex::pattern(token));
    object([("type", text("string")), ("pattern", text(&pattern))])
}

/// Returns the schema of a text of a format. The pattern is the whole rule; `format` helps people and programs that
/// know the name. The format `uri` is left out, because engines differ in the texts that they accept as one.
fn formatted(format: Format) -> Node {
    let mut schema = pattern(&formats::plain(format));
    let name = format.json_schema().filter(|_| format != Format::Url);
    if let (Node::Object(entries), Some(name)) = (&mut schema, name) {
        entries.push((String::from("format"), text(name)));
    }
    schema
}

fn constant(value: &str) -> Node {
    object([("const", text(value))])
}

fn any_of(options: Vec<Node>) -> Node {
    object([("anyOf", Node::Array(options))])
}

fn definition(name: &str) -> Node {
    object([("$ref", text(&format!("#/$defs/{name}")))])
}

/// Returns the schema of an object with these keys and no others; the flag marks required keys.
pub(super) fn closed(entries: Vec<(String, Node, bool)>) -> Node {
    let required = entries.iter().filter(|(.., must)| *must);
    let required = required.map(|(key, ..)| text(key)).collect();
    let properties = entries.into_iter().map(|(key, node, _)| (key, node));
    object([
        ("type", text("object")),
        ("properties", Node::Object(properties.collect())),
        ("required", Node::Array(required)),
        ("additionalProperties", Node::Scalar(Value::Bool(false))),
    ])
}

struct Builder<'r> {
    registry: &'r Registry,
    definitions: BTreeMap<String, Node>,
}

impl Builder<'_> {
    fn frame(&mut self, frame: &Frame<'_>, depth: u32) -> Node {
        let protocol = self.registry.protocol();
        let mut entries = vec![("agent", pattern(&tokens::agent()))];
        let parts = protocol.head.iter().zip(frame.head);
        entries.extend(parts.map(|(part, word)| (part.name, constant(word))));
        entries.extend([
            ("schema", constant(frame.code)),
            ("payload", self.fields(&frame.params, depth)),
        ]);
        if !frame.envelope.is_empty() {
            entries.push(("metadata", metadata(&frame.envelope)));
        }
        let entries = entries.into_iter();
        let is_metadata_needed = frame.envelope.iter().any(|pair| pair.must);
        closed(
            entries
                .map(|(key, node)| {
                    (
                        key.to_owned(),
                        node,
                        key != "metadata" || is_metadata_needed,
                    )
                })
                .collect(),
        )
    }

    fn fields(&mut self, params: &[Param<'_>], depth: u32) -> Node {
        let entries = params.iter().map(|param| {
            let value = self.value(&param.field.ty, depth, !param.must);
            (param.field.name.clone(), value, param.must)
        });
        closed(entries.collect())
    }

    /// Returns the schema of a value of a type, with at most `depth` levels of arrays and objects.
    fn value(&mut self, ty: &Type, depth: u32, is_nullable: bool) -> Node {
        let mut name = match ty {
            Type::Any => format!("any_{depth}"),
            Type::Schema(code) => format!("record_{code}_{depth}"),
            _ => return self.any_of(ty, depth, is_nullable),
        };
        if !is_nullable {
            name.push_str("_given");
        }
        if !self.definitions.contains_key(&name) {
            let node = self.any_of(ty, depth, is_nullable);
            self.definitions.insert(name.clone(), node);
        }
        definition(&name)
    }

    fn any_of(&mut self, ty: &Type, depth: u32, is_nullable: bool) -> Node {
        let mut options = self.options(ty, depth);
        options.push(self.carried(is_nullable));
        any_of(options)
    }

    /// Returns the options that every value has: a reference, and a null where it is allowed.
    fn carried(&mut self, is_nullable: bool) -> Node {
        let key = pattern(&tokens::reference_key());
        let reference = closed(vec![(String::from("$ref"), key, true)]);
        let (name, node) = if is_nullable {
            let either = any_of(vec![of_type("null"), reference]);
            ("null_or_reference", either)
        } else {
            ("reference", reference)
        };
        self.definitions.entry(name.to_owned()).or_insert(node);
        definition(name)
    }

    /// Returns the options for a value of the type, besides a null and a reference.
    fn options(&mut self, ty: &Type, depth: u32) -> Vec<Node> {
        let inner = depth.checked_sub(1);
        match (ty, inner) {
            (Type::String | Type::Text, _) => vec![of_type("string")],
            (Type::Integer, _) => vec![integer(-LARGEST)],
            (Type::Decimal, _) => vec![decimal(), pattern(&tokens::decimal())],
            (Type::Number, _) => vec![of_type("number")],
            (Type::Boolean, _) => vec![of_type("boolean")],
            (Type::Agent, _) => vec![pattern(&tokens::agent())],
            (Type::Formatted(format), _) => vec![formatted(*format)],
            (Type::Enum(values), _) => {
                let names = values.iter().map(|value| text(&value.name));
                vec![object([("enum", Node::Array(names.collect()))])]
            }
            (Type::Any, inner) => {
                let mut options: Vec<Node> = ["boolean", "number", "string"].map(of_type).into();
                if let Some(inner) = inner {
                    options.push(self.list(&Type::Any, inner));
                    options.push(self.map(&Type::Any, inner));
                }
                options
            }
            (_, None) => Vec::new(),
            (Type::List(item), Some(inner)) => vec![self.list(item, inner)],
            (Type::Map(item), Some(inner)) => vec![self.map(item, inner)],
            (Type::Schema(code), Some(inner)) => {
                let records = self.registry.schema(code).map(written).unwrap_or_default();
                let options = records.iter().map(|record| {
                    // Constrained decoders write the keys in the order of the schema.
                    let params = record.tag_first();
                    let entries = params.iter().map(|param| {
                        let value = match record.constant(param.field) {
                            Some(name) => constant(name),
                            None => self.value(&param.field.ty, inner, !param.must),
                        };
                        (param.field.name.clone(), value, param.must)
                    });
                    closed(entries.collect())
                });
                options.collect()
            }
        }
    }

    fn list(&mut self, item: &Type, depth: u32) -> Node {
        let items = self.value(item, depth, item.holds_null());
        object([("type", text("array")), ("items", items)])
    }

    fn map(&mut self, item: &Type, depth: u32) -> Node {
        let values = self.value(item, depth, item.holds_null());
        object([("type", text("object")), ("additionalProperties", values)])
    }
}

fn metadata(pairs: &[Pair]) -> Node {
    let entries = pairs.iter().map(|pair| {
        let value = match (pair.field.short, pair.field.kind) {
            ("seq", _) => integer(0),
            (_, EnvelopeKind::Integer) => integer(-LARGEST),
            (_, EnvelopeKind::String) => of_type("string"),
        };
        (pair.field.full.to_owned(), value, pair.must)
    });
    closed(entries.collect())
}

/// The largest float in the range of [`i64`]. Some engines store bounds as floats, and the next float is outside the
/// range.
const LARGEST: i64 = i64::MAX - 1023;

fn integer(minimum: i64) -> Node {
    object([
        ("type", text("integer")),
        ("minimum", Node::Scalar(Value::from(minimum))),
        ("maximum", Node::Scalar(Value::from(LARGEST))),
    ])
}

/// Returns the schema of a decimal. A decimal that no float can hold is written as a string
/// instead.
fn decimal() -> Node {
    object([
        ("type", text("number")),
        ("minimum", Node::Scalar(Value::from(-LARGEST))),
        ("maximum", Node::Scalar(Value::from(LARGEST))),
        ("multipleOf", Node::Scalar(Value::from(0.000_001))),
    ])
}
