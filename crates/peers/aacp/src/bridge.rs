//! Packets as frames of ACCP, and back. A frame has what a packet lacks: a sender, a number, a time.
//!
//! A packet travels as a frame of the profile AP ([`profile`]): `FETCH` as `qry:fetch`, `FLAG` as `esc:flag`, every
//! other task as `req:` and the task in lower case. The fields of the profile are the keys of the standard vocabulary.
//! Three more fields keep the rest: `task` holds an unknown task, `more` holds the fields with unknown keys, and
//! `order` holds the order of the fields if it is unusual. So the packet comes back byte for byte, except for spaces
//! that do not count.
//!
//! ```
//! use accp_aacp::{Packet, bridge};
//! use accp_frame::DynamicFrame;
//!
//! let text = "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08";
//! let frame = bridge::to_frame(&Packet::parse(text)?, "planner")?.encode(bridge::profile())?;
//! assert_eq!(
//!     frame,
//!     "@planner>qry:fetch{dom:HR|return:HR-Agent|p:1|res:emp_salary|period:2024-08|schema:AP}",
//! );
//!
//! let frame = DynamicFrame::decode(&frame, bridge::profile())?;
//! assert_eq!(bridge::to_packet(&frame)?.text(), text);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::OnceLock;

use accp_frame::{DynamicFrame, EncodeError, Map, Value};
use accp_registry::Registry;

use crate::error::{WriteError, WriteFault};
use crate::owned::PacketBuf;
use crate::packet::Packet;
use crate::value::{PacketValue, ValueWriter};
use crate::vocabulary::{Kind, Vocabulary};

/// The code of the profile.
pub const CODE: &str = "AP";
/// The text of the profile: a registry of one schema.
pub const PROFILE: &str = include_str!("../profile.json");

/// The params that are not keys of the vocabulary.
const DOM: &str = "dom";
const TASK: &str = "task";
const MORE: &str = "more";
const ORDER: &str = "order";
/// The entry of `order` for each field in `more`. No key has this spelling.
const NEXT: &str = "_";

/// Returns the registry whose only schema is the profile AP.
///
/// AP is not one of the standard profiles of ACCP, because peers compare the hash of the draft's six profiles. A
/// session whose frames carry packets adds AP to its registry.
pub fn profile() -> &'static Registry {
    static SHARED: OnceLock<Registry> = OnceLock::new();
    // A test checks that the text has no problems, so the default is never used.
    SHARED.get_or_init(|| Registry::from_json(PROFILE).unwrap_or_default())
}

