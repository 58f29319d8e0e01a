//! The explanation of a frame, as text and as JSON.

use std::fmt;

use accp_frame::{DynamicFrame, Frame, FrameTokens, Intent, Value};
use accp_registry::{EnvelopeField, ErrorCode, Field, Registry, abbreviate, is_core_operation};
use serde_json::{Value as Json, json};

use crate::commands::tokens;
use crate::words::{is_at, name, of_the_session, utc};
use accp_console::output::on_one_line;
use accp_console::table::Table;

/// A frame in plain words.
pub(super) struct Explanation {
    agent: String,
    intent: Intent,
    operation: String,
    schema: Option<SchemaRow>,
    /// The meaning of a control frame of a session, from the registry of these frames.
    session: Option<&'static str>,
    fields: Vec<FieldRow>,
    envelope: Vec<EnvelopeRow>,
    /// The token counts, and the name of the encoding.
    pub(super) tokens: Option<(FrameTokens, String)>,
}

struct SchemaRow {
    code: String,
    name: String,
    version: u64,
    doc: Option<String>,
    /// The doc of the registry for frames with this intent and operation.
    frame: Option<String>,
}

struct FieldRow {
    name: String,
    key: String,
    ty: String,
    value: Value<'static>,
    /// Whether the frame leaves the field out, so that the field has its default.
    is_default: bool,
    doc: Option<String>,
}

struct EnvelopeRow {
    name: String,
    key: String,
    value: Json,
    words: String,
}

impl Explanation {
    pub(super) fn new(frame: &Frame<'_>, message: &DynamicFrame<'_>, registry: &Registry) -> Self {
        let intent = message.intent;
        let schema = message.schema_in(registry);
        let session = of_the_session(message);
        let known = schema.or(session.map(|(schema, _)| schema));
        let own = known.map_or(&[][..], |schema| &schema.fields);
        let is_it = |field: &Field, name: &str| is_at(field, name, message);
        let holds_code = |field: &Field| {
            let rules = schema.map(|schema| &schema.rules);
            rules.is_some_and(|rules| rules.error_code.as_ref() == Some(&field.name))
        };
        let declared = own.iter().filter_map(|field| {
            let mut entries = message.payload.iter();
            let (_, value) = entries.find(|(name, _)| is_it(field, name))?;
            let is_default = field.keys().all(|key| frame.get(key).is_none());
            Some(FieldRow {
                name: field.name.clone(),
                key: field.short.clone(),
                ty: field.ty.to_string(),
                value: value.clone().into_owned(),
                is_default,
                doc: match value.as_str().filter(|_| holds_code(field)) {
                    Some(code) => Some(words_of(code)),
                    None => field.doc.clone(),
                },
            })
        });
        let others = message
            .payload
            .iter()
            .filter(|(name, _)| !own.iter().any(|field| is_it(field, name)));
        let others = others.map(|(name, value)| FieldRow {
            name: name.to_owned(),
            key: abbreviate(name).unwrap_or(name).to_owned(),
            ty: "any".to_owned(),
            value: value.clone().into_owned(),
            is_default: false,
            doc: None,
        });
        Self {
            agent: message.agent.as_str().to_owned(),
            intent,
            operation: message.operation.clone().into_owned(),
            fields: declared.chain(others).collect(),
            schema: schema.map(|schema| SchemaRow {
                code: schema.code.clone(),
                name: schema.name.clone(),
                version: schema.version,
                doc: schema.doc.clone(),
                frame: schema
                    .frame(&[intent.as_str(), &message.operation])
                    .and_then(|frame| frame.doc.clone()),
            }),
            session: session.and_then(|(_, frame)| frame.doc.as_deref()),
            envelope: envelope(message),
            tokens: None,
        }
    }

