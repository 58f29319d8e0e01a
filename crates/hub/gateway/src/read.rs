//! Reads requests for the memory. A client sends its whole list with each request, so a message that was read before
//! is not read again.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use accp_memory::{Form, ListMessage, MessageList};
use ring::digest;
use serde_json::Value as Json;

use crate::bare::{sign, unmark, unwrap_words};
use crate::digest::{Digest, digest_of};
use crate::headers::first_half;
use crate::list::key;
use crate::lock::lock;
use crate::{json, splice};

/// The reader does not remove unused values before it knows this many values.
const FEW: usize = 1_024;

/// A message without the marks and blocks that clients change although the message stays the same (see `bare`).
pub(crate) struct Item {
    pub(crate) digest: Digest,
    pub(crate) message: ListMessage,
    /// Whether the message has a thought that its provider binds to the exact list before the message.
    pub(crate) is_bound: bool,
    /// The message in signed form, which the memory leaves as it is. It is made when it is first needed.
    signed: OnceLock<Option<ListMessage>>,
}

/// A request without its list.
pub(crate) struct Head {
    pub(crate) json: Json,
    list: MessageList,
}

/// A request that was read.
pub(crate) struct Read {
    pub(crate) head: Arc<Head>,
    pub(crate) items: Vec<Arc<Item>>,
    /// The places of the items in the text.
    pub(crate) places: Vec<Range<usize>>,
}

impl Read {
    /// Returns the list of the request with these messages in it.
    pub(crate) fn list(&self, messages: Vec<ListMessage>) -> MessageList {
        self.head.list.with(messages)
    }

    pub(crate) fn digests(&self) -> Vec<Digest> {
        self.items.iter().map(|item| item.digest).collect()
    }
}

impl Item {
    fn read(at: usize, raw: &str, form: Form) -> Result<Self, String> {
        let read = json::read(raw);
        let mut json = read.map_err(|error| format!("message {at} is not JSON: {error}"))?;
        if !json.is_object() {
            return Err(format!("message {at} is not an object"));
        }
        unmark(&mut json);
        unwrap_words(&mut json);
        let message = message(&json, form)?;
        Ok(Self {
            digest: digest_of(message.raw()),
            is_bound: message.is_bound(),
            message,
            signed: OnceLock::new(),
        })
    }

    /// Returns the message, signed, so that the memory leaves it as it is.
    pub(crate) fn signed(&self, form: Form) -> Option<ListMessage> {
        let signed = self.signed.get_or_init(|| {
            let mut json = self.message.json().clone();
            sign(&mut json);
            message(&json, form).ok()
        });
        signed.clone()
    }
}

impl Head {
    /// Returns whether the provider drops thoughts that follow another list than before.
    pub(crate) fn drops_thoughts(&self) -> bool {
        self.list.drops_thoughts()
    }

    fn read(text: &str, form: Form) -> Result<Self, String> {
        let mut json =
            json::read(text).map_err(|error| format!("the body is not JSON: {error}"))?;
        if !json.is_object() {
            return Err("the body is not an object".to_owned());
        }
        unmark(&mut json);
        // Responses also takes a text in place of a list.
        let list = if json[key(form)].is_string() {
            MessageList::of(form, [])
        } else {
            MessageList::read(&json.to_string(), Some(form))
        };
        let list = list.map_err(|found| found.to_string())?;
        Ok(Self { json, list })
    }
}

fn message(json: &Json, form: Form) -> Result<ListMessage, String> {
    let read = MessageList::of(form, [json.to_string().as_str()]);
    let read = read.map_err(|found| found.to_string())?;
    let message = read.messages().first().cloned();
    message.ok_or_else(|| "a message is none".to_owned())
}

/// Reads requests, and knows the parts that it has read, as long as a session holds them.
#[derive(Default)]
pub(crate) struct Reader {
    heads: Mutex<Known<Head>>,
    items: Mutex<Known<Item>>,
}

impl Reader {
    /// Reads a request of an owner. The time that this takes shows nothing of what other owners have sent.
    ///
    /// # Errors
    /// Why the request cannot be read.
    pub(crate) fn read(&self, owner: [u8; 16], form: Form, text: &str) -> Result<Read, String> {
        let places = splice::items_of(text, key(form)).unwrap_or_default();
        let part = |place: Range<usize>| text.get(place).unwrap_or_default();
        let head = match (places.first(), places.last()) {
            (Some(first), Some(last)) => [part(0..first.start), part(last.end..text.len())],
            _ => [text, ""],
        };
        let key = |parts: [&str; 2]| Key::of(owner, form, parts);
        let head = Known::get(&self.heads, key(head), || Head::read(&head.concat(), form))?;
        let items = places.iter().enumerate().map(|(at, place)| {
            let raw = part(place.clone());
            Known::get(&self.items, key([raw, ""]), || Item::read(at, raw, form))
        });
        Ok(Read {
            head,
            items: items.collect::<Result<_, _>>()?,
            places,
        })
    }
}

