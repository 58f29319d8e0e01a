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
    let fields = tool.arguments();
    let entries =
        fields.map(|(field, is_required)| argument(registry, form, field, is_required, &[]));
    let schema = closed(entries.collect());
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

/// Returns the entry of a field. Strict modes require every property, so an argument that may be left
/// out may be null. `above` holds the schemas around the field.
fn argument(
    registry: &Registry,
    form: ToolForm,
    field: &Field,
    is_required: bool,
    above: &[&str],
) -> (String, Node, bool) {
    let (mut schema, is_json) = value(registry, form, &field.ty, above);
    if !is_required {
        or_null(&mut schema);
    }
    let mut about: Vec<String> = field.doc.iter().cloned().collect();
    let default = field.default.as_ref().filter(|_| !is_required);
    about.extend(default.map(|default| format!("Default: {default}.")));
    if let Type::Formatted(format) = item(&field.ty)
        && name(*format, form).is_none()
    {
        about.push(format!("Expects {}.", format.expected()));
    }
    about.extend(is_json.then(|| String::from("JSON in a string.")));
    if !about.is_empty() {
        schema.push((String::from("description"), text(&about.join(" "))));
    }
    (field.name.clone(), Node::Object(schema), true)
}

/// Returns the schema of a value, and whether the value travels as JSON in a string. Strict modes have no maps whose
/// keys the caller chooses, and no schemas that contain themselves.
fn value(
    registry: &Registry,
    form: ToolForm,
    ty: &Type,
    above: &[&str],
) -> (Vec<(String, Node)>, bool) {
    let of = |name: &str| vec![(String::from("type"), text(name))];
    match ty {
        Type::Integer => (of("integer"), false),
        Type::Decimal | Type::Number => (of("number"), false),
        Type::Boolean => (of("boolean"), false),
        Type::Enum(values) => {
            let names = values.iter().map(|value| text(&value.name)).collect();
            let mut schema = of("string");
            schema.push((String::from("enum"), Node::Array(names)));
            (schema, false)
        }
        Type::Formatted(format) => {
            let mut schema = of("string");
            let name = name(*format, form).map(|name| (String::from("format"), text(name)));
            schema.extend(name);
            (schema, false)
        }
        Type::List(item) => {
            let (item, is_json) = value(registry, form, item, above);
            if is_json {
                return (of("string"), true);
            }
            let mut schema = of("array");
            schema.push((String::from("items"), Node::Object(item)));
            (schema, false)
        }
        Type::Schema(code) if !above.contains(&code.as_str()) => {
            let above = [above, &[code.as_str()]].concat();
            let records = registry.schema(code).map(records).unwrap_or_default();
            let is_union = records.iter().any(|record| record.variant.is_some());
            let mut objects = records.iter().map(|record| {
                let fields = record.params.iter();
                let entries = fields.map(|param| match record.constant(param.field) {
                    Some(name) => (param.field.name.clone(), only(name), true),
                    None => argument(registry, form, param.field, param.must, &above),
                });
                closed(entries.collect())
            });
            if is_union {
                let options = Node::Array(objects.collect());
                return (vec![(String::from("anyOf"), options)], false);
            }
            match objects.next() {
                Some(Node::Object(schema)) => (schema, false),
                _ => (of("string"), true),
            }
        }
        Type::Map(_) | Type::Any | Type::Schema(_) => (of("string"), true),
        _ => (of("string"), false),
    }
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
