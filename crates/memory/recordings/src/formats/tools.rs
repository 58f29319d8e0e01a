//! Reads and writes definitions of tools, in the form of each format.

use serde_json::{Map, Value as Json, json};

use super::fields::Fields;
use crate::format::Format;

/// A definition of a tool.
struct Tool {
    name: Json,
    description: Option<Json>,
    parameters: Option<Json>,
    /// The other keys of the definition.
    more: Map<String, Json>,
}

/// Returns definitions in the form of this format; `None` if one of them does not define a function.
pub(super) fn write(tools: &Json, format: Format) -> Option<Json> {
    let tools = read(tools)?.into_iter().map(|tool| tool.write(format));
    let tools: Json = tools.collect();
    Some(match format {
        Format::Gemini => json!([{ "functionDeclarations": tools }]),
        Format::ShareGpt => tools.to_string().into(),
        _ => tools,
    })
}

/// Returns the names of defined functions.
pub(crate) fn names(tools: &Json) -> Vec<String> {
    let all = read(tools).unwrap_or_default().into_iter();
    all.filter_map(|tool| tool.name.as_str().map(str::to_owned))
        .collect()
}

/// Returns definitions with other names, in the form of OpenAI's chat; `None` if one of them does not define a
/// function.
pub(crate) fn renamed(tools: &Json, new: impl Fn(&str) -> Option<String>) -> Option<Json> {
    let all = read(tools)?.into_iter().map(|mut tool| {
        if let Some(name) = tool.name.as_str().and_then(&new) {
            tool.name = name.into();
        }
        tool.write(Format::OpenAi)
    });
    Some(all.collect())
}

/// Reads definitions; `None` if one of them does not define a function.
fn read(tools: &Json) -> Option<Vec<Tool>> {
    match tools {
        Json::String(text) => read(&serde_json::from_str(text).ok()?),
        Json::Array(all) => {
            let mut out = Vec::new();
            for tool in all {
                match tool.get("functionDeclarations") {
                    Some(inner) if tool.as_object()?.len() == 1 => out.extend(read(inner)?),
                    Some(_) => return None,
                    None => out.push(Tool::of(tool)?),
                }
            }
            Some(out)
        }
        _ => None,
    }
}

impl Tool {
    fn of(json: &Json) -> Option<Self> {
        let mut fields = Fields::of(json.clone()).ok()?;
        if let Some(kind) = fields.take("type") {
            // A tool of another type is run by the provider, and is not a function.
            (kind == "function").then_some(())?;
        }
        let mut more = Map::new();
        if let Some(function) = fields.object("function") {
            more = std::mem::replace(&mut fields, function).into_map();
        }
        let name = fields.take("name").filter(Json::is_string)?;
        let description = fields.take("description");
        let parameters = fields.take("parameters");
        let parameters = parameters.or_else(|| fields.take("input_schema"));
        more.extend(fields.into_map());
        Some(Self {
            name,
            description,
            parameters,
            more,
        })
    }

    fn write(self, format: Format) -> Json {
        let schema = match format {
            Format::Anthropic => "input_schema",
            _ => "parameters",
        };
        let mut map = Map::new();
        if matches!(format, Format::Responses | Format::Otel) {
            map.insert("type".to_owned(), "function".into());
        }
        map.insert("name".to_owned(), self.name);
        let said = [("description", self.description), (schema, self.parameters)];
        for (key, value) in said {
            map.extend(value.map(|value| (key.to_owned(), value)));
        }
        map.extend(self.more);
        match format {
            Format::OpenAi | Format::LangChain => json!({ "type": "function", "function": map }),
            _ => Json::Object(map),
        }
    }
}
