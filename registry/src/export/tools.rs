//! Tool definitions for the APIs of model providers: a flat JSON Schema of the arguments of each
//! frame, within what strict modes accept.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::frames::records;
use super::json_schema::{Node, closed, object, text};
use crate::format::Format;
use crate::model::{Field, Registry};
use crate::tool::Tool;
use crate::types::Type;

/// The levels of objects, lists and unions that may stand below the object of the arguments: with that object and an
/// innermost value there are 10, the most that strict modes accept.
const LEVELS: usize = 8;
/// The most names of a record that a description shows.
const NAMES: usize = 20;
/// The most properties that strict modes accept in one schema.
const PROPERTIES: usize = 5000;

/// The API for which the definitions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolForm {
    /// `{type: function, function: {name, description, strict, parameters}}`.
    OpenAi,
    /// `{name, description, input_schema}`.
    Anthropic,
    /// `{name, description, inputSchema}`: the tools of a Model Context Protocol server.
    Mcp,
}

/// Returns the definitions as a JSON array, one tool per line.
pub(super) fn write(registry: &Registry, tools: &[Tool<'_>], form: ToolForm) -> String {
    let tools = tools.iter().map(|tool| {
        let text = serde_json::to_string(&definition(registry, tool, form));
        text.expect("a tree of texts, numbers and booleans can be written")
    });
    format!("[\n{}\n]\n", tools.collect::<Vec<_>>().join(",\n"))
}

fn definition(registry: &Registry, tool: &Tool<'_>, form: ToolForm) -> Node {
    let doc = tool.frame.doc.as_deref().or(tool.schema.doc.as_deref());
    let schema = arguments(registry, tool, form);
    let name = ("name", text(&tool.name));
    let description = ("description", text(doc.unwrap_or(&tool.name)));
    match form {
        ToolForm::OpenAi => {
            let strict = ("strict", Node::Scalar(true.into()));
            let function = object([name, description, strict, ("parameters", schema)]);
            object([("type", text("function")), ("function", function)])
        }
        ToolForm::Anthropic => object([name, description, ("input_schema", schema)]),
        ToolForm::Mcp => object([name, description, ("inputSchema", schema)]),
    }
}

/// Returns the schema of the arguments. It has fewer levels than strict modes accept if it would have too many
/// properties otherwise.
fn arguments(registry: &Registry, tool: &Tool<'_>, form: ToolForm) -> Node {
    let mut levels = LEVELS;
    loop {
        let mut draft = Draft {
            registry,
            form,
            properties: 0,
        };
        let fields = tool.arguments();
        let entries: Vec<_> = fields
            .map(|(field, is_required)| draft.argument(field, is_required, &[], levels))
            .collect();
        if levels == 0 || draft.properties <= PROPERTIES {
            return closed(entries);
        }
        levels -= 1;
    }
}

/// The schema of the arguments of one tool, while it is made.
struct Draft<'r> {
    registry: &'r Registry,
    form: ToolForm,
    /// How many properties the schema has so far.
    properties: usize,
}

