//! The values of a frame that stand behind references.

use std::collections::BTreeMap;

use accp_runtime::session::{Inbound, Reference};
use accp_runtime::{Registry, Value};
use accp_session::references;

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
}
