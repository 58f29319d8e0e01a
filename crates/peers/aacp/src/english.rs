//! Packets in structured English, for people (draft section 8).

use std::fmt::Write as _;

use crate::packet::Packet;
use crate::vocabulary::Vocabulary;

/// The last sentence, which says that only the packet counts.
const ADVICE: &str = "The packet is the record; this sentence only explains it.";

impl Vocabulary {
    /// Returns the packet in structured English, in one line. Every field is there, known or not, with its value
    /// verbatim in backticks. A value that has backticks itself stands between longer runs of backticks.
    ///
    /// ```
    /// use accp_aacp::{Packet, Vocabulary};
    ///
    /// let packet = Packet::parse("FETCH|HR|return:HR-Agent|p:1|aacp:1.1|acme_cost:7")?;
    /// assert_eq!(
    ///     Vocabulary::standard().english(&packet),
    ///     "FETCH (get data) in HR (human resources), with return (the agent that gets the result): \
    ///      `HR-Agent`; p (the priority, critical): `1`; aacp (the version of the protocol): `1.1`; \
    ///      acme_cost (not in the vocabulary): `7`. The packet is the record; this sentence only \
    ///      explains it.",
    /// );
    /// # Ok::<(), accp_aacp::DecodeError>(())
    /// ```
    pub fn english(&self, packet: &Packet<'_>) -> String {
        let mut out = String::with_capacity(packet.text().len() * 3);
        let task = self.task(packet.task()).map(|word| &word.meaning[..]);
        let dom = self.domain(packet.dom()).map(|word| &word.meaning[..]);
        named(&mut out, packet.task(), task);
        out.push_str(" in ");
        named(&mut out, packet.dom(), dom);
        for (index, (key, value)) in packet.fields().iter().enumerate() {
            out.push_str(if index == 0 { ", with " } else { "; " });
            if key.is_empty() {
                out.push_str("a field without a key");
            } else {
                let meaning = self.key(key).map(|key| &key.meaning[..]);
                match self.priority(value).filter(|_| *key == "p") {
                    Some(word) => {
                        let meaning = meaning.unwrap_or_default();
                        let _ = write!(out, "{key} ({meaning}, {})", word.meaning);
                    }
                    None => named(&mut out, key, meaning),
                }
            }
            out.push_str(": ");
            quote(&mut out, value);
        }
        out.push_str(". ");
        out.push_str(ADVICE);
        out
    }
}

/// Writes a word, and its meaning in parentheses. `None` says that the vocabulary lacks the word. An empty meaning is
/// left out.
fn named(out: &mut String, word: &str, meaning: Option<&str>) {
    out.push_str(word);
    match meaning {
        None => out.push_str(" (not in the vocabulary)"),
        Some("") => {}
        // Writing to a string cannot fail.
        Some(meaning) => {
            let _ = write!(out, " ({meaning})");
        }
    }
}

/// Writes a value between backticks: one more than the longest run of backticks in the value.
fn quote(out: &mut String, value: &str) {
    let (mut longest, mut run) = (0, 0);
    for byte in value.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let pad = if value.starts_with('`') || value.ends_with('`') {
        " "
    } else {
        ""
    };
    out.push_str(&fence);
    out.push_str(pad);
    out.push_str(value);
    out.push_str(pad);
    out.push_str(&fence);
}
