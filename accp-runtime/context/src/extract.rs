//! Extraction of facts from frames.

use std::borrow::Cow;
use std::collections::BTreeMap;

use accp_registry::{Intent, lexical};

use crate::class::Class;
use crate::fact::{Fact, is_scalar, plain};
use crate::hot::{Item, read_head};
use crate::view::facts::{id_of, is_default, says};
use accp_frame::{LONG_VALUE, Map, Registry, Value};

/// The intents whose frames carry facts: their payload is about the task, not about the session.
const TELLING: [Intent; 6] = [
    Intent::REQ,
    Intent::DONE,
    Intent::FAIL,
    Intent::WAIT,
    Intent::ESC,
    Intent::QRY,
];

/// A fact that a checkpoint may remember, with the properties that decide this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) fact: Fact,
    /// The position of the last frame that states the fact.
    pub(crate) position: u64,
    /// Whether the frame leaves the context, so that the fact would leave with it.
    pub(crate) leaves: bool,
    pub(crate) class: Class,
    /// Whether the value is the default of the schema.
    pub(crate) by_default: bool,
}

/// Returns the facts of frames, by entity and relationship. The frames come without their metadata, in the order of
/// their positions. The flag of a frame says whether the frame leaves the context. A later value for the same entity
/// and relationship replaces an earlier value. A frame that the registry cannot read has no facts.
pub(crate) fn candidates<'f>(
    registry: &Registry,
    frames: impl Iterator<Item = (&'f Item, bool)>,
) -> Vec<Candidate> {
    let mut found = BTreeMap::new();
    for (item, leaves) in frames {
        let Ok(message) = read_head(&item.text, registry) else {
            continue;
        };
        if !TELLING.contains(&message.intent) {
            continue;
        }
        let schema = message.schema_in(registry);
        let here = Some((message.intent.as_str(), &*message.operation));
        let mut otherwise = String::new();
        let about = format!("{}.{}", message.agent, message.operation);
        lexical::write_untyped(&mut otherwise, &about);
        let id = id_of(&message.payload, [&*message.operation, ""], short_text);
        let place = Place {
            entity: id.as_deref().unwrap_or(&otherwise),
            outer: "",
        };
        let mut frame = Source {
            found: &mut found,
            sender: message.agent.as_str(),
            position: item.position,
            leaves,
        };
        for (name, value) in message.payload.iter() {
            let by_default = is_default(registry, schema, name, value, here);
            frame.value(name, value, place, by_default);
        }
    }
    found.into_values().collect()
}

/// Returns the facts in a value: scalars and lists of scalars, each about the record that has it. A record
/// without an id is about `entity`; `name` is the name of the value, such as the tool that returned it.
///
/// ```
/// use accp_context::facts_of;
/// use accp_runtime::Value;
/// use serde_json::json;
///
/// let result = json!({ "order_id": "W12", "total": 30, "items": [{ "item_id": "rye", "price": 4 }] });
/// let facts = facts_of("shop", "get_order", &Value::from_json(&result));
/// let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
/// assert_eq!(facts, ["[W12,order_id,W12]", "[W12,total,30]", "[rye,item_id,rye]", "[rye,price,4]"]);
/// ```
pub fn facts_of(entity: &str, name: &str, value: &Value<'_>) -> Vec<Fact> {
    let (mut found, mut otherwise) = (BTreeMap::new(), String::new());
    lexical::write_untyped(&mut otherwise, entity);
    let place = Place {
        entity: &otherwise,
        outer: "",
    };
    let mut source = Source {
        found: &mut found,
        sender: "",
        position: 0,
        leaves: true,
    };
    source.value(name, value, place, false);
    let facts = found.into_values();
    facts.map(|candidate| candidate.fact).collect()
}

/// Collects the facts of one frame.
struct Source<'f> {
    /// The candidates by entity and relationship, both in their wire text.
    found: &'f mut BTreeMap<(String, String), Candidate>,
    sender: &'f str,
    position: u64,
    leaves: bool,
}

/// The place of a record.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// The entity of the record, unless the record has its own id.
    entity: &'p str,
    /// The field that holds the record; empty if a param holds it.
    outer: &'p str,
}

impl Source<'_> {
    /// Takes the facts in the value of a field.
    fn value(&mut self, name: &str, value: &Value<'_>, place: Place<'_>, by_default: bool) {
        match value {
            Value::Map(record) => self.record(name, record, place),
            Value::Array(items) if items.iter().any(|item| !is_scalar(item)) => {
                self.records(name, items, place);
            }
            scalar => self.field(place.entity, name, scalar, by_default),
        }
    }

    /// Takes the facts of a record. The entity is the record's best id, if it has an id.
    fn record(&mut self, name: &str, record: &Map<'_>, place: Place<'_>) {
        let id = id_of(record, [place.entity, name], short_text);
        let (entity, outer) = match &id {
            Some(id) => (&**id, ""),
            None => (place.entity, place.outer),
        };
        for (name, value) in record.iter() {
            let place = Place {
                entity,
                outer: name,
            };
            self.value(&qualified(outer, name), value, place, false);
        }
    }

    /// Takes the facts of the records in a list. Records without an id are numbered.
    fn records(&mut self, name: &str, items: &[Value<'_>], place: Place<'_>) {
        for (at, item) in items
            .iter()
            .enumerate()
            .filter(|(_, item)| !is_scalar(item))
        {
            let mut numbered = String::new();
            let mut place = place;
            if items.len() > 1 {
                let text = format!("{}.{name}.{}", plain(place.entity), at + 1);
                lexical::write_untyped(&mut numbered, &text);
                (place.entity, place.outer) = (&numbered, "");
            }
            self.value(name, item, place, false);
        }
    }

    fn field(&mut self, entity: &str, name: &str, value: &Value<'_>, by_default: bool) {
        let is_short = entity.len().max(name.len()) <= LONG_VALUE;
        let Some(text) = short_text(value).filter(|text| is_short && text != "[]") else {
            return;
        };
        // A field that repeats the sender adds nothing, because the header names the sender. In
        // chats, the field `role` repeats the sender.
        if text == self.sender && text != entity {
            return;
        }
        let key = (String::from(entity), String::from(name));
        let earlier = self.found.get(&key);
        if earlier.is_some_and(|earlier| earlier.position == self.position) {
            // If the frame uses one name for two fields, the first field counts.
            return;
        }
        let candidate = Candidate {
            fact: Fact::of_text(entity, name, &text),
            position: self.position,
            leaves: self.leaves,
            class: Class::of(name, value),
            // A default that replaces an explicit value is a change, so the fact does not count as a default.
            by_default: by_default && earlier.is_none_or(|earlier| earlier.by_default),
        };
        self.found.insert(key, candidate);
    }
}

/// Returns the name of a field within another: `prices` and `economy` become `prices_economy`, but
/// `name` and `first_name` stay `first_name`.
fn qualified<'n>(outer: &str, name: &'n str) -> Cow<'n, str> {
    let lower = |text: &str| text.to_ascii_lowercase();
    if outer.is_empty() || lower(name).contains(&lower(outer)) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{outer}_{name}"))
    }
}

/// Returns the wire text of a scalar or of a list of scalars. `None` if the text is too long for a fact, or the value
/// is null or empty.
fn short_text(value: &Value<'_>) -> Option<String> {
    // The wire text is never shorter than the value's own text. So a value whose own text is too
    // long need not be written.
    let may_fit = says(value, LONG_VALUE) && !matches!(value, Value::Map(_));
    let text = may_fit.then(|| value.to_string())?;
    (text.len() <= LONG_VALUE).then_some(text)
}
