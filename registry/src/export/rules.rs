//! The grammar rules for the text of frames.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::builder::Builder;
use super::formats;
use super::frames::{Frame, Pair, Param, written};
use super::grammar::{Expr, Grammar, choice, literal, many, optional, sequence, some};
use super::tokens;
use crate::lexical;
use crate::model::Registry;
use crate::protocol::List;
use crate::tables::EnvelopeKind;
use crate::types::Type;

/// The levels of nesting around a value in a pair: the map, the list of pairs, and the pair.
const PAIR_LEVELS: u32 = 3;

/// Returns the grammar of these frames.
pub(super) fn grammar(registry: &Registry, frames: &[Frame<'_>], depth: u32) -> Grammar {
    let mut text = Text {
        registry,
        builder: Builder::default(),
        values: BTreeMap::new(),
    };
    let start = text.builder.reserve("start");
    let frame = text.builder.reserve("frame");
    let options: Vec<Expr> = frames
        .iter()
        .map(|frame| text.frame(frame, depth))
        .collect();
    let frame = text.builder.define(frame, choice(options));
    let body = match registry.protocol().layout.sender {
        Some([before, behind]) => {
            let agent = text.builder.token("agent", tokens::agent);
            sequence([literal(before), agent, literal(behind), frame])
        }
        None => frame,
    };
    text.builder.define(start, body);
    text.builder
        .grammar("The frames of a registry, by `accp grammar export")
}

/// The text of frames.
struct Text<'r> {
    registry: &'r Registry,
    builder: Builder,
    /// The rules for values, by the [`word`] of their type, the remaining levels, and whether they
    /// may be null.
    values: BTreeMap<String, Expr>,
}

