//! Joins the calls of a trace. Each call of a model repeats the conversation before it.

use std::collections::HashMap;

use accp_context::Recorded;
use serde_json::Value as Json;

/// Joins the messages of calls into one conversation. A message that a call repeats is taken once.
#[derive(Debug, Default)]
pub(super) struct Merge {
    pub(super) messages: Vec<Json>,
    /// The recorded values of repeated messages, and repeated messages that have other ids or names.
    pub(super) repeated: Vec<Json>,
    /// The indexes of each message in `messages`.
    places: HashMap<String, Vec<usize>>,
}

/// How many times one call has had each message so far.
#[derive(Debug, Default)]
pub(super) struct Seen(HashMap<String, usize>);

impl Merge {
    /// Adds messages of a call. `seen` counts the messages of the same call that were added before.
    pub(super) fn add(&mut self, messages: Vec<Json>, seen: &mut Seen) {
        for message in messages {
            let key = key(&message);
            let seen = seen.0.entry(key.clone()).or_default();
            let places = self.places.entry(key).or_default();
            let known = places.get(*seen).map(|place| &self.messages[*place]);
            *seen += 1;
            match known.map(|known| Recorded::of(known).shown()) {
                None => {
                    places.push(self.messages.len());
                    self.messages.push(message);
                }
                Some(known) if known == Recorded::of(&message).shown() => {
                    let about = Recorded::of(&message).not_shown().into_iter().cloned();
                    self.repeated.extend(about);
                }
                // The message repeats another one with other ids or names, so it is kept as a
                // repetition.
                Some(_) => self.repeated.push(message),
            }
        }
    }
}

/// Returns the content of a message as a key. Recordings of the same message may differ in all other values.
fn key(message: &Json) -> String {
    let recorded = Recorded::of(message);
    let calls = recorded.calls().map(|call| {
        let arguments = call.arguments();
        let text = call.recorded_arguments().and_then(Json::as_str);
        format!(
            "{:?}{:?}",
            call.tool(),
            arguments.map_or(format!("{text:?}"), |json| json.to_string())
        )
    });
    let calls: Vec<String> = calls.collect();
    format!(
        "{:?}{:?}{:?}{calls:?}",
        recorded.role(),
        recorded.call_id(),
        recorded.texts()
    )
}
