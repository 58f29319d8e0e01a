//! Redacts frames: replaces the values, so that a frame only shows who sent which kind of frame to whom, and when.

use std::fmt::Write as _;

use accp_frame::{DynamicFrame, Frame, Map, Value};
use accp_registry::{ErrorCode, Hash, Registry};
use accp_session::{ColdKey, Mid, Reference, Target};

use crate::words::UNLIMITED;
use accp_console::outcome::Failure;

/// Replaces values by their kind, their length and a mark: `<str 24 bytes 5d41402a>`. Equal values have equal marks
/// within one run. A mark is a digest with a secret of the run, so that nobody can find a short value by trying out
/// all values.
///
/// These parts stay: agents, intents, operations, schemas, names of fields, numbers, times, message ids, codes of
/// errors, and references to whole frames and whole values.
pub(crate) struct Redactor {
    secret: [u8; 16],
}

impl Redactor {
    pub(crate) fn new() -> Result<Self, Failure> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(|error| {
            Failure::Misuse(format!("the system gives no random bytes: {error}"))
        })?;
        Ok(Self { secret })
    }

    /// Returns the redacted frame. A text that is not a frame is replaced as a whole.
    pub(crate) fn frame(&self, text: &str, registry: &Registry) -> String {
        let Ok(frame) = Frame::parse_with(text, &UNLIMITED) else {
            return self.mark("text", text);
        };
        let (agent, intent) = (&frame.agent, &frame.intent);
        let mut out = format!("@{agent}>{intent}:{}{{", frame.operation);
        for (at, param) in frame.payload.iter().enumerate() {
            let raw = param.value.as_str();
            let head = [&*frame.intent, &*frame.operation];
            let is_schema = param.key == "schema" && registry.schema_of(raw, &head).is_some();
            let shown = match param.value.value() {
                _ if is_schema => raw.to_owned(),
                Ok(value) => self.field(&param.key, &value),
                Err(_) => self.mark("text", raw),
            };
            let separator = if at == 0 { "" } else { "|" };
            let _ = write!(out, "{separator}{}:{shown}", param.key);
        }
        out.push('}');
        for (at, pair) in frame.metadata.iter().enumerate() {
            let raw = pair.value.as_str();
            let shown = if is_metadata(&pair.key, raw) {
                raw.to_owned()
            } else {
                self.mark("text", raw)
            };
            let separator = if at == 0 { "[" } else { "," };
            let _ = write!(out, "{separator}{}:{shown}", pair.key);
        }
        if !frame.metadata.is_empty() {
            out.push(']');
        }
        out
    }

    /// Redacts a message.
    pub(crate) fn message(
        &self,
        message: DynamicFrame<'_>,
        registry: &Registry,
    ) -> DynamicFrame<'static> {
        let mut message = message.into_owned();
        if message.schema_in(registry).is_none() {
            message.schema = None;
        }
        let fields = std::mem::take(&mut message.payload);
        let field = |(name, value): (&str, &Value<'_>)| {
            let fits = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            let shown = if fits {
                name.to_owned()
            } else {
                self.mark("name", name)
            };
            (shown, Value::from(self.field(name, value)))
        };
        message.payload = fields.iter().map(field).collect();
        let envelope = &mut message.envelope;
        for id in [
            &mut envelope.msg_id,
            &mut envelope.correlation_id,
            &mut envelope.causation_id,
            &mut envelope.session_id,
        ] {
            if let Some(text) = id.take_if(|id| !Mid::parse(id).is_hex()) {
                *id = Some(self.mark("text", &text).into());
            }
        }
        let extra: Map<'static> = std::mem::take(&mut envelope.extra);
        let pair =
            |(key, value): (&str, &Value<'_>)| (key.to_owned(), Value::from(self.value(value)));
        envelope.extra = extra.iter().map(pair).collect();
        message
    }

    /// Returns the mark that replaces the value of a field.
    fn field(&self, name: &str, value: &Value<'_>) -> String {
        match value {
            Value::String(code) if name == "code" && is_code(code) => code.to_string(),
            value => self.value(value),
        }
    }

    /// Returns the mark that replaces a value.
    pub(crate) fn value(&self, value: &Value<'_>) -> String {
        let text = value.to_string();
        let kind = match value {
            Value::Null => return text,
            Value::Ref(key) if is_whole(key) => return text,
            Value::Boolean(_) => "bool",
            Value::Integer(_) => "int",
            Value::Decimal(_) | Value::Number(_) => "number",
            Value::String(_) => "str",
            Value::Array(_) => "list",
            Value::Map(_) => "map",
            Value::Ref(_) => "ref",
            _ => "value",
        };
        self.mark(kind, &text)
    }

    /// Returns the mark that replaces a text of this kind.
    pub(crate) fn mark(&self, kind: &str, text: &str) -> String {
        let digest = Hash::of(&[&self.secret, text.as_bytes()].concat());
        format!("<{kind} {} bytes {}>", text.len(), digest.short(8))
    }
}

/// Returns whether a pair of the metadata holds only ids, numbers and times.
fn is_metadata(key: &str, raw: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match key {
        "mid" | "cid" | "aid" | "of" => Mid::parse(raw).is_hex(),
        "seq" | "ts" | "ttl" => is_number(raw),
        "pt" => raw.split('/').all(is_number),
        _ => false,
    }
}

