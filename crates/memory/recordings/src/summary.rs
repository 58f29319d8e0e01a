//! Counts for the conversion of recordings to frames: what it saves, and what it costs.

use accp_frame::{Reason, TokenCounter, Value};
use serde_json::{Value as Json, json};

/// Counts over conversations. Token counts are exact.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Conversations.
    pub conversations: u64,
    /// Conversations that were restored equal; `None` if none was verified.
    pub restored_equal: Option<u64>,
    /// Messages of the conversations.
    pub messages: u64,
    /// Frames of the messages, with the opening frames.
    pub frames: u64,
    /// Messages that no profile has fields for.
    pub verbatim: u64,
    /// Tokens of the conversations as compact JSON.
    pub json_tokens: u64,
    /// Tokens of the frames.
    pub frame_tokens: u64,
    /// Tokens of the frames without metadata.
    pub without_envelope: u64,
    /// Tokens of the values behind the references, as compact JSON, counted at each reference.
    pub external_tokens: u64,
    /// All values to send.
    pub sent: Share,
    /// The values that went by reference.
    pub externalised: Share,
    reasons: [u64; Reason::ALL.len()],
}

/// Counts of values: their number, their scalars, and their bytes as compact JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// Values, each a param.
    pub values: u64,
    /// Scalars in the values.
    pub scalars: u64,
    /// Bytes of the values as compact JSON.
    pub bytes: u64,
}

impl Share {
    fn add(&mut self, value: &Value<'_>) -> Json {
        let json = value.to_json();
        self.values += 1;
        self.scalars += scalars(&json);
        self.bytes += json.to_string().len() as u64;
        json
    }
}

fn scalars(json: &Json) -> u64 {
    match json {
        Json::Array(items) => items.iter().map(scalars).sum(),
        Json::Object(object) => object.values().map(scalars).sum(),
        _ => 1,
    }
}

impl Summary {
    /// Counts a value to send, before it may become a reference.
    pub(crate) fn sent(&mut self, value: &Value<'_>) {
        self.sent.add(value);
    }

    /// Counts a value that goes by reference.
    pub(crate) fn externalised(
        &mut self,
        value: &Value<'_>,
        reason: Reason,
        counter: &impl TokenCounter,
    ) {
        let json = self.externalised.add(value);
        self.external_tokens += counter.count(&json.to_string()) as u64;
        if let Some(at) = Reason::ALL.iter().position(|r| *r == reason) {
            self.reasons[at] += 1;
        }
    }

    /// Counts the texts of a whole conversation.
    pub(crate) fn texts(
        &mut self,
        json: &str,
        frames: &str,
        bare_frames: &str,
        counter: &impl TokenCounter,
    ) {
        self.json_tokens += counter.count(json) as u64;
        self.frame_tokens += counter.count(frames) as u64;
        self.without_envelope += counter.count(bare_frames) as u64;
    }

    /// Adds the counts of other conversations.
    pub fn add(&mut self, other: &Self) {
        self.conversations += other.conversations;
        self.restored_equal = match (self.restored_equal, other.restored_equal) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        self.messages += other.messages;
        self.frames += other.frames;
        self.verbatim += other.verbatim;
        self.json_tokens += other.json_tokens;
        self.frame_tokens += other.frame_tokens;
        self.without_envelope += other.without_envelope;
        self.external_tokens += other.external_tokens;
        for (mine, theirs) in [
            (&mut self.sent, other.sent),
            (&mut self.externalised, other.externalised),
        ] {
            mine.values += theirs.values;
            mine.scalars += theirs.scalars;
            mine.bytes += theirs.bytes;
        }
        for (mine, theirs) in self.reasons.iter_mut().zip(other.reasons) {
            *mine += theirs;
        }
    }

    /// Returns whether every conversation was restored equal, or none was verified.
    pub fn is_whole(&self) -> bool {
        self.restored_equal
            .is_none_or(|equal| equal == self.conversations)
    }

    /// Returns the share of the values to send that stays in the frames, from 0 to 1.
    pub fn inline_share(&self, of: impl Fn(&Share) -> u64) -> f64 {
        let (sent, externalised) = (of(&self.sent), of(&self.externalised));
        if sent == 0 {
            1.0
        } else {
            sent.saturating_sub(externalised) as f64 / sent as f64
        }
    }

    /// Returns each reason for a reference, and the number of values that had this reason.
    pub fn reasons(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().zip(self.reasons)
    }

    /// Returns the counts as an object.
    pub fn to_json(&self) -> Json {
        let reasons: serde_json::Map<String, Json> = self
            .reasons()
            .map(|(reason, count)| (reason.as_str().to_owned(), json!(count)))
            .collect();
        let mut json = json!({
            "conversations": self.conversations,
            "messages": self.messages,
            "frames": self.frames,
            "verbatim": self.verbatim,
            "externalised": self.externalised.values,
            "tokens": {
                "json": self.json_tokens,
                "frames": self.frame_tokens,
                "without_envelope": self.without_envelope,
                "externalised": self.external_tokens,
            },
            "inline_share": self.inline_share(|share| share.bytes),
            "inline_scalars": self.inline_share(|share| share.scalars),
            "scalars": self.sent.scalars,
            "reasons": reasons,
        });
        if let Some(equal) = self.restored_equal {
            json["restored_equal"] = json!(equal);
        }
        json
    }
}
