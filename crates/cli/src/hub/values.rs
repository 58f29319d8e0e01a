//! Sends values that are too long for their frame to the hub, before the frame (draft sections 3.3 and 3.4).

use std::collections::BTreeMap;
use std::sync::Arc;

use accp_frame::{AgentId, DynamicFrame, Envelope, ErrorCode, Frame, Registry, Value};
use accp_session::{
    CancelToken, Cold, Inbound, MemberId, Options, Outbound, Time, compose, references,
};
use accp_tokens::Bpe;
use serde_json::Value as Json;
use ureq::http::StatusCode;

use super::answer::not_a_hub;
use super::{ERROR_BYTES, Hub, TRIES, busy, envelope};
use crate::words::{UNLIMITED, without_metadata};
use accp_console::outcome::Failure;

/// A frame that has at most this many bytes before its metadata is certainly within the limits in tokens.
const SHORT: usize = 150;
/// The most characters of a value that stays in its frame.
const LONG: usize = 50;
/// The most bytes of an answer in which the hub describes a session.
const STATE_BYTES: u64 = 16 << 20;

/// The frames that must be sent before a frame, because they carry its long values.
#[derive(Default)]
pub(super) struct Uploads {
    /// The sender, and the number of the last value that the sender had put before; `None` if no value has to be sent
    /// first.
    sender: Option<(AgentId<'static>, u64)>,
    /// The frames that announce the values, without `mid` and `seq`.
    announcements: Vec<String>,
    values: Vec<Cold>,
    /// The frame without its metadata, with references instead of the values; `None` if no value has to be sent
    /// first.
    pub(super) head: Option<String>,
}

/// What the session knows about a sender.
struct Sender {
    member: MemberId,
    /// The number of the last value that the sender has put.
    last_put: u64,
    counter: Bpe,
}

impl Hub<'_> {
    /// Sends the values that are too long for their frame. If the user has given the frame a number, the
    /// announcements of the values get that number and the next ones, and the frame gets the number after these.
    pub(super) fn upload_values(
        &self,
        head: &str,
        envelope: &mut Envelope<'_>,
        is_numbered: bool,
    ) -> Result<Uploads, Failure> {
        for _ in 0..TRIES {
            let uploads = self.values_of(head, envelope)?;
            match self.announce(&uploads, envelope, is_numbered) {
                Ok(()) => {
                    self.put_all(&uploads)?;
                    return Ok(uploads);
                }
                // Another program has put values of the same agent under these keys, so the loop tries again with
                // other keys.
                Err(_) if self.is_late(&uploads)? => {}
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    fn announce(
        &self,
        uploads: &Uploads,
        envelope: &mut Envelope<'_>,
        is_numbered: bool,
    ) -> Result<(), Failure> {
        for frame in &uploads.announcements {
            let (head, mut own, _) = self::envelope(frame)?;
            if is_numbered {
                own.sequence = envelope.sequence;
            }
            self.send(&head, own, is_numbered, None)?;
            if is_numbered {
                envelope.sequence = envelope.sequence.map(|number| number.saturating_add(1));
            }
        }
        Ok(())
    }

    /// Sends the bytes of the values. The values were announced before.
    fn put_all(&self, uploads: &Uploads) -> Result<(), Failure> {
        let Some((agent, _)) = &uploads.sender else {
            return Ok(());
        };
        let mut values = uploads.values.iter();
        values.try_for_each(|value| self.put(agent, value))
    }

    /// Returns whether another program has put values of this sender since `uploads` was made.
    fn is_late(&self, uploads: &Uploads) -> Result<bool, Failure> {
        let Some((agent, last_put)) = &uploads.sender else {
            return Ok(false);
        };
        let now = self.sender(agent)?;
        Ok(now.is_some_and(|(now, _)| now.last_put != *last_put))
    }

    /// Returns the values to send before a frame, and no values if the frame is short. Also returns no values for a
    /// frame that cannot be read: it is sent as it is, so that the hub reports the error.
    fn values_of(&self, head: &str, envelope: &Envelope<'_>) -> Result<Uploads, Failure> {
        let mut whole = head.to_owned();
        let fault = |error: &dyn std::fmt::Display| Failure::Input(error.to_string());
        envelope.write(&mut whole).map_err(|error| fault(&error))?;
        let Ok(frame) = Frame::parse_with(&whole, &UNLIMITED) else {
            return Ok(Uploads::default());
        };
        let is_long = |text: &str| text.len() > LONG;
        if head.len() <= SHORT
            && !frame
                .payload
                .iter()
                .any(|param| is_long(param.value.as_str()))
        {
            return Ok(Uploads::default());
        }
        let Ok(agent) = AgentId::new(frame.agent.to_string()) else {
            return Ok(Uploads::default());
        };
        let Some((sender, registry)) = self.sender(&agent)? else {
            return Ok(Uploads::default());
        };
        let Ok(message) = DynamicFrame::decode_with(&whole, &registry, &UNLIMITED) else {
            return Ok(Uploads::default());
        };
        let options = Options::new(self.args.session.clone(), agent.clone(), Arc::new(registry));
        let options = options.counting(Arc::new(sender.counter));
        let now = Time::from_secs(envelope.timestamp.unwrap_or_default());
        let outbound = Outbound::message(&message);
        let made = compose(&outbound, &options, sender.member, sender.last_put, now);
        let mut made = made.map_err(|error| fault(&with_code(error.code(), &error)))?;
        let last = made.frames.pop().filter(|_| !made.values.is_empty());
        Ok(Uploads {
            sender: Some((agent, sender.last_put)),
            announcements: made.frames,
            values: made.values,
            head: last.map(|frame| without_metadata(&frame).to_owned()),
        })
    }

    fn put(&self, agent: &AgentId<'_>, value: &Cold) -> Result<(), Failure> {
        let session = &self.args.session;
        let url = self.url(&format!(
            "sessions/{session}/values/{}?agent={agent}",
            value.key
        ));
        let request = self.with_token(self.http.put(url));
        let request = request.content_type("application/octet-stream").config();
        let request = request.timeout_global(Some(self.time)).build();
        let answer = self.answered(request.send(value.bytes.as_deref().unwrap_or_default()))?;
        if answer.status().is_success() {
            return Ok(());
        }
        Err(self.refused(&self.whole(answer, ERROR_BYTES)?))
    }

    /// Returns the entry of an agent in the state of the session, and the session's registry. If the agent is not in
    /// the session yet, this sends a `ping` with which the agent joins. The `ping` adds nothing else to the log.
    fn sender(&self, agent: &AgentId<'_>) -> Result<Option<(Sender, Registry)>, Failure> {
        let mut state = self.read("state")?;
        let mut sender = state.as_ref().and_then(|state| sender_in(state, agent));
        if sender.is_none() {
            let (head, own, _) = envelope(&format!("@{agent}>ping:link{{}}"))?;
            self.send(&head, own, false, None)?;
            state = self.read("state")?;
            sender = state.as_ref().and_then(|state| sender_in(state, agent));
        }
        Ok(sender.zip(self.registry()?))
    }

    /// Returns a frame of the session with its references replaced by their values, as far as the hub has the values.
    pub(crate) fn whole_frame(&self, text: &str) -> Result<String, Failure> {
        let mut values = BTreeMap::new();
        for key in references(without_metadata(text)) {
            if let Some(json) = self.read(&format!("values/{key}"))? {
                values.insert(key.to_owned(), Value::from_data(&json).into_owned());
            }
        }
        let registry = if values.is_empty() {
            None
        } else {
            self.registry()?
        };
        let Some(registry) = registry else {
            return Ok(text.to_owned());
        };
        let inbound = Inbound::new(1, MemberId::HOST, text.into(), CancelToken::new());
        let inbound = inbound.with_values(&values, &registry);
        Ok(inbound.whole().unwrap_or(text).to_owned())
    }

    /// Returns the URL at which the hub serves the value of a reference.
    pub(crate) fn value_url(&self, key: &str) -> String {
        self.url(&format!("sessions/{}/values/{key}", self.args.session))
    }

    fn registry(&self) -> Result<Option<Registry>, Failure> {
        let Some(json) = self.read("registry")? else {
            return Ok(None);
        };
        let registry = Registry::from_json(&json.to_string());
        let invalid = |error| Failure::Input(format!("the registry of the session: {error}"));
        registry.map(Some).map_err(invalid)
    }

    /// Gets JSON about the session from the hub; `None` if the hub does not have it, for example because there is no
    /// such session yet.
    fn read(&self, what: &str) -> Result<Option<Json>, Failure> {
        let url = self.url(&format!("sessions/{}/{what}", self.args.session));
        let request = self.with_token(self.http.get(url)).config();
        let request = request.timeout_global(Some(self.time)).build();
        let answer = self.answered(request.call())?;
        let answer = self.whole(answer, STATE_BYTES)?;
        match answer.status {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => match serde_json::from_str(&answer.text) {
                Ok(json) => Ok(Some(json)),
                Err(_) => Err(not_a_hub(&self.base, &answer.text)),
            },
            _ => Err(self.refused(&answer)),
        }
    }
}

/// Returns the entry of an agent in the state of a session.
fn sender_in(state: &Json, agent: &AgentId<'_>) -> Option<Sender> {
    let mut members = state["members"].as_array()?.iter();
    let member = members.find(|member| {
        let mut agents = member["agents"].as_array().into_iter().flatten();
        agents.any(|own| own == agent.as_str())
    })?;
    let number = u16::try_from(member["number"].as_u64()?).ok()?;
    let tokenizer = state["tokenizer"].as_str();
    Some(Sender {
        member: MemberId::new(number)?,
        last_put: member["put"].as_u64()?,
        counter: tokenizer.and_then(Bpe::for_encoding).unwrap_or_default(),
    })
}

/// Returns the text of an error with its code. The code is not added if the text already has it.
fn with_code(code: ErrorCode, error: &dyn std::fmt::Display) -> String {
    let (code, words) = (code.to_string(), error.to_string());
    if words.contains(&code) {
        words
    } else {
        format!("{code}: {words}")
    }
}
