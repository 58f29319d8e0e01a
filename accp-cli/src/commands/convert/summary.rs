//! What a conversion saved, and what it cost.

use std::fmt;

use accp_runtime::{Reason, TokenCounter, Value};
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use crate::table::Table;

/// Counts over conversations. Tokens are exact.
#[derive(Debug, Clone, Default)]
pub(super) struct Summary {
    pub(super) conversations: u64,
    /// Counted under `--verify`.
    pub(super) restored_equal: Option<u64>,
    pub(super) messages: u64,
    pub(super) frames: u64,
    /// Messages for which the profiles have no place.
    pub(super) verbatim: u64,
    /// Compact JSON of the conversations.
    json_tokens: u64,
    frame_tokens: u64,
    without_envelope: u64,
    /// Compact JSON of what the references stand for, at each reference.
    external_tokens: u64,
    /// All values that were to be sent, and those that went by reference.
    sent: Share,
    externalised: Share,
    reasons: [u64; Reason::ALL.len()],
}

/// Values by number, scalars in them, and bytes as compact JSON.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    values: u64,
    scalars: u64,
    bytes: u64,
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
    /// A value that is to be sent, before any reference.
    pub(super) fn sent(&mut self, value: &Value<'_>) {
        self.sent.add(value);
    }

    /// A value that goes by reference.
    pub(super) fn externalised(&mut self, value: &Value<'_>, reason: Reason, counter: Bpe) {
        let json = self.externalised.add(value);
        self.external_tokens += counter.count(&json.to_string()) as u64;
        if let Some(at) = Reason::ALL.iter().position(|r| *r == reason) {
            self.reasons[at] += 1;
        }
    }

    /// The texts of a whole conversation.
    pub(super) fn texts(&mut self, json: &str, frames: &str, bare_frames: &str, counter: Bpe) {
        self.json_tokens += counter.count(json) as u64;
        self.frame_tokens += counter.count(frames) as u64;
        self.without_envelope += counter.count(bare_frames) as u64;
    }

    pub(super) fn add(&mut self, other: &Self) {
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

    /// Whether every conversation came back, as far as that was asked.
    pub(super) fn is_whole(&self) -> bool {
        self.restored_equal
            .is_none_or(|equal| equal == self.conversations)
    }

    fn inline_share(&self, of: impl Fn(&Share) -> u64) -> f64 {
        let (sent, externalised) = (of(&self.sent), of(&self.externalised));
        if sent == 0 {
            1.0
        } else {
            sent.saturating_sub(externalised) as f64 / sent as f64
        }
    }

    pub(super) fn to_json(&self) -> Json {
        let reasons: serde_json::Map<String, Json> = Reason::ALL
            .iter()
            .zip(self.reasons)
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

    /// What, how much, and against the compact JSON.
    pub(super) fn table(&self, counter: Bpe) -> Table {
        let mut table = Table::default().indented(2);
        let mut row = |what: &str, figure: &dyn fmt::Display, note: String| {
            table.row([what.to_owned(), format!("{:>8}", figure.to_string()), note]);
        };
        let equal = match self.restored_equal {
            Some(equal) => format!("{equal} restored equal"),
            None => String::new(),
        };
        row("conversations", &self.conversations, equal);
        row(
            "messages",
            &self.messages,
            match self.verbatim {
                0 => String::new(),
                count => format!("{count} of a shape the profiles do not know, sent whole"),
            },
        );
        row("frames", &self.frames, String::new());
        let reasons: Vec<String> = Reason::ALL
            .iter()
            .zip(self.reasons)
            .filter(|(_, count)| *count > 0)
            .map(|(reason, count)| format!("{count} {}", words(*reason)))
            .collect();
        row(
            "values by reference",
            &self.externalised.values,
            reasons.join(", "),
        );
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        row(
            "inline, of the bytes",
            &percent(self.inline_share(|share| share.bytes)),
            String::new(),
        );
        row(
            "inline, of the scalars",
            &percent(self.inline_share(|share| share.scalars)),
            String::new(),
        );
        let against = |tokens: u64| match self.json_tokens {
            0 => String::new(),
            json => format!("{:.1} % of the JSON", 100.0 * tokens as f64 / json as f64),
        };
        row(&format!("tokens ({})", counter.name()), &"", String::new());
        row("  compact JSON", &self.json_tokens, String::new());
        row("  frames", &self.frame_tokens, against(self.frame_tokens));
        row(
            "  frames without envelope",
            &self.without_envelope,
            against(self.without_envelope),
        );
        row(
            "  behind the references",
            &self.external_tokens,
            against(self.external_tokens),
        );
        table
    }
}

fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Characters => "over 50 characters",
        Reason::Depth => "nested too deep",
        _ => "over the limits of a frame",
    }
}