impl Draft<'_> {
    /// Returns the entry of a field. Strict modes require every property, so an argument that may be left out may be
    /// null. `above` holds the schemas around the field, and `levels` says how many levels its value may have.
    fn argument(
        &mut self,
        field: &Field,
        is_required: bool,
        above: &[&str],
        levels: usize,
    ) -> (String, Node, bool) {
        self.properties += 1;
        let (mut schema, is_json) = self.value(&field.ty, above, levels);
        if !is_required {
            or_null(&mut schema);
        }
        let mut about: Vec<String> = field.doc.iter().cloned().collect();
        let default = field.default.as_ref().filter(|_| !is_required);
        about.extend(default.map(|default| format!("Default: {default}.")));
        if let Type::Formatted(format) = item(&field.ty)
            && name(*format, self.form).is_none()
        {
            about.push(format!("Expects {}.", format.expected()));
        }
        if is_json {
            about.push(String::from("JSON in a string."));
            about.extend(self.names(&field.ty, above));
        }
        if !about.is_empty() {
            schema.push((String::from("description"), text(&about.join(" "))));
        }
        (field.name.clone(), Node::Object(schema), true)
    }

    /// Says which fields the records of a value have that travels as JSON in a string, because a model that does not
    /// know them cannot write it. A schema that contains itself already stands above the value.
    fn names(&self, ty: &Type, above: &[&str]) -> Option<String> {
        let Type::Schema(code) = item(ty) else {
            return None;
        };
        let schema = self.registry.schema(code)?;
        if above.contains(&code.as_str()) || schema.fields.is_empty() {
            return None;
        }
        let name = |field: &Field| {
            if schema.union.as_ref() != Some(&field.name) {
                return field.name.clone();
            }
            let variants = schema.variants.iter().map(|variant| variant.head.concat());
            format!("{} ({})", field.name, first(variants.collect(), " or "))
        };
        let names = schema.fields.iter().map(name);
        Some(format!("Fields: {}.", first(names.collect(), ", ")))
    }

    /// Returns the schema of a value, and whether the value travels as JSON in a string. Strict modes have no maps
    /// whose keys the caller chooses, and no schemas that contain themselves.
    fn value(&mut self, ty: &Type, above: &[&str], levels: usize) -> (Vec<(String, Node)>, bool) {
        // A schema that has too many properties already is thrown away, so nothing more is added to it.
        let inner = levels
            .checked_sub(1)
            .filter(|_| self.properties <= PROPERTIES);
        match (ty, inner) {
            (Type::Integer, _) => (of_type("integer"), false),
            (Type::Decimal | Type::Number, _) => (of_type("number"), false),
            (Type::Boolean, _) => (of_type("boolean"), false),
            (Type::Enum(values), _) => {
                let names = values.iter().map(|value| text(&value.name)).collect();
                let mut schema = of_type("string");
                schema.push((String::from("enum"), Node::Array(names)));
                (schema, false)
            }
            (Type::Formatted(format), _) => {
                let mut schema = of_type("string");
                let name =
                    name(*format, self.form).map(|name| (String::from("format"), text(name)));
                schema.extend(name);
                (schema, false)
            }
            (Type::List(item), Some(inner)) => {
                let (item, is_json) = self.value(item, above, inner);
                if is_json {
                    return json_text();
                }
                let mut schema = of_type("array");
                schema.push((String::from("items"), Node::Object(item)));
                (schema, false)
            }
            (Type::Schema(code), Some(inner)) if !above.contains(&code.as_str()) => {
                self.record(code, above, inner)
            }
            (Type::List(_) | Type::Map(_) | Type::Any | Type::Schema(_), _) => json_text(),
            _ => (of_type("string"), false),
        }
    }

    /// Returns the schema of a record: an object, or a choice of objects for a union. `levels` says how many levels
    /// stand in it.
    fn record(&mut self, code: &str, above: &[&str], levels: usize) -> (Vec<(String, Node)>, bool) {
        let registry = self.registry;
        let records = registry.schema(code).map(records).unwrap_or_default();
        let is_union = records.iter().any(|record| record.variant.is_some());
        // The choice of a union is a level of its own.
        let Some(levels) = levels.checked_sub(usize::from(is_union)) else {
            return json_text();
        };
        let above = [above, &[code]].concat();
        let mut objects = Vec::new();
        for record in &records {
            let mut entries = Vec::new();
            for param in record.tag_first() {
                entries.push(match record.constant(param.field) {
                    Some(name) => {
                        self.properties += 1;
                        (param.field.name.clone(), only(name), true)
                    }
                    None => self.argument(param.field, param.must, &above, levels),
                });
            }
            objects.push(closed(entries));
        }
        if is_union {
            return (vec![(String::from("anyOf"), Node::Array(objects))], false);
        }
        match objects.pop() {
            Some(Node::Object(schema)) => (schema, false),
            _ => json_text(),
        }
    }
}

/// Joins the first of these names, and says how many follow.
fn first(mut names: Vec<String>, separator: &str) -> String {
    let more = names.len().saturating_sub(NAMES);
    names.truncate(NAMES);
    let names = names.join(separator);
    if more == 0 {
        names
    } else {
        format!("{names} and {more} more")
    }
}

fn of_type(name: &str) -> Vec<(String, Node)> {
    vec![(String::from("type"), text(name))]
}

/// Returns the schema of a value that travels as JSON in a string.
fn json_text() -> (Vec<(String, Node)>, bool) {
    (of_type("string"), true)
}

/// Returns the schema that allows only this text.
fn only(name: &str) -> Node {
    object([
        ("type", text("string")),
        ("enum", Node::Array(vec![text(name)])),
    ])
}

/// Returns the name of a format in a schema. The strict mode of OpenAI knows no `uri`.
fn name(format: Format, form: ToolForm) -> Option<&'static str> {
    let is_known = format != Format::Url || form != ToolForm::OpenAi;
    format.json_schema().filter(|_| is_known)
}

/// Returns the type of the innermost items of a list; any other type is returned as it is.
fn item(ty: &Type) -> &Type {
    match ty {
        Type::List(of) => item(of),
        ty => ty,
    }
}

/// Lets a schema take a null, too.
fn or_null(schema: &mut [(String, Node)]) {
    for (key, node) in schema {
        match (key.as_str(), node) {
            ("type", node @ Node::Scalar(_)) => {
                let own = core::mem::replace(node, text("null"));
                *node = Node::Array(vec![own, text("null")]);
            }
            ("anyOf", Node::Array(options)) => options.push(object([("type", text("null"))])),
            ("enum", Node::Array(names)) => names.push(Node::Scalar(serde_json::Value::Null)),
            _ => {}
        }
    }
}