/// The digest of a text of an owner.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key([u8; 16]);

impl Key {
    fn of(owner: [u8; 16], form: Form, parts: [&str; 2]) -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(&owner);
        context.update(form.name().as_bytes());
        for part in parts {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part.as_bytes());
        }
        Self(first_half(context.finish().as_ref()))
    }
}

/// The values that were read from texts, as long as somebody holds them.
struct Known<T> {
    all: HashMap<Key, Weak<T>>,
    /// When there are this many values, those that nobody holds are removed.
    many: usize,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self {
            all: HashMap::new(),
            many: FEW,
        }
    }
}

impl<T> Known<T> {
    /// Returns the value that was read from a text. If nobody holds it any more, reads the text.
    fn get(
        known: &Mutex<Self>,
        key: Key,
        read: impl FnOnce() -> Result<T, String>,
    ) -> Result<Arc<T>, String> {
        let found = lock(known).all.get(&key).and_then(Weak::upgrade);
        if let Some(found) = found {
            return Ok(found);
        }
        let read = Arc::new(read()?);
        let mut known = lock(known);
        known.all.insert(key, Arc::downgrade(&read));
        if known.all.len() >= known.many {
            known.all.retain(|_, held| held.strong_count() > 0);
            known.many = FEW.max(known.all.len() * 2);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: &str) -> String {
        format!(
            r#"{{ "model":"m", "messages" : [ {messages} ],"tools":[{{"name":"t","cache_control":{{}}}}]}}"#
        )
    }

    #[test]
    fn what_somebody_holds_is_read_once() {
        let reader = Reader::default();
        let read = |owner, text: &str| reader.read([owner; 16], Form::Anthropic, text).unwrap();
        let one = read(1, &request(r#"{"role":"user","content":"a"}"#));
        let two = read(
            1,
            &request(r#"{"role":"user","content":"a"}, {"role":"assistant","content":"b"}"#),
        );
        assert!(Arc::ptr_eq(&one.head, &two.head) && Arc::ptr_eq(&one.items[0], &two.items[0]));
        assert_eq!(two.head.json["tools"][0].to_string(), r#"{"name":"t"}"#);
        let list = two.list(two.items.iter().map(|item| item.message.clone()).collect());
        assert_eq!(list.messages().len(), 2);
        let other = read(2, &request(r#"{"role":"user","content":"a"}"#));
        assert!(!Arc::ptr_eq(&one.items[0], &other.items[0]));
        for n in 0..10 * FEW {
            read(
                1,
                &request(&format!(r#"{{"role":"user","content":"{n}"}}"#)),
            );
        }
        assert!(lock(&reader.items).all.len() <= 2 * FEW);
        assert!(Arc::ptr_eq(
            &one.items[0],
            &read(1, &request(r#"{"role":"user","content":"a"}"#)).items[0]
        ));
    }

    #[test]
    fn what_is_no_request_is_told() {
        let reader = Reader::default();
        for (text, told) in [
            ("", "the body is not JSON: EOF"),
            (r#"{"messages":[}"#, "the body is not JSON: expected value"),
            (
                r#"{"messages":[{"role":"user","content":"a"} {}]}"#,
                "the body is not JSON: expected `,` or `]`",
            ),
            (
                r#"{"messages":[{}, {"role":"user","role":"user"}]}"#,
                "message 1 is not JSON: the member \"role\" stands twice",
            ),
            (
                r#"{"messages":[],"messages":[]}"#,
                "the body is not JSON: the member \"messages\" stands twice",
            ),
            (
                r#"{"messages":[{"role":"user"}],"messages":[]}"#,
                "the body is not JSON: the member \"messages\" stands twice",
            ),
            (
                r#"{"messages":[{"role":"user","content":"\ud800"}]}"#,
                "message 0 is not JSON: ",
            ),
            (
                r#"{"messages":[{"role":"user","content":nil}]}"#,
                "message 0 is not JSON: expected",
            ),
            (
                r#"{"messages":[{"a":1]]}"#,
                "is not JSON: expected `,` or `}`",
            ),
            (r#"{"messages":[{},1]}"#, "message 1 is not an object"),
            (r#"{"messages":{}}"#, "expected a request with an array"),
            ("{}", "expected a request with an array"),
            ("[]", "the body is not an object"),
        ] {
            let error = reader.read([0; 16], Form::Anthropic, text).err();
            let error = error.unwrap_or_else(|| panic!("{text} was read"));
            assert!(error.contains(told), "{text}: {error}");
        }
        let words = reader
            .read([0; 16], Form::Responses, r#"{"input":"a"}"#)
            .unwrap();
        assert!(words.items.is_empty() && words.head.json["input"] == "a");
    }
}
