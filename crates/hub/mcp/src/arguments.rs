//! The arguments of tools, and frames in them: the text of a frame, or its parts as JSON.

use std::ops::RangeInclusive;

use accp_client::ttl_left;
use accp_frame::{AgentId, DynamicFrame, Frame, Intent, Limits, Registry, Value};
use accp_session::Outbound;
use serde_json::{Map as Object, Value as Json, json};

use crate::fault::Fault;

/// A frame that a model wants to send.
#[derive(Debug)]
pub(crate) struct OutgoingFrame {
    pub(crate) message: DynamicFrame<'static>,
    /// The repairs to the text, for the model.
    pub(crate) repairs: Vec<String>,
}

impl OutgoingFrame {
    /// Reads a frame for this session from the arguments of a tool: `frame`, or `intent`, `operation`, `schema` and
    /// `params`; and in both cases `to`, `chain` and `ttl`.
    pub(crate) fn read(
        args: &Object<String, Json>,
        (me, session): (&str, &str),
        registry: &Registry,
    ) -> Result<Self, Fault> {
        let mut draft = match text(args, "frame")? {
            Some(frame) => {
                let mut parts = ["intent", "operation", "params", "schema"].into_iter();
                let is_given = |key: &&str| args.get(*key).is_some_and(|part| !part.is_null());
                if let Some(key) = parts.find(is_given) {
                    let what = format!("`frame` and `{key}` say the same thing twice; give one");
                    return Err(Fault::argument(what));
                }
                Self::of_text(frame, me, registry)?
            }
            None => Self::of_parts(args, me, registry)?,
        };
        let envelope = &mut draft.message.envelope;
        // An agent over MCP speaks in one session. A frame for another one is not for the agents here.
        let other = envelope.session_id.take().filter(|sid| sid != session);
        if let Some(other) = other {
            let what = format!("the frame is for the session {other}, and you are in {session}");
            let cure = "leave `sid` out of the metadata if the frame is for the agents here; nothing was sent";
            let code = accp_frame::ErrorCode::UNAUTHORIZED_REF;
            return Err(Fault::new(code, what, cure));
        }
        if let Some(chain) = filled(args, "chain")? {
            agree("chain", "cid", envelope.correlation_id.as_deref(), chain)?;
            envelope.correlation_id = Some(chain.to_owned().into());
        }
        if let Some(to) = filled(args, "to")? {
            let intent = draft.message.intent.as_str();
            if !matches!(intent, "req" | "qry") {
                let what =
                    format!("a frame with the intent {intent} is for all agents; leave `to` out");
                return Err(Fault::argument(what));
            }
            let name = to.trim_start_matches('@').to_owned();
            let said = envelope.extra.get("to").map(|said| match said {
                // The frame is for all agents.
                Value::Null => "~".to_owned(),
                Value::String(name) => name.clone().into_owned(),
                other => other.to_json().to_string(),
            });
            agree("to", "to", said.as_deref(), &name)?;
            envelope.extra.insert("to", Value::from(name));
        }
        if let Some(ttl) = args.get("ttl").filter(|ttl| !ttl.is_null()) {
            let seconds = ttl.as_i64().filter(|seconds| *seconds >= 0);
            let wrong = || Fault::argument("`ttl` is not a number of seconds");
            envelope.ttl = Some(seconds.ok_or_else(wrong)?);
        }
        // The session writes the rest of the envelope. The `ttl` counts from the `ts` of the frame.
        envelope.ttl = ttl_left(envelope)?;
        envelope.msg_id = None;
        envelope.sequence = None;
        envelope.timestamp = None;
        Ok(draft)
    }

    /// Returns the frame to send.
    pub(crate) fn outbound(self) -> Outbound<'static> {
        Outbound::owned_message(self.message)
    }

    fn of_text(text: &str, me: &str, registry: &Registry) -> Result<Self, Fault> {
        let trimmed = text.trim();
        let (frame, fixed) = Frame::parse_lenient(trimmed).map_err(|error| Fault::text(&error))?;
        let mut repairs: Vec<String> = fixed.iter().map(ToString::to_string).collect();
        if frame.agent != me {
            let what = format!("the frame is by @{}, and you are @{me}", frame.agent);
            let cure = format!(
                "begin the frame with `@{me}>`; a receiver is a field, such as asgn, or goes under `to`"
            );
            let code = accp_frame::ErrorCode::POLICY_DENIED;
            return Err(Fault::new(code, what, cure));
        }
        let mut written = frame.to_string();
        if frame.get("schema").is_none()
            && let Some(code) = schema_of(registry, &frame.intent, &frame.operation)
        {
            written = under(&written, code);
            repairs.push(format!("schema:{code} was added, which the operation has"));
        }
        let message =
            DynamicFrame::decode(&written, registry).map_err(|error| Fault::text(&error))?;
        Ok(Self {
            message: message.into_owned(),
            repairs,
        })
    }

    fn of_parts(args: &Object<String, Json>, me: &str, registry: &Registry) -> Result<Self, Fault> {
        let missing = |key: &str| {
            let what = format!("`{key}` is missing: give `frame`, or `intent` and `operation`");
            Fault::argument(what)
        };
        let intent = text(args, "intent")?.ok_or_else(|| missing("intent"))?;
        let operation = text(args, "operation")?.ok_or_else(|| missing("operation"))?;
        let none = Json::Object(Object::new());
        let params = args.get("params").filter(|params| !params.is_null());
        let params = params.unwrap_or(&none);
        let Some(count) = params.as_object().map(Object::len) else {
            return Err(Fault::argument("`params` is not an object"));
        };
        // The count is checked first, because building a frame of many keys takes long.
        let most = Limits::default().params as usize;
        if count > most {
            let what = format!("`params` has {count} keys, and a frame has {most} at most");
            return Err(Fault::argument(what));
        }
        let known = schema_of(registry, intent, operation);
        let schema = filled(args, "schema")?;
        if let (Some(code), true) = (known, schema.is_none() || schema == known) {
            let agent = AgentId::new(me).map_err(|error| Fault::frame(&error))?;
            if let Some(message) = by_registry(registry, &agent, intent, operation, code, params)? {
                return Ok(Self::whole(message));
            }
        }
        let mut parts = json!({ "agent": me, "intent": intent, "operation": operation });
        parts["payload"] = params.clone();
        if let Some(code) = schema.or(known) {
            parts["schema"] = code.into();
        }
        let message = DynamicFrame::from_json(&parts).map_err(|error| Fault::frame(&error))?;
        Ok(Self::whole(message))
    }

    const fn whole(message: DynamicFrame<'static>) -> Self {
        Self {
            message,
            repairs: Vec::new(),
        }
    }
}