/// Returns the frame of a packet, from this agent and without metadata.
///
/// # Errors
/// E1001 when the agent's name does not fit the grammar of frames.
pub fn to_frame(packet: &Packet<'_>, agent: &str) -> Result<DynamicFrame<'static>, EncodeError> {
    let (intent, operation) = head(packet.task());
    let mut frame = DynamicFrame::new(agent.to_owned(), intent, operation)?
        .under(CODE)
        .with(DOM, packet.dom().to_owned());
    if Vocabulary::standard().task(packet.task()).is_none() {
        frame = frame.with(TASK, packet.task().to_owned());
    }
    let (mut order, mut more) = (Vec::new(), Vec::new());
    for &(key, text) in packet.fields() {
        let Some(kind) = kind(key) else {
            let colon = if key.is_empty() { "" } else { ":" };
            more.push(format!("{key}{colon}{text}"));
            order.push(NEXT);
            continue;
        };
        let value = match kind {
            Kind::List => list(Vec::read(text).unwrap_or_default()),
            Kind::Text | Kind::Number | Kind::Code => Value::from(text.to_owned()),
        };
        frame = frame.with(key.to_owned(), value);
        order.push(key);
    }
    if order != usual(&frame.payload, more.len()) {
        frame = frame.with(ORDER, list(order));
    }
    if !more.is_empty() {
        frame = frame.with(MORE, list(more.iter().map(String::as_str).collect()));
    }
    Ok(frame)
}

/// Returns the packet of a frame. The sender and the metadata stay with the frame.
///
/// # Errors
/// The frame is not of the profile; a param is unknown, has another type, or makes no field; or a value cannot stand
/// in a packet. The error names the param and the cure.
pub fn to_packet(frame: &DynamicFrame<'_>) -> Result<PacketBuf, WriteError> {
    if frame.schema.as_deref() != Some(CODE) {
        return Err(fault(
            "schema",
            "a packet is a frame of the schema AP, and this one is not",
        ));
    }
    let params = &frame.payload;
    let is_param = |name: &str| kind(name).is_some() || [DOM, TASK, MORE, ORDER].contains(&name);
    if let Some((name, _)) = params.iter().find(|(name, _)| !is_param(name)) {
        let cure = "the vocabulary has no such key; write the field into `more`, as key:value";
        return Err(fault(name, cure));
    }
    let task = task(frame)?;
    let dom = value(params, DOM)?.ok_or_else(|| fault(DOM, "the frame has none; add it"))?;
    let more = texts(params, MORE)?.unwrap_or_default();
    let order = match texts(params, ORDER)? {
        Some(order) => order,
        None => usual(params, more.len()),
    };
    let mut fields = Vec::with_capacity(order.len());
    let mut rest = more.iter();
    for key in order {
        if key != NEXT {
            let value = value(params, key)?.filter(|_| kind(key).is_some());
            let value = value.ok_or_else(|| fault(ORDER, "it names a key that is not there"))?;
            fields.push((key, value));
            continue;
        }
        let next = rest.next();
        let field = next.ok_or_else(|| fault(ORDER, "it has more `_` than `more` has fields"))?;
        let (key, value) = field.split_once(':').unwrap_or(("", field));
        if kind(key).is_some() {
            let cure = "a key of the vocabulary is a param of its own; move the field there";
            return Err(fault(MORE, cure));
        }
        fields.push((key, value.to_owned()));
    }
    if fields.len() < usual(params, more.len()).len() {
        return Err(fault(
            ORDER,
            "it leaves out a field; name each of them once",
        ));
    }
    PacketBuf::new(task, &dom, fields)
}

/// Returns the intent and the operation of the frame of a task.
fn head(task: &str) -> (&'static str, String) {
    let operation = task.to_ascii_lowercase().replace('-', "_");
    let intent = match task {
        "FETCH" => "qry",
        "FLAG" => "esc",
        _ => "req",
    };
    (intent, operation)
}

/// Returns the task of the packet in a frame.
fn task<'f>(frame: &'f DynamicFrame<'_>) -> Result<&'f str, WriteError> {
    let is_of = |task: &str| {
        let (intent, operation) = head(task);
        intent == frame.intent.as_str() && operation == *frame.operation
    };
    let vocabulary = Vocabulary::standard();
    if let Some(task) = text(&frame.payload, TASK)? {
        let is_own = is_of(task) && vocabulary.task(task).is_none();
        let cure = "it is not the task of this intent and operation; leave it out";
        return is_own.then_some(task).ok_or_else(|| fault(TASK, cure));
    }
    let known = vocabulary.tasks().iter().find(|task| is_of(&task.name));
    known.map(|task| &*task.name).ok_or_else(|| {
        fault(
            TASK,
            "the operation is not a task of the vocabulary; add `task`",
        )
    })
}

/// Returns the order of fields that a frame without `order` has: the keys as encoders write them, then an entry for
/// each field outside of the vocabulary.
fn usual<'p>(params: &Map<'_>, more: usize) -> Vec<&'p str> {
    let keys = Vocabulary::standard().keys().iter();
    let keys = keys.map(|key| &*key.name);
    let present = keys.filter(|key| !matches!(params.get(key), None | Some(Value::Null)));
    present.chain(std::iter::repeat_n(NEXT, more)).collect()
}

fn kind(key: &str) -> Option<Kind> {
    Vocabulary::standard().key(key).map(|key| key.kind)
}

fn list(items: Vec<&str>) -> Value<'static> {
    let items = items.into_iter().map(|item| Value::from(item.to_owned()));
    Value::Array(items.collect())
}

/// Returns the value of a param as it stands in a packet.
fn value(params: &Map<'_>, name: &str) -> Result<Option<String>, WriteError> {
    if kind(name) != Some(Kind::List) {
        return Ok(text(params, name)?.map(str::to_owned));
    }
    let Some(items) = texts(params, name)? else {
        return Ok(None);
    };
    let mut value = String::new();
    let written = ValueWriter::new(&mut value).list(&items);
    written.map_err(|error| error.of(name))?;
    Ok(Some(value))
}

fn text<'f>(params: &'f Map<'_>, name: &str) -> Result<Option<&'f str>, WriteError> {
    match params.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => of(name, value).map(Some),
    }
}

fn texts<'f>(params: &'f Map<'_>, name: &str) -> Result<Option<Vec<&'f str>>, WriteError> {
    match params.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| of(name, item))
            .collect::<Result<_, _>>()
            .map(Some),
        Some(_) => Err(fault(name, "a list of texts is expected")),
    }
}

fn of<'f>(name: &str, value: &'f Value<'_>) -> Result<&'f str, WriteError> {
    value.as_str().ok_or_else(|| match value {
        Value::Ref(_) => fault(name, "it is a reference, and a packet has none; expand it"),
        _ => fault(name, "a text is expected"),
    })
}

fn fault(name: &str, cure: &'static str) -> WriteError {
    WriteError::new(WriteFault::Frame(cure)).of(name)
}