    pub(super) fn to_json(&self, line: u64) -> Json {
        let fields = self.fields.iter().map(|field| {
            json!({
                "name": field.name, "key": field.key, "type": field.ty,
                "value": field.value.to_json(), "default": field.is_default, "doc": field.doc,
            })
        });
        let envelope = self.envelope.iter().map(|row| {
            json!({ "name": row.name, "key": row.key, "value": row.value, "words": row.words })
        });
        let mut json = json!({
            "line": line,
            "agent": self.agent,
            "intent": {
                "code": self.intent.as_str(),
                "meaning": self.intent.meaning(),
                "description": self.intent.description(),
            },
            "operation": { "name": self.operation, "core": is_core_operation(&self.operation) },
            "schema": self.schema.as_ref().map(|schema| json!({
                "code": schema.code, "name": schema.name, "version": schema.version,
                "doc": schema.doc, "frame": schema.frame,
            })),
            "fields": fields.collect::<Json>(),
            "envelope": envelope.collect::<Json>(),
        });
        if let Some(says) = self.session {
            json["session"] = json!(says);
        }
        if let Some((counts, encoding)) = &self.tokens {
            json["tokens"] = tokens::to_json(counts);
            json["tokens"]["encoding"] = json!(encoding);
        }
        json
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            agent,
            intent,
            operation,
            schema,
            ..
        } = self;
        writeln!(f, "From       {agent}")?;
        writeln!(
            f,
            "Intent     {intent}, {}: {}",
            intent.meaning(),
            intent.description()
        )?;
        let core = if is_core_operation(operation) {
            ", a core operation"
        } else {
            ""
        };
        write!(f, "Operation  {operation}{core}")?;
        match schema {
            Some(SchemaRow {
                code,
                name,
                version,
                doc,
                frame,
            }) => {
                write!(f, "\nSchema     {code}, {name} version {version}")?;
                if let Some(doc) = doc {
                    write!(f, ": {}", on_one_line(doc))?;
                }
                if let Some(frame) = frame {
                    write!(f, "\nMeaning    {}", on_one_line(frame))?;
                }
            }
            None => match self.session {
                Some(says) => {
                    write!(
                        f,
                        "\nSchema     none: a frame of the session itself\nMeaning    {says}"
                    )?;
                }
                None => f.write_str("\nSchema     none: the fields are free")?,
            },
        }
        if !self.fields.is_empty() {
            let mut table = Table::headed(["field", "key", "type", "value", "", ""]).indented(2);
            for field in &self.fields {
                let default = if field.is_default { "(default)" } else { "" };
                table.row([
                    name(&field.name).into_owned(),
                    name(&field.key).into_owned(),
                    field.ty.clone(),
                    shown(&field.value),
                    default.to_owned(),
                    field.doc.clone().unwrap_or_default(),
                ]);
            }
            write!(f, "\n\n{table}")?;
        }
        if !self.envelope.is_empty() {
            let mut table = Table::headed(["envelope", "key", "value", ""]).indented(2);
            for row in &self.envelope {
                let EnvelopeRow {
                    name,
                    key,
                    value,
                    words,
                } = row;
                table.row([name.clone(), key.clone(), value.to_string(), words.clone()]);
            }
            write!(f, "\n\n{table}")?;
        }
        if let Some((counts, encoding)) = &self.tokens {
            let [header, body, metadata, total] = tokens::marked(counts);
            write!(
                f,
                "\n\nTokens     {total}: header {header}, body {body}, metadata {metadata}, in \
                 {encoding} (+ is over the soft limit, ! over the hard one)"
            )?;
        }
        Ok(())
    }
}

/// Returns the name and the meaning of an error code (draft section 3.6).
pub(super) fn words_of(code: &str) -> String {
    let known = code.parse::<ErrorCode>().ok().and_then(|code| {
        let again = if code.is_retryable()? {
            "Sending again may help."
        } else {
            "Sending again does not help."
        };
        Some(format!(
            "{}: {}. {again}",
            code.name()?,
            code.description()?
        ))
    });
    known.unwrap_or_else(|| "This is not a code of the draft.".to_owned())
}

/// Returns the name and the meaning of an error code as JSON.
pub(super) fn json_of(code: &str) -> Json {
    let known = code.parse::<ErrorCode>().ok();
    json!({
        "code": code,
        "name": known.and_then(ErrorCode::name),
        "meaning": known.and_then(ErrorCode::description),
        "retry": known.and_then(ErrorCode::is_retryable),
    })
}

/// Shows a reference as it is in a frame, and any other value as JSON.
fn shown(value: &Value<'_>) -> String {
    let json = match value {
        Value::Ref(key) => return format!("${key}"),
        value => value.to_json().to_string(),
    };
    // JSON does not escape some characters that change what a terminal shows.
    let shown = json.chars().map(|c| match c {
        '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        c => c.to_string(),
    });
    shown.collect()
}

fn envelope(message: &DynamicFrame<'_>) -> Vec<EnvelopeRow> {
    let Json::Object(metadata) = message.to_json()["metadata"].take() else {
        return Vec::new();
    };
    let rows = metadata.into_iter().map(|(name, value)| {
        let field = EnvelopeField::lookup(&name);
        let words = match (name.as_str(), value.as_i64()) {
            ("timestamp", Some(seconds)) => utc(seconds),
            ("ttl", Some(0)) => Some("Never expires".to_owned()),
            ("ttl", Some(seconds)) => Some(format!("Expires {seconds} s after the timestamp")),
            _ => None,
        };
        EnvelopeRow {
            key: field.map_or(name.clone(), |field| field.short.to_owned()),
            words: words
                .or(field.map(|field| field.doc.to_owned()))
                .unwrap_or_default(),
            name,
            value,
        }
    });
    rows.collect()
}