/// Checks that the text of a frame says nothing else than an argument of the tool, or nothing at all. `key` is the key in
/// the metadata of the frame, and `said` is its value there.
fn agree(argument: &str, key: &str, said: Option<&str>, given: &str) -> Result<(), Fault> {
    match said {
        Some(said) if said != given => Err(Fault::argument(format!(
            "`{argument}` is {given}, and `{key}` in `frame` is {said}; give one"
        ))),
        _ => Ok(()),
    }
}

/// Reads the params of a frame that the registry lists, so that one error names all mistakes. Returns `None` if the
/// registry has no frame, or another frame, under the tool name of this frame.
fn by_registry(
    registry: &Registry,
    agent: &AgentId<'_>,
    intent: &str,
    operation: &str,
    code: &str,
    params: &Json,
) -> Result<Option<DynamicFrame<'static>>, Fault> {
    let name = match intent {
        "req" => operation.to_owned(),
        other => format!("{operation}_{other}"),
    };
    match DynamicFrame::from_params(registry, agent, &name, params) {
        Ok(message) => {
            let fits = message.intent.as_str() == intent
                && message.operation == operation
                && message.schema.as_deref() == Some(code);
            Ok(fits.then(|| message.into_owned()))
        }
        Err(error) if error.to_string().starts_with("there is no tool") => Ok(None),
        Err(error) => {
            let what = format!(
                "{intent}:{operation} of schema {code}: {}",
                error.problems().join("; ")
            );
            let cure = "mend these params and call again; nothing was sent";
            Err(Fault::new(accp_frame::ErrorCode::INVALID_TYPE, what, cure))
        }
    }
}

/// Returns the schema that the registry gives to a frame with this head.
fn schema_of<'r>(registry: &'r Registry, intent: &str, operation: &str) -> Option<&'r str> {
    let (schema, _) = registry.frame(&[intent, operation])?;
    Some(&schema.code)
}

/// Puts the schema into the payload of a frame.
fn under(frame: &str, code: &str) -> String {
    // An unescaped brace before the metadata ends the payload.
    let end = frame.rfind("}[").or_else(|| frame.rfind('}'));
    let Some(end) = end else {
        return frame.to_owned();
    };
    let (head, rest) = frame.split_at(end);
    let bar = if head.ends_with('{') { "" } else { "|" };
    format!("{head}{bar}schema:{code}{rest}")
}

/// Returns an argument that is true or false; null counts as absent.
pub(crate) fn flag(args: &Object<String, Json>, key: &str) -> Result<bool, Fault> {
    match args.get(key) {
        None | Some(Json::Null) => Ok(false),
        Some(Json::Bool(value)) => Ok(*value),
        Some(_) => Err(Fault::argument(format!("`{key}` is not true or false"))),
    }
}

/// Returns an argument that is a text; null counts as absent.
pub(crate) fn text<'a>(
    args: &'a Object<String, Json>,
    key: &str,
) -> Result<Option<&'a str>, Fault> {
    match args.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(Fault::argument(format!("`{key}` is not a string"))),
    }
}

/// Returns an argument that is a text which is not empty; null counts as absent. A model that fills in what it does not
/// need would otherwise continue the chain without a name, or address nobody.
fn filled<'a>(args: &'a Object<String, Json>, key: &str) -> Result<Option<&'a str>, Fault> {
    let given = text(args, key)?;
    if given == Some("") {
        return Err(Fault::argument(format!("`{key}` is empty; leave it out")));
    }
    Ok(given)
}

/// Returns an argument that is a whole number in this range; null counts as absent.
pub(crate) fn number(
    args: &Object<String, Json>,
    key: &str,
    range: RangeInclusive<u64>,
) -> Result<Option<u64>, Fault> {
    match args.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => {
            let (least, most) = range.into_inner();
            let wrong = || {
                let what = format!("`{key}` is not a whole number from {least} to {most}");
                Fault::argument(what)
            };
            let is_in_range = |number: &u64| (least..=most).contains(number);
            let number = value.as_u64().filter(is_in_range);
            number.map(Some).ok_or_else(wrong)
        }
    }
}

/// Returns whether a frame asks for an answer.
pub(crate) fn asks(message: &DynamicFrame<'_>) -> bool {
    let asking = [Intent::REQ, Intent::QRY, Intent::ESC, Intent::COMP];
    asking.contains(&message.intent)
}
