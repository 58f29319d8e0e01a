//! Reads one registry document, with all checks that need no other document.

mod frames;
mod variants;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use crate::json::child;
use crate::model::{Field, Schema};
use crate::problem::Problem;
use crate::protocol::Protocol;
use crate::reader::Reader;
use crate::tables::Abbreviation;
use crate::types::Type;

/// The keys of a registry document.
const DOCUMENT_KEYS: &[&str] = &["schemas", "$schema", "version", "tokenizer"];

/// The keys of a schema.
const SCHEMA_KEYS: &[&str] = &[
    "code",
    "version",
    "doc",
    "fields",
    "optional",
    "defaults",
    "types",
    "abbreviations",
    "aliases",
    "required",
    "inline",
    "docs",
    "frames",
    "union",
    "variants",
    "keep",
    "rules",
];

/// The content of a document, as far as it could be read.
#[derive(Default)]
pub(crate) struct Document {
    pub(crate) version: Option<u64>,
    pub(crate) tokenizer: Option<String>,
    pub(crate) schemas: Vec<Schema>,
}

/// Reads a document and notes its mistakes.
pub(crate) fn document(
    protocol: &'static Protocol,
    json: &Value,
    problems: &mut Vec<Problem>,
) -> Document {
    let mut reader = Reader { protocol, problems };
    let mut document = Document::default();
    let Some(object) = reader.object("", Some(json)) else {
        return document;
    };
    reader.known_keys("", object, DOCUMENT_KEYS);
    document.version = reader.version("", object);
    document.tokenizer = reader.string("/tokenizer", object.get("tokenizer"));
    match object.get("schemas") {
        None => reader.report(Problem::new("", "there are no `schemas`").cure(
            "a registry is { \"schemas\": { \"a_name\": { \"code\": \"AN\", \"fields\": [] } } }",
        )),
        schemas => {
            for (name, schema) in reader.object("/schemas", schemas).into_iter().flatten() {
                let at = child("/schemas", name);
                reader.name(&at, "schema name", name);
                document.schemas.extend(reader.schema(&at, name, schema));
            }
            // The order of the keys of a JSON object depends on serde_json's features, so the
            // schemas are sorted.
            document.schemas.sort_by(|a, b| a.name.cmp(&b.name));
        }
    }
    document
}

/// A field, with its place in the document.
struct Named {
    at: String,
    field: Field,
}