fn is_code(text: &str) -> bool {
    let number = text
        .strip_prefix('E')
        .and_then(|number| number.parse().ok());
    number
        .and_then(ErrorCode::new)
        .is_some_and(|code| code.to_string() == text)
}

/// Returns whether a reference names a whole frame, value or checkpoint. A reference with a path would reveal keys of
/// the content.
fn is_whole(key: &str) -> bool {
    Reference::parse(key).is_some_and(|reference| {
        let is_place = matches!(
            reference.target,
            Target::Hot(_)
                | Target::Warm(_)
                | Target::Cold(ColdKey::Frame(_) | ColdKey::Value { .. })
        );
        is_place && reference.path.is_none()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates a word that occurs only in values.
    fn word() -> impl Strategy<Value = String> {
        "zq[a-z]{3,9}".prop_map(|word| word)
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            word(),
            word().prop_map(|word| format!("\"{word}\\|\\,_{word}")),
            word().prop_map(|word| format!("$ctx.{word}")),
            word().prop_map(|word| format!("$cold.k101_1.{word}")),
            word().prop_map(|word| format!("$zq{word}.x")),
            Just("7".to_owned()),
            Just("~".to_owned()),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4)
                    .prop_map(|all| format!("[{}]", all.join(","))),
                prop::collection::btree_map(word(), inner, 1..3).prop_map(|all| {
                    let all: Vec<_> = all
                        .iter()
                        .map(|(key, value)| format!("{key}:{value}"))
                        .collect();
                    format!("{{{}}}", all.join(","))
                }),
            ]
        })
    }

    fn frame() -> impl Strategy<Value = String> {
        let heads = [
            ("req:plan", ""),
            ("req:schedule", "|schema:TA"),
            ("fail:error", "|schema:ER"),
            ("done:tool", "|schema:TC"),
            ("sync:state", ""),
            ("req:plan", "|schema:ZQ"),
        ];
        let names = [
            "task", "asgn", "goal", "note", "code", "msg", "_", "v", "delta", "x9",
        ];
        let fields =
            prop::collection::btree_map(prop::sample::select(names.to_vec()), value(), 0..6);
        let extra = prop::collection::btree_map(
            prop::sample::select(&["cid", "aid", "sid", "note", "ext", "pt", "ttl"][..]),
            word(),
            0..4,
        );
        (prop::sample::select(heads.to_vec()), fields, extra).prop_map(
            |((head, schema), fields, extra)| {
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(key, value)| format!("{key}:{value}"))
                    .collect();
                let extra = extra.iter().fold(String::new(), |all, (key, value)| {
                    format!("{all},{key}:{value}")
                });
                let (fields, schema) = (fields.join("|"), schema);
                let schema = if fields.is_empty() {
                    schema.trim_start_matches('|')
                } else {
                    schema
                };
                format!(
                    "@ann>{head}{{{fields}{schema}}}[mid:101000001001,seq:4,ts:1714000000{extra}]"
                )
            },
        )
    }

    proptest! {
        #[test]
        fn no_word_of_a_value_is_left(frame in frame(), cut in 0usize..400) {
            let (redactor, registry) = (Redactor { secret: [7; 16] }, Registry::shared());
            let shown = redactor.frame(&frame, registry);
            prop_assert!(!shown.contains("zq"), "{frame}\n{shown}");
            prop_assert!(Frame::parse_with(&frame, &UNLIMITED).is_err() || shown.starts_with("@ann>"));
            if let Ok(message) = crate::words::message(&frame, registry) {
                let shown = redactor.message(message, registry).to_json().to_string();
                prop_assert!(!shown.contains("zq"), "{frame}\n{shown}");
            }
            // A frame that was cut cannot be read, so it is replaced as a whole.
            let cut = frame.get(..cut.min(frame.len())).unwrap_or_default();
            prop_assert!(!redactor.frame(cut, registry).contains("zq"));
        }
    }

    #[test]
    fn what_is_no_value_stays() {
        let redactor = Redactor { secret: [7; 16] };
        let shown = |frame| redactor.frame(frame, Registry::shared());
        let frames = [
            "@ann>req:schedule{asgn:bob|task:impl_auth|n:7|schema:TA}[mid:101000001001,seq:4,ts:1714000000]",
            "@bob>fail:error{code:E3001|msg:impl_auth|schema:ER}[mid:102000001001,seq:5,ts:1714000000,cid:101000001001]",
            "@bob>done:plan{goal:$cold.k101_1|why:$ctx.birthday|x:~}[mid:m1,seq:6,ts:1714000000,sid:lunch]",
            "not a frame",
        ];
        insta::assert_snapshot!(frames.map(shown).join("\n"), @"
        @ann>req:schedule{asgn:<str 3 bytes 6d4e4b82>|task:<str 9 bytes 1a78723d>|n:<int 1 bytes d0e31e79>|schema:TA}[mid:101000001001,seq:4,ts:1714000000]
        @bob>fail:error{code:E3001|msg:<str 9 bytes 1a78723d>|schema:ER}[mid:102000001001,seq:5,ts:1714000000,cid:101000001001]
        @bob>done:plan{goal:$cold.k101_1|why:<ref 13 bytes 2aa54096>|x:~}[mid:<text 2 bytes d268525f>,seq:6,ts:1714000000,sid:<text 5 bytes 12351a96>]
        <text 11 bytes 3ec37f8d>
        ");
    }
}
