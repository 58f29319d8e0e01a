//! Declarations of tools: the part of JSON Schema that a registry can hold.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

/// The deepest nesting that is followed. References may form circles.
const MAX_DEPTH: usize = 12;

/// The most parts of one schema that are read. References may multiply the parts.
const MAX_PARTS: usize = 2_000;

/// The declared tools, by name.
#[derive(Debug, Default)]
pub struct Tools(BTreeMap<String, Tool>);

/// The reason why a text declares no tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolsError {
    /// The text is not JSON.
    #[error("not JSON: {what}; expected a list of tools, as MCP and OpenAI carry them")]
    Json {
        /// The line of the fault, from 1.
        line: usize,
        /// The column of the fault, from 1.
        column: usize,
        /// The message of the parser.
        what: String,
    },
    /// No object in the text is a tool.
    #[error(
        "the file has no tool; expected a list of objects with a `name` and `parameters` or \
         `inputSchema`, each alone or under `function`"
    )]
    NoTool,
}

/// A tool as MCP and OpenAI tool lists carry it.
#[derive(Debug)]
pub(crate) struct Tool {
    /// The first line of the description of the tool.
    pub(crate) doc: Option<String>,
    pub(crate) arguments: Option<Declared>,
    pub(crate) result: Option<Declared>,
    /// The JSON of the tool. Of several tools with one name, the tool whose text sorts first counts.
    text: String,
}

/// The declaration of a value in a JSON Schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declared {
    pub(crate) kind: Kind,
    /// The first line of the description.
    pub(crate) doc: Option<String>,
}

/// The type that a JSON Schema declares.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Any,
    String,
    /// One of these texts.
    Enum(Vec<String>),
    Integer,
    Number,
    Boolean,
    List(Box<Declared>),
    /// An object whose keys are data.
    Map(Box<Declared>),
    Object {
        /// The fields, in the order of the schema.
        fields: Vec<(String, Declared)>,
        required: BTreeSet<String>,
    },
}

impl Tools {
    /// Reads the text of a file of tools: a list, `{"tools": [..]}`, or one tool.
    ///
    /// # Errors
    /// When the text is not JSON, or declares no tool.
    pub fn read(&mut self, text: &str) -> Result<(), ToolsError> {
        let json: Json = serde_json::from_str(text).map_err(|error| {
            let what = error.to_string();
            ToolsError::Json {
                line: error.line(),
                column: error.column(),
                what: what.split(" at line ").next().unwrap_or_default().into(),
            }
        })?;
        if self.add_all(&json) == 0 {
            return Err(ToolsError::NoTool);
        }
        Ok(())
    }

    /// Adds the tools of a list, or of an object that holds a list. Returns the number of tools.
    pub(crate) fn add_all(&mut self, json: &Json) -> usize {
        let list = json.get("tools").unwrap_or(json);
        match list {
            Json::Array(tools) => tools.iter().filter(|tool| self.add(tool)).count(),
            tool => usize::from(self.add(tool)),
        }
    }

    fn add(&mut self, json: &Json) -> bool {
        let tool = json.get("function").unwrap_or(json);
        let Some(name) = tool.get("name").and_then(Json::as_str) else {
            return false;
        };
        let schema = |keys: [&str; 2]| {
            let schema = keys.iter().find_map(|key| tool.get(*key))?;
            Some(Reader::read(schema))
        };
        let tool = Tool {
            doc: tool.get("description").and_then(doc),
            arguments: schema(["parameters", "inputSchema"]),
            result: schema(["outputSchema", "output_schema"]),
            text: tool.to_string(),
        };
        match self.0.get(name) {
            Some(other) if other.text <= tool.text => {}
            _ => {
                self.0.insert(name.to_owned(), tool);
            }
        }
        true
    }

    /// Adds the tools of `other` whose names are not here yet.
    pub fn or(mut self, other: Self) -> Self {
        for (name, tool) in other.0 {
            self.0.entry(name).or_insert(tool);
        }
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Tool)> {
        self.0.iter()
    }
}

/// Returns the first line of a description. A long line is cut after a word.
fn doc(json: &Json) -> Option<String> {
    const LONGEST: usize = 200;
    let line = json.as_str()?.trim().lines().next()?.trim();
    if line.chars().count() <= LONGEST {
        return (!line.is_empty()).then(|| line.to_owned());
    }
    let cut: String = line.chars().take(LONGEST).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    Some(format!(
        "{}...",
        cut[..end].trim_end_matches([',', '.', ' '])
    ))
}

/// Reads one schema.
struct Reader<'j> {
    /// The schema that its references are relative to.
    root: &'j Json,
    /// The number of parts that may still be read.
    left: usize,
}

impl<'j> Reader<'j> {
    fn read(schema: &'j Json) -> Declared {
        let (root, left) = (schema, MAX_PARTS);
        Self { root, left }.declared(schema, 0)
    }

    fn declared(&mut self, schema: &'j Json, depth: usize) -> Declared {
        let kind = if depth > MAX_DEPTH || self.left == 0 {
            Kind::Any
        } else {
            self.left -= 1;
            self.kind(schema, depth + 1)
        };
        let doc = schema.get("description").and_then(doc);
        Declared { kind, doc }
    }

    /// Returns the declaration of the items of a list or of a map. Items that may be null are of any
    /// type, because no other type of a registry has null as an item.
    fn item(&mut self, schema: Option<&'j Json>, depth: usize) -> Declared {
        match schema {
            Some(schema) if !self.takes_null(schema, depth) => self.declared(schema, depth),
            _ => Declared {
                kind: Kind::Any,
                doc: None,
            },
        }
    }