impl Reader<'_> {
    fn schema(&mut self, at: &str, name: &str, json: &Value) -> Option<Schema> {
        let object = self.object(at, Some(json))?;
        self.known_keys(at, object, SCHEMA_KEYS);
        let mut schema = Schema::new(name, "");
        schema.version = self.version(at, object).unwrap_or(1);
        schema.doc = self.string(&child(at, "doc"), object.get("doc"));

        let mut fields = self.fields(at, object);
        self.types_and_defaults(at, object, &mut fields);
        self.abbreviations(at, object, &mut fields);
        let plain = fields.iter_mut().map(|named| &mut named.field).collect();
        self.aliases(&child(at, "aliases"), object.get("aliases"), plain);
        self.flags(at, object, &mut fields);
        self.union(at, object, &mut fields, &mut schema);
        schema.frames = self.frames(&child(at, "frames"), object.get("frames"), &fields);
        schema.keep = self.keep(&child(at, "keep"), object.get("keep"), &fields);
        let plain = fields.iter().map(|named| {
            let field = &named.field;
            (&*field.name, &field.ty, field.required)
        });
        let plain: Vec<_> = plain.collect();
        schema.rules = self.rules(&child(at, "rules"), object.get("rules"), &plain);
        schema.fields = fields.into_iter().map(|named| named.field).collect();
        schema.code = self.code(at, object)?;
        Some(schema)
    }

    fn code(&mut self, at: &str, object: &Map<String, Value>) -> Option<String> {
        let Some(code) = object.get("code") else {
            self.report(Problem::new(at, "the schema has no `code`").cure("add \"code\": \"XY\""));
            return None;
        };
        let at = child(at, "code");
        let code = self.string(&at, Some(code))?;
        if Type::is_reserved(&code) {
            self.report(
                Problem::new(&at, format!("the code `{code}` is the name of a type")).cure(
                    "take another code: the code of a schema can stand in the place of a type",
                ),
            );
        } else {
            self.name(&at, "code", &code);
        }
        Some(code)
    }

    /// Reads `fields`, then `optional`.
    fn fields(&mut self, at: &str, object: &Map<String, Value>) -> Vec<Named> {
        let mut fields: Vec<Named> = Vec::new();
        if !object.contains_key("fields") {
            self.report(
                Problem::new(at, "the schema has no `fields`").cure("add \"fields\": [\"a_name\"]"),
            );
        }
        for (key, optional) in [("fields", false), ("optional", true)] {
            for (at, name) in self.strings(&child(at, key), object.get(key)) {
                if fields.iter().any(|other| other.field.name == name) {
                    self.report(
                        Problem::new(&at, format!("the field `{name}` stands twice"))
                            .cure("remove one of the two"),
                    );
                    continue;
                }
                self.unreserved(&at, "a field cannot be called", name);
                self.name(&at, "field name", name);
                let mut field = Field::of(self.protocol, name, Type::Any);
                field.optional = optional;
                fields.push(Named { at, field });
            }
        }
        fields
    }

    fn types_and_defaults(&mut self, at: &str, object: &Map<String, Value>, fields: &mut [Named]) {
        let types = self.by_field(&child(at, "types"), object.get("types"), fields);
        let defaults = self.by_field(&child(at, "defaults"), object.get("defaults"), fields);
        let docs = self.by_field(&child(at, "docs"), object.get("docs"), fields);
        for (index, named) in fields.iter_mut().enumerate() {
            let field = &mut named.field;
            field.default = defaults.get(&index).map(|(_, default)| (*default).clone());
            field.doc = docs
                .get(&index)
                .and_then(|(at, doc)| self.string(at, Some(doc)));
            let Some((at, text)) = types.get(&index) else {
                field.ty = field.default.as_ref().map_or(Type::Any, Type::of_default);
                continue;
            };
            match self.string(at, Some(text)).map(|text| text.parse::<Type>()) {
                Some(Ok(ty)) => {
                    if !self.protocol.nests() && ty.nests() {
                        let noun = self.protocol.noun;
                        let message =
                            format!("`{ty}` nests, but the values of a {noun} cannot nest");
                        self.report(
                            Problem::new(at, message).cure("use a list, or split the field"),
                        );
                    }
                    field.ty = ty;
                }
                Some(Err(error)) => {
                    let problem = Problem::new(at, format!("{error}"));
                    self.report(match error.cure() {
                        Some(cure) => problem.cure(cure),
                        None => problem,
                    });
                }
                None => {}
            }
        }
    }

    fn abbreviations(&mut self, at: &str, object: &Map<String, Value>, fields: &mut [Named]) {
        let given = self.by_field(
            &child(at, "abbreviations"),
            object.get("abbreviations"),
            fields,
        );
        for (index, (at, short)) in given {
            let Some(short) = self.string(&at, Some(short)) else {
                continue;
            };
            let full = &fields[index].field.name;
            let standard = self.protocol.abbreviation(&short);
            let means = |entry: &Abbreviation| {
                entry.full == *full || entry.also == Some(full.as_str()) || entry.short == *full
            };
            if let Some(entry) = standard.filter(|entry| !means(entry)) {
                self.report(
                    Problem::new(
                        &at,
                        format!("`{short}` is the standard abbreviation of `{}`", entry.full),
                    )
                    .cure(format!("abbreviate `{full}` in another way")),
                );
                continue;
            }
            if self.unreserved(&at, "an abbreviation cannot be", &short) {
                self.name(&at, "abbreviation", &short);
            }
            fields[index].at = at;
            fields[index].field.short = short;
        }
        self.check_distinct(fields);
    }

    /// Checks that no key means two fields.
    fn check_distinct(&mut self, fields: &[Named]) {
        for (index, Named { at, field }) in fields.iter().enumerate() {
            let Field { name, short, .. } = field;
            if let Some(other) = fields
                .iter()
                .find(|o| o.field.name == *short && o.field.name != *name)
            {
                let other = &other.field.name;
                let implied = self.protocol.abbreviate(name) == Some(short.as_str());
                let what = if implied {
                    "standard abbreviation"
                } else {
                    "abbreviation"
                };
                self.report(
                    Problem::new(
                        at,
                        format!(
                            "the {what} `{short}` of `{name}` is the name of the field `{other}`"
                        ),
                    )
                    .cure(format!("give `{name}` another abbreviation")),
                );
            } else if let Some(other) = fields[..index].iter().find(|o| o.field.short == *short)
                // If this field's name is also its abbreviation, the message about the other field has reported the
                // clash already.
                && short != name
            {
                let other = &other.field.name;
                self.report(
                    Problem::new(
                        at,
                        format!("`{name}` and `{other}` are both abbreviated `{short}`"),
                    )
                    .cure(format!("give `{name}` another abbreviation")),
                );
            }
        }
    }

    fn flags(&mut self, at: &str, object: &Map<String, Value>, fields: &mut [Named]) {
        let required = child(at, "required");
        for (at, index) in self.field_names(&required, object.get("required"), fields) {
            let field = &mut fields[index].field;
            field.required = true;
            let name = &field.name;
            let problem = if field.optional {
                Problem::new(at, format!("`{name}` is both required and optional"))
                    .cure("move it from `optional` to `fields`, or require it in a frame only")
            } else if field.default.is_some() {
                Problem::new(
                    at,
                    format!("`{name}` is required, so its default is never used"),
                )
                .cure("remove the default, or require it in a frame only")
            } else {
                continue;
            };
            self.report(problem);
        }
        for (_, index) in self.field_names(&child(at, "inline"), object.get("inline"), fields) {
            fields[index].field.inline = true;
        }
    }

    fn keep(&mut self, at: &str, json: Option<&Value>, fields: &[Named]) -> Option<Vec<String>> {
        json?;
        let kept = self.field_names(at, json, fields);
        let name = |(_, index): (String, usize)| fields[index].field.name.clone();
        Some(kept.into_iter().map(name).collect())
    }

    /// Returns whether a field can have this key. If the protocol reserves the key, notes a problem. `cannot` begins
    /// its message.
    fn unreserved(&mut self, at: &str, cannot: &str, key: &str) -> bool {
        let use_of = self.protocol.reserved(key);
        if let Some(use_of) = &use_of {
            let problem = Problem::new(at, format!("{cannot} `{key}`"));
            self.report(problem.cure(format!("`{key}` {use_of}; take another name")));
        }
        use_of.is_none()
    }

    /// Reads an object whose keys are names of fields, and returns its values with the index of
    /// each field.
    fn by_field<'j>(
        &mut self,
        at: &str,
        json: Option<&'j Value>,
        fields: &[Named],
    ) -> BTreeMap<usize, (String, &'j Value)> {
        let mut out = BTreeMap::new();
        for (name, value) in self.object(at, json).into_iter().flatten() {
            let at = child(at, name);
            if let Some(index) = self.index(&at, name, fields) {
                out.insert(index, (at, value));
            }
        }
        out
    }

    /// Reads a list of names of fields, and returns the place and the index of each field.
    fn field_names(
        &mut self,
        at: &str,
        json: Option<&Value>,
        fields: &[Named],
    ) -> Vec<(String, usize)> {
        let mut out: Vec<(String, usize)> = Vec::new();
        for (at, name) in self.strings(at, json) {
            let Some(index) = self.index(&at, name, fields) else {
                continue;
            };
            if out.iter().any(|(_, other)| *other == index) {
                self.report(
                    Problem::new(&at, format!("`{name}` stands twice"))
                        .cure("remove one of the two"),
                );
                continue;
            }
            out.push((at, index));
        }
        out
    }

    fn index(&mut self, at: &str, name: &str, fields: &[Named]) -> Option<usize> {
        let found = fields.iter().position(|named| named.field.name == name);
        if found.is_none() {
            let problem = Problem::new(at, format!("there is no field `{name}`"));
            let by_short = fields.iter().find(|named| named.field.short == name);
            let problem = if let Some(named) = by_short {
                problem.cure(format!(
                    "`{name}` is the abbreviation of `{}`; write the full name",
                    named.field.name
                ))
            } else {
                let known = || fields.iter().map(|named| named.field.name.as_str());
                self.suggest(problem, name, "fields", known)
            };
            self.report(problem);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::frames::frame_keys;
    use super::*;
    use crate::accp::ACCP;

    #[test]
    fn reads_the_keys_of_the_json_schema() {
        let schema: Value = serde_json::from_str(include_str!("../registry.schema.json")).unwrap();
        for (pointer, keys) in [
            ("/properties", DOCUMENT_KEYS),
            ("/$defs/schema/properties", SCHEMA_KEYS),
            ("/$defs/frame/properties", &frame_keys(&ACCP)),
            ("/$defs/variant/properties", variants::KEYS),
        ] {
            let properties = schema.pointer(pointer).unwrap().as_object().unwrap();
            let mut known = keys.to_vec();
            known.sort_unstable();
            let mut listed: Vec<&str> = properties.keys().map(String::as_str).collect();
            listed.sort_unstable();
            assert_eq!(listed, known, "{pointer}");
        }
    }
}
