//! The rules of a schema that the host of a session enforces.

use alloc::format;
use alloc::string::String;

use serde_json::{Map, Value, json};

use crate::json::child;
use crate::problem::Problem;
use crate::reader::{Reader, suggest};
use crate::types::Type;

const KEYS: [&str; 4] = ["idempotency", "error_code", "errors", "sequence"];
const SEQUENCE_KEYS: [&str; 3] = ["index", "total", "last"];

/// Rules for the frames of a schema that the host of a session enforces. Only hosts use them, so the hash of a
/// registry does not cover them, and a delta does not carry them.
///
/// Fields go by their full names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SchemaRules {
    /// The field whose text identifies a request: a host does not handle a second request with the same text (draft
    /// section 10.3). The field is a required `string`.
    pub idempotency: Option<String>,
    /// The field that holds an error code of the draft (section 3.6). It is a `string`.
    pub error_code: Option<String>,
    /// The code of the schema for failures. A frame with the intent `fail` must use that schema, and not the schema
    /// of these rules (draft section 10.2).
    pub errors: Option<String>,
    /// The numbers of the pieces of a stream (draft section 10.4).
    pub sequence: Option<Sequence>,
}

/// The fields from which a reader knows how to put the pieces of a stream together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// The place of a piece in its stream, from 0. It is a required `integer`.
    pub index: String,
    /// The number of pieces, where it is known. It is an `integer`.
    pub total: String,
    /// Whether this is the last piece. It is a `boolean`.
    pub last: String,
}

impl SchemaRules {
    /// Returns the rules as JSON; `None` if there are none.
    pub(crate) fn to_json(&self) -> Option<Value> {
        let mut out = Map::new();
        for (key, value) in [
            ("idempotency", &self.idempotency),
            ("error_code", &self.error_code),
            ("errors", &self.errors),
        ] {
            if let Some(value) = value {
                out.insert(key.into(), json!(value));
            }
        }
        if let Some(Sequence { index, total, last }) = &self.sequence {
            let sequence = json!({ "index": index, "total": total, "last": last });
            out.insert("sequence".into(), sequence);
        }
        (!out.is_empty()).then_some(Value::Object(out))
    }
}

/// A field of a schema: its name, its type, and whether it is required.
type Known<'f> = (&'f str, &'f Type, bool);

impl Reader<'_> {
    /// Reads the rules of a schema with these fields.
    pub(crate) fn rules(
        &mut self,
        at: &str,
        json: Option<&Value>,
        fields: &[Known<'_>],
    ) -> SchemaRules {
        let mut rules = SchemaRules::default();
        let Some(object) = json.and_then(|json| self.object(at, Some(json))) else {
            return rules;
        };
        self.known_keys(at, object, &KEYS);
        rules.idempotency = self.rule(at, object, "idempotency", &Type::String, true, fields);
        rules.error_code = self.rule(at, object, "error_code", &Type::String, false, fields);
        rules.errors = self.string(&child(at, "errors"), object.get("errors"));
        if let Some(json) = object.get("sequence") {
            let at = child(at, "sequence");
            rules.sequence = self.sequence(&at, json, fields);
        }
        rules
    }

    fn sequence(&mut self, at: &str, json: &Value, fields: &[Known<'_>]) -> Option<Sequence> {
        let object = self.object(at, Some(json))?;
        self.known_keys(at, object, &SEQUENCE_KEYS);
        for key in SEQUENCE_KEYS
            .iter()
            .filter(|key| !object.contains_key(**key))
        {
            let problem = Problem::new(at, format!("there is no `{key}`"));
            self.report(problem.cure("name a field under each of index, total and last"));
        }
        let index = self.rule(at, object, "index", &Type::Integer, true, fields);
        let total = self.rule(at, object, "total", &Type::Integer, false, fields);
        let last = self.rule(at, object, "last", &Type::Boolean, false, fields);
        Some(Sequence {
            index: index?,
            total: total?,
            last: last?,
        })
    }

    /// Reads the name of a field under `key`. The field must have this type.
    fn rule(
        &mut self,
        at: &str,
        object: &Map<String, Value>,
        key: &str,
        ty: &Type,
        required: bool,
        fields: &[Known<'_>],
    ) -> Option<String> {
        let at = child(at, key);
        let name = self.string(&at, object.get(key))?;
        let Some((_, known, is_required)) = fields.iter().find(|(other, ..)| *other == name) else {
            let problem = Problem::new(&at, format!("there is no field `{name}`"));
            let names = || fields.iter().map(|(name, ..)| *name);
            self.report(suggest(problem, &name, "fields", names));
            return None;
        };
        if *known == ty && (*is_required || !required) {
            return Some(name);
        }
        let must = if required { ", under `required`" } else { "" };
        self.report(
            Problem::new(&at, format!("`{name}` does not fit here"))
                .cure(format!("name a field of type `{ty}`{must}")),
        );
        None
    }
}
