//! The values of a frame that stand behind references.

use std::collections::BTreeMap;

use accp_context::read_head;
use accp_frame::{Envelope, Message, Registry, Value};
use accp_session::{Inbound, Reference, references};

use super::error::DriverError;

/// The values that a driver reads for one frame.
#[derive(Debug)]
pub(super) struct Values<'i> {
    /// The keys to read, the next one last.
    left: Vec<&'i str>,
    /// The key that is read now.
    now: &'i str,
    read: BTreeMap<String, Value<'static>>,
    /// Whether the bytes of a value are on their way.
    waits: bool,
}

impl<'i> Values<'i> {
    pub(super) fn of(inbound: &'i Inbound) -> Self {
        let mut left: Vec<_> = references(inbound.text()).collect();
        left.reverse();
        Self {
            left,
            now: "",
            read: BTreeMap::new(),
            waits: false,
        }
    }

    /// Returns the next reference to read.
    pub(super) fn next(&mut self) -> Option<Reference<'i>> {
        while let Some(key) = self.left.pop() {
            // Without a tier it is a value like any other.
            if let Some(reference) = Reference::parse(key).filter(|_| !self.read.contains_key(key))
            {
                self.now = key;
                return Some(reference);
            }
        }
        None
    }

    /// Takes what the reference leads to.
    pub(super) fn take(
        &mut self,
        read: Result<Option<Value<'static>>, DriverError>,
    ) -> Result<(), DriverError> {
        match read {
            Ok(Some(value)) => {
                self.read.insert(self.now.to_owned(), value);
            }
            Ok(None) => self.waits = true,
            Err(DriverError::Reference(..)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Returns the frame with its values, unless the bytes of one are on their way.
    pub(super) fn put_into(self, inbound: &Inbound, registry: &Registry) -> Option<Inbound> {
        let whole = || inbound.clone().with_values(&self.read, registry);
        (!self.waits).then(whole)
    }

    /// Returns the message of a frame without its metadata, with the values that are here. `None` if
    /// the registry cannot read the frame.
    pub(super) fn put_into_head(
        self,
        head: &Inbound,
        registry: &Registry,
    ) -> Option<Message<'static>> {
        let mut message = read_head(head.text(), registry).ok()?;
        message.envelope = Envelope::default();
        for (_, held) in message.payload.iter_mut() {
            put(held, &self.read);
        }
        Some(message)
    }
}

/// Puts values in the place of references.
fn put(held: &mut Value<'static>, read: &BTreeMap<String, Value<'static>>) {
    match held {
        Value::Ref(key) => {
            if let Some(value) = read.get(&**key) {
                *held = value.clone();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| put(item, read)),
        Value::Map(map) => map.iter_mut().for_each(|(_, item)| put(item, read)),
        _ => {}
    }
}
