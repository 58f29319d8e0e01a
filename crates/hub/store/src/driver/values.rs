//! Reads the values of references, without IO. This code says what it needs, and a driver looks that up in the store.

use std::collections::BTreeMap;

use accp_context::read_head;
use accp_frame::{DynamicFrame, Envelope, Registry, Value};
use accp_session::{
    CancelToken, Found, Inbound, MemberId, Need, Reference, Resolver, Session, references,
};

use super::error::DriverError;
use super::machine::{Machine, Resolution};

/// Work that reads from the store and changes nothing there.
pub(super) trait Lookup {
    /// Continues with the answer to the last need, if there was one. Returns the next need that the
    /// driver has to look up, or `None` when the work is done.
    fn next(
        &mut self,
        machine: &mut Machine,
        found: Option<Found>,
    ) -> Result<Option<Need>, DriverError>;

    /// Goes on without the last need, because the store has damaged data in its place. Returns false if the caller has
    /// to get the error.
    fn pass_over(&mut self) -> bool {
        false
    }
}

/// Reads one reference.
pub(super) struct ReferenceValue {
    resolver: Resolver,
    /// The value; `None` while its bytes are on their way.
    pub value: Option<Value<'static>>,
}

impl ReferenceValue {
    pub(super) fn of(reference: &Reference<'_>) -> Self {
        Self {
            resolver: Resolver::new(reference),
            value: None,
        }
    }
}

impl Lookup for ReferenceValue {
    fn next(
        &mut self,
        machine: &mut Machine,
        found: Option<Found>,
    ) -> Result<Option<Need>, DriverError> {
        match machine.resolve(&mut self.resolver, found)? {
            Resolution::Need(need) => return Ok(Some(need)),
            Resolution::Value(value) => self.value = Some(value),
            Resolution::OnItsWay => {}
        }
        Ok(None)
    }
}

/// Reads the values of the references in one frame.
pub(super) struct FrameValues {
    /// The keys to read, in reverse order.
    left: Vec<String>,
    /// The key that is read now.
    current: Option<(String, ReferenceValue)>,
    read: BTreeMap<String, Value<'static>>,
    /// Whether the bytes of a value are on their way.
    waits: bool,
}

impl FrameValues {
    pub(super) fn of(inbound: &Inbound) -> Self {
        let mut left: Vec<_> = references(inbound.text()).map(str::to_owned).collect();
        left.reverse();
        Self {
            left,
            current: None,
            read: BTreeMap::new(),
            waits: false,
        }
    }

    /// Returns the next key to read, with its reference.
    fn next_key(&mut self) -> Option<(String, ReferenceValue)> {
        while let Some(key) = self.left.pop() {
            // A text without a tier is not a reference.
            if let Some(reference) =
                Reference::parse(&key).filter(|_| !self.read.contains_key(&key))
            {
                let reading = ReferenceValue::of(&reference);
                return Some((key, reading));
            }
        }
        None
    }

    /// Returns the frame with its values. `None` if the bytes of a value are on their way.
    pub(super) fn put_into(self, inbound: &Inbound, registry: &Registry) -> Option<Inbound> {
        let whole = || inbound.clone().with_values(&self.read, registry);
        (!self.waits).then(whole)
    }
}

impl Lookup for FrameValues {
    fn next(
        &mut self,
        machine: &mut Machine,
        mut found: Option<Found>,
    ) -> Result<Option<Need>, DriverError> {
        while let Some((key, mut reading)) = self.current.take().or_else(|| self.next_key()) {
            match reading.next(machine, found.take()) {
                Ok(Some(need)) => {
                    self.current = Some((key, reading));
                    return Ok(Some(need));
                }
                Ok(None) => match reading.value {
                    Some(value) => drop(self.read.insert(key, value)),
                    None => self.waits = true,
                },
                // A value that cannot be read stays a reference.
                Err(DriverError::Reference(..)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// A value that is damaged stays a reference, too, so that it does not hold up the frames behind its frame.
    fn pass_over(&mut self) -> bool {
        self.current.take().is_some()
    }
}

/// Reads the frames that left hot state with the last checkpoint, if the checkpoint wants a summary.
pub(super) struct SummaryFrames {
    frames: Vec<(Inbound, FrameValues)>,
    /// How many frames have their values.
    done: usize,
}

impl SummaryFrames {
    pub(super) fn of(session: &Session) -> Self {
        let frames = session.frames_to_sum_up().map(|(position, text)| {
            let frame = Inbound::new(position, MemberId::HOST, text.into(), CancelToken::new());
            let values = FrameValues::of(&frame);
            (frame, values)
        });
        Self {
            frames: frames.collect(),
            done: 0,
        }
    }

    /// Returns the messages of the frames without their metadata, with the values that are here. Leaves
    /// out frames that the registry cannot read.
    pub(super) fn into_messages(self, registry: &Registry) -> Vec<DynamicFrame<'static>> {
        let frames = self.frames.into_iter();
        let messages = frames.filter_map(|(frame, values)| {
            let mut message = read_head(frame.text(), registry).ok()?;
            message.envelope = Envelope::default();
            for (_, value) in message.payload.iter_mut() {
                replace_references(value, &values.read);
            }
            Some(message)
        });
        messages.collect()
    }
}

impl Lookup for SummaryFrames {
    fn next(
        &mut self,
        machine: &mut Machine,
        mut found: Option<Found>,
    ) -> Result<Option<Need>, DriverError> {
        while let Some((_, values)) = self.frames.get_mut(self.done) {
            let need = values.next(machine, found.take())?;
            if need.is_some() {
                return Ok(need);
            }
            self.done += 1;
        }
        Ok(None)
    }

    fn pass_over(&mut self) -> bool {
        let current = self.frames.get_mut(self.done);
        current.is_some_and(|(_, values)| values.pass_over())
    }
}

/// Puts values in the place of references.
fn replace_references(value: &mut Value<'static>, read: &BTreeMap<String, Value<'static>>) {
    match value {
        Value::Ref(key) => {
            if let Some(found) = read.get(&**key) {
                *value = found.clone();
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| replace_references(item, read)),
        Value::Map(map) => map
            .iter_mut()
            .for_each(|(_, item)| replace_references(item, read)),
        _ => {}
    }
}