impl Text<'_> {
    /// ```abnf
    /// operation "{" [payload] "}" [metadata]
    /// ```
    fn frame(&mut self, frame: &Frame<'_>, depth: u32) -> Expr {
        let Frame { head, code, .. } = frame;
        let protocol = self.registry.protocol();
        let List {
            open,
            separator,
            close,
        } = protocol.layout.fields;
        let at = self.builder.reserve(&format!("{}_{code}", head.join("_")));
        let mut parts = Vec::new();
        parts.push(literal(&format!("{}{open}", protocol.title(head))));
        if let Some(key) = protocol.schema_key {
            // The schema comes last, so that a separator follows each of the other fields.
            for param in &frame.params {
                let entry = sequence([self.entry(param, depth), literal(separator)]);
                parts.push(if param.must { entry } else { optional(entry) });
            }
            parts.push(literal(&format!("{}{code}{close}", self.key(key))));
        } else {
            let entries = frame.params.iter();
            let entries = entries.map(|param| (self.entry(param, depth), param.must));
            let entries = entries.collect();
            parts.extend(separated(entries, separator));
            parts.extend((!close.is_empty()).then(|| literal(close)));
        }
        parts.extend(self.metadata(&frame.envelope));
        self.builder.define(at, sequence(parts))
    }

    /// ```abnf
    /// metadata = "[" meta-pairs "]"
    /// ```
    fn metadata(&mut self, pairs: &[Pair]) -> Option<Expr> {
        let List {
            open,
            separator,
            close,
        } = self.registry.protocol().layout.metadata?;
        let entries: Vec<(Expr, bool)> = pairs
            .iter()
            .map(|pair| {
                let value = match (pair.field.short, pair.field.kind) {
                    ("seq", _) => self.builder.token("natural", tokens::natural),
                    (_, EnvelopeKind::Integer) => self.builder.token("integer", tokens::integer),
                    (_, EnvelopeKind::String) => self.builder.token("scalar", tokens::scalar),
                };
                let key = literal(&self.key(pair.field.short));
                (sequence([key, value]), pair.must)
            })
            .collect();
        let pairs = separated(entries, separator)?;
        Some(sequence([literal(open), pairs, literal(close)]))
    }

    /// Returns a key with the `:` after it.
    fn key(&self, key: &str) -> String {
        format!("{key}{}", self.registry.protocol().layout.assign)
    }

    fn entry(&mut self, param: &Param<'_>, depth: u32) -> Expr {
        let value = self.value(&param.field.ty, depth, !param.must);
        sequence([literal(&self.key(&param.field.short)), value])
    }

    /// Returns the rule for an item of a list or of a map.
    fn item(&mut self, ty: &Type, depth: u32) -> Expr {
        self.value(ty, depth, ty.holds_null())
    }

    /// Returns the rule for a value of a type, and perhaps a null, with at most `depth` levels of
    /// arrays and maps.
    fn value(&mut self, ty: &Type, depth: u32, is_nullable: bool) -> Expr {
        let depth = if has_levels(ty) { depth } else { 0 };
        let word = word(ty);
        let name = match (has_levels(ty), is_nullable) {
            (true, true) => format!("{word}_{depth}"),
            (true, false) => format!("given_{word}_{depth}"),
            (false, true) => format!("{word}_value"),
            (false, false) => format!("given_{word}"),
        };
        if let Some(rule) = self.values.get(&name) {
            return rule.clone();
        }
        let at = self.builder.reserve(&name);
        let rule = self.builder.rule(at);
        self.values.insert(name, rule.clone());
        let mut options = self.options(ty, depth);
        if is_nullable {
            options.push(literal("~"));
        }
        options.push(self.builder.token("reference", tokens::reference));
        self.builder.define(at, choice(options))
    }

    /// Returns the options for a value of the type, besides a null and a reference.
    fn options(&mut self, ty: &Type, depth: u32) -> Vec<Expr> {
        let mut options = Vec::new();
        match ty {
            Type::String | Type::Text => options.push(self.builder.token("scalar", tokens::scalar)),
            Type::Integer => options.push(self.builder.token("integer", tokens::integer)),
            Type::Decimal => options.push(self.builder.token("decimal", tokens::decimal)),
            Type::Number => options.push(self.builder.token("number", tokens::number)),
            Type::Boolean => options.extend(["true", "false"].map(literal)),
            Type::Agent => options.push(self.builder.token("agent", tokens::agent)),
            Type::Formatted(format) => {
                let texts = || formats::wire(*format);
                options.push(self.builder.token(format.word(), texts));
            }
            Type::Enum(values) => options.extend(values.iter().map(tokens::enum_value)),
            Type::Any => options.push(self.builder.token("scalar", tokens::scalar)),
            Type::List(_) | Type::Map(_) | Type::Schema(_) => {}
        }
        let Some(inner) = depth.checked_sub(1) else {
            return options;
        };
        match ty {
            Type::Any => {
                options.push(self.list(&Type::Any, inner));
                options.push(self.map(inner));
            }
            Type::List(item) => options.push(self.list(item, inner)),
            Type::Map(item) if **item == Type::Any => options.push(self.map(inner)),
            Type::Map(item) => options.push(self.typed_map(item, depth)),
            Type::Schema(code) => options.push(self.record(code, inner)),
            _ => {}
        }
        options
    }

    fn list(&mut self, item: &Type, depth: u32) -> Expr {
        let item = self.item(item, depth);
        let items = sequence([item.clone(), many(sequence([literal(","), item]))]);
        sequence([literal("["), optional(items), literal("]")])
    }

    /// Returns a map of data of any type. This rule needs no part for pairs: the key `_` with arrays of any type also
    /// covers pairs.
    fn map(&mut self, depth: u32) -> Expr {
        let key = self.builder.token("key", tokens::key);
        let entry = sequence([key, self.item(&Type::Any, depth)]);
        let entries = sequence([entry.clone(), many(sequence([literal(","), entry]))]);
        sequence([literal("{"), optional(entries), literal("}")])
    }

    /// Returns a map of data of a declared type. The key `_` holds a list of pairs if it is the only key.
    fn typed_map(&mut self, item: &Type, depth: u32) -> Expr {
        let value = self.item(item, depth - 1);
        let name = self.builder.token("name", tokens::name);
        let key = choice([name.clone(), literal("_:")]);
        let more = sequence([literal(","), key, value.clone()]);
        let mut options = Vec::new();
        options.push(sequence([name, value.clone(), many(more.clone())]));
        options.push(sequence([literal("_:"), value, some(more)]));
        if let Some(depth) = depth.checked_sub(PAIR_LEVELS) {
            let key = self.builder.token("pair_key", tokens::pair_key);
            let value = self.item(item, depth);
            let pair = sequence([literal("["), key, literal(","), value, literal("]")]);
            let more = many(sequence([literal(","), pair.clone()]));
            options.push(sequence([
                literal("_:"),
                literal("["),
                pair,
                more,
                literal("]"),
            ]));
        }
        sequence([literal("{"), optional(choice(options)), literal("}")])
    }

    /// Returns a map of the fields of a schema, or of a variant of a union. The tag of a union stands where a writer
    /// puts it, or first.
    fn record(&mut self, code: &str, depth: u32) -> Expr {
        let records = self.registry.schema(code).map(written).unwrap_or_default();
        let mut options = Vec::new();
        for record in &records {
            for params in record.orders(record.tag_first()) {
                let entries = params.iter();
                let entries = entries.map(|param| match record.constant(param.field) {
                    Some(name) => {
                        let mut text = self.key(&param.field.short);
                        lexical::write_string(&mut text, name);
                        (literal(&text), true)
                    }
                    None => (self.entry(param, depth), param.must),
                });
                let entries = entries.collect();
                let entries = separated(entries, ",");
                let all = [Some(literal("{")), entries, Some(literal("}"))];
                options.push(sequence(all.into_iter().flatten()));
            }
        }
        choice(options)
    }
}

/// Names a type by its allowed values: types with the same word have values of the same form.
pub(super) fn word(ty: &Type) -> String {
    match ty {
        Type::Text => String::from("string"),
        Type::List(item) => format!("list_of_{}", word(item)),
        Type::Map(item) => format!("map_of_{}", word(item)),
        Type::Schema(code) => format!("record_{code}"),
        ty => ty.to_string(),
    }
}

/// Returns whether a value of the type can hold arrays or maps.
pub(super) fn has_levels(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Any | Type::List(_) | Type::Map(_) | Type::Schema(_)
    )
}

/// Returns the entries in their order, with a separator between those that are present; `None`
/// without entries. The result may match the empty text unless an entry is required.
pub(super) fn separated(entries: Vec<(Expr, bool)>, mark: &str) -> Option<Expr> {
    let between = || literal(mark);
    let mut sure = false;
    let mut before: Option<Expr> = None;
    for (entry, must) in entries {
        before = Some(match (before, must) {
            (None, _) => entry,
            (Some(before), true) if sure => sequence([before, between(), entry]),
            (Some(before), true) => sequence([optional(sequence([before, between()])), entry]),
            (Some(before), false) if sure => {
                sequence([before, optional(sequence([between(), entry]))])
            }
            (Some(before), false) => choice([
                sequence([before, optional(sequence([between(), entry.clone()]))]),
                entry,
            ]),
        });
        sure |= must;
    }
    before.map(|entries| if sure { entries } else { optional(entries) })
}