    /// Returns whether the schema says that a value may be null.
    fn takes_null(&self, schema: &Json, depth: usize) -> bool {
        let target = || {
            self.root
                .pointer(schema["$ref"].as_str()?.strip_prefix('#')?)
        };
        let is_null = |name: &Json| name == "null";
        let has = |key: &str, is_it: &dyn Fn(&Json) -> bool| {
            let all = schema.get(key).and_then(Json::as_array);
            all.is_some_and(|all| all.iter().any(is_it))
        };
        let inner = |option: &Json| depth <= MAX_DEPTH && self.takes_null(option, depth + 1);
        is_null(&schema["type"])
            || has("type", &is_null)
            || has("enum", &Json::is_null)
            || ["anyOf", "oneOf", "allOf"]
                .iter()
                .any(|key| has(key, &inner))
            || target().is_some_and(inner)
    }

    /// Returns the type that the schema declares. Its parts are `depth` deep.
    fn kind(&mut self, schema: &'j Json, depth: usize) -> Kind {
        if let Some(pointer) = schema.get("$ref").and_then(Json::as_str) {
            let target = pointer
                .strip_prefix('#')
                .and_then(|at| self.root.pointer(at));
            return target.map_or(Kind::Any, |target| self.declared(target, depth).kind);
        }
        if let Some(values) = schema.get("enum").and_then(Json::as_array) {
            let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
            if let Some(texts) = texts.collect() {
                return Kind::Enum(texts);
            }
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let Some(options) = schema.get(key).and_then(Json::as_array) else {
                continue;
            };
            // A choice of null and one other type counts as the other type.
            let mut kinds: Vec<Kind> = Vec::new();
            for option in options.iter().filter(|option| option["type"] != "null") {
                let kind = self.declared(option, depth).kind;
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            return match kinds.as_slice() {
                [kind] => kind.clone(),
                _ => Kind::Any,
            };
        }
        let types: Vec<&str> = match schema.get("type") {
            Some(Json::String(one)) => vec![one],
            Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
            _ if schema.get("properties").is_some() => vec!["object"],
            _ => Vec::new(),
        };
        let types: Vec<&str> = types.into_iter().filter(|name| *name != "null").collect();
        match types.as_slice() {
            ["string"] => Kind::String,
            ["integer"] => Kind::Integer,
            ["number"] => Kind::Number,
            ["boolean"] => Kind::Boolean,
            ["array"] => Kind::List(Box::new(self.item(schema.get("items"), depth))),
            ["object"] => self.object(schema, depth),
            _ => Kind::Any,
        }
    }

    fn object(&mut self, schema: &'j Json, depth: usize) -> Kind {
        let properties = schema.get("properties").and_then(Json::as_object);
        let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
            return match schema.get("additionalProperties") {
                Some(entry @ Json::Object(_)) => Kind::Map(Box::new(self.item(Some(entry), depth))),
                _ => Kind::Any,
            };
        };
        let fields = properties.iter();
        let fields = fields.map(|(name, schema)| (name.clone(), self.declared(schema, depth)));
        let fields = fields.collect();
        let required = schema.get("required").and_then(Json::as_array);
        let required = required.into_iter().flatten().filter_map(Json::as_str);
        Kind::Object {
            fields,
            required: required.map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_mcp_and_openai_lists() {
        let parameters = json!({
            "type": "object",
            "properties": {
                "who": { "$ref": "#/$defs/who", "description": "Whom.\nMore." },
                "limit": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
                "when": { "type": ["string", "null"] },
                "rows": { "type": "array", "items": { "type": "number" } },
                "tags": { "type": "object", "additionalProperties": { "type": "boolean" } },
                "names": { "type": "array", "items": { "type": ["string", "null"] } },
                "notes": { "type": "object", "additionalProperties": { "$ref": "#/$defs/note" } },
                "loop": { "$ref": "#" },
                "odd": { "type": "object" },
            },
            "required": ["who"],
            "$defs": {
                "who": { "enum": ["a", "b"] },
                "note": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
        });
        let mut tools = Tools::default();
        assert_eq!(
            tools.add_all(&json!([
                { "type": "function", "function": { "name": "one", "parameters": parameters } },
                { "name": "two", "inputSchema": {}, "outputSchema": { "type": "string" } },
                { "no": "tool" },
            ])),
            2
        );
        let one = tools.get("one").and_then(|tool| tool.arguments.clone());
        let Some(Kind::Object { fields, required }) = one.map(|declared| declared.kind) else {
            unreachable!("an object was declared");
        };
        assert!(required.contains("who"));
        assert_eq!(fields[0].1.doc.as_deref(), Some("Whom."));
        let kinds: Vec<String> = fields
            .iter()
            .filter(|(name, _)| name != "loop")
            .map(|(_, field)| {
                format!("{:?}", field.kind)
                    .split(['(', ' '])
                    .next()
                    .unwrap_or("")
                    .to_owned()
            })
            .collect();
        assert_eq!(
            kinds,
            [
                "Enum", "Integer", "String", "List", "Map", "List", "Map", "Any"
            ]
        );
        for (name, field) in &fields {
            if let Kind::List(item) | Kind::Map(item) = &field.kind {
                let is_any = item.kind == Kind::Any;
                // An item that may be null has the type `any`.
                assert_eq!(
                    is_any,
                    ["names", "notes"].contains(&name.as_str()),
                    "{name}"
                );
            }
        }
        let two = tools.get("two").and_then(|tool| tool.result.clone());
        assert_eq!(two.map(|declared| declared.kind), Some(Kind::String));
    }

    #[test]
    fn a_long_description_ends_at_a_word() {
        let long = "word ".repeat(60);
        let cut = doc(&json!(long)).unwrap_or_default();
        assert!(cut.ends_with("word...") && cut.len() < 210, "{cut}");
        assert_eq!(doc(&json!(" \n ")), None);
    }
}
