//! Writes a conversation in another format.

use accp_context::Recorded;
use serde_json::{Map, Value as Json};

use crate::conversation::Conversation;
use crate::format::Format;
use crate::formats::{self, Cannot, NeutralMessage};
use crate::ids;
use crate::leaves::Leaves;

/// The reason why a conversation cannot be written in a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CannotWrite {
    /// Conversations are only read from this format.
    #[error("{0} is only read, because its files hold more than a conversation; write {names}", names = names())]
    Format(Format),
    /// The format cannot express a message, or the document would be read back as another message.
    #[error("message {index} {why}, which {format} cannot say")]
    Message {
        /// The index of the message in the conversation, from 0. A system prompt is a message.
        index: usize,
        /// The format to write.
        format: Format,
        /// What the message has.
        why: String,
    },
    /// A value outside the messages has no place in the format.
    #[error("the value at `{pointer}`, outside the messages, has no place in {format}")]
    Beside {
        /// The JSON pointer of the value, which begins with a key outside the messages.
        pointer: String,
        /// The format to write.
        format: Format,
    },
    /// A reader would take the document for another format.
    #[error("the conversation as {format} would be taken for {found}", found = found.map_or("no conversation", Format::name))]
    Mistaken {
        /// The format to write.
        format: Format,
        /// The format that a reader would find out, if any.
        found: Option<Format>,
    },
}

/// Returns the names of the formats to write.
fn names() -> String {
    let names = Format::ALL.into_iter().filter(|format| format.is_written());
    names.map(Format::name).collect::<Vec<_>>().join(", ")
}

impl Conversation {
    /// Returns the conversation as a document of this format. The recorded values that no model saw are under the key
    /// `_recorded` of a message, a part or a call. The values outside the messages, except `id` and `tools`, are under
    /// `_recorded`, too. A part that no reader understands becomes a text: its JSON. Calls without ids get ids if the
    /// format needs them. Ids that repeat, and ids and names of tools that the provider refuses, are replaced;
    /// [`with_recorded_ids`](Self::with_recorded_ids) restores them.
    ///
    /// The document is read back before it is returned, to check that each message says the same.
    ///
    /// ```
    /// use accp_recordings::{Conversation, Format};
    /// use serde_json::json;
    ///
    /// let recorded = json!({ "messages": [
    ///     { "role": "system", "content": "Be brief." },
    ///     { "role": "user", "content": "Rye?" },
    ///     { "role": "assistant", "refusal": "No." }] });
    /// let mut conversation = Conversation::new(recorded)?;
    /// let refused = conversation.written(Format::Anthropic).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "message 2 has a refusal, which anthropic cannot say"
    /// );
    /// let items = conversation.written(Format::Responses)?;
    /// assert_eq!(items["instructions"], "Be brief.");
    /// assert_eq!(items["input"][1]["content"][0]["type"], "refusal");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the format cannot express something. The error names the message and the reason.
    pub fn written(&self, format: Format) -> Result<Json, CannotWrite> {
        if format == self.format() && formats::is_direct(self.as_json(), format) {
            return Ok(self.as_json().clone());
        }
        let rest = self.rest().map(|(key, value)| (key.clone(), value.clone()));
        let mut rest: Map<String, Json> = rest.collect();
        let mut messages: Vec<Json> = self
            .messages()
            .map(|neutral| neutral.as_json().clone())
            .collect();
        ids::fit(&mut messages, &mut rest, format);
        let all = NeutralMessage::all(messages.iter().map(Recorded::of));
        let written = formats::write(&all, rest, format);
        let json = written.ok_or(CannotWrite::Format(format))?;
        let json = json.map_err(|Cannot { message, why }| CannotWrite::Message {
            index: message,
            format,
            why,
        })?;
        self.check(&all, &json, format)?;
        Ok(json)
    }

    /// Checks that a reader of the document finds the messages of this conversation.
    fn check(
        &self,
        all: &[NeutralMessage],
        json: &Json,
        format: Format,
    ) -> Result<(), CannotWrite> {
        let lost = |index: usize, why: &str| CannotWrite::Message {
            index,
            format,
            why: why.to_owned(),
        };
        let differs = "would read back as another message";
        let read = |format| Self::read(json.clone(), format);
        let back = read(format).map_err(|error| lost(0, &format!("would be refused: {error}")))?;
        if let Some(index) = first_other(all, &back) {
            return Err(lost(index, differs));
        }
        // Plain messages may fit two formats whose readers give the same result. That is not a
        // mistake.
        let found = formats::detect(json);
        let is_same = |found| read(found).is_ok_and(|back| first_other(all, &back).is_none());
        if found != Some(format) && !found.is_some_and(is_same) {
            return Err(CannotWrite::Mistaken { format, found });
        }
        let mut kept = Leaves::default();
        kept.add(json);
        for (index, neutral) in all.iter().enumerate() {
            let about = neutral.recorded().map(|about| Json::Object(about.clone()));
            if let Some(pointer) = kept.first_lost(&about.collect(), Format::OpenAi) {
                let key = pointer.splitn(3, '/').nth(2).unwrap_or_default();
                return Err(lost(index, &format!("has the recorded value `{key}`")));
            }
        }
        let rest = self.rest().map(|(key, value)| (key.clone(), value.clone()));
        match kept.first_lost(&Json::Object(rest.collect()), Format::OpenAi) {
            Some(pointer) => Err(CannotWrite::Beside { pointer, format }),
            None => Ok(()),
        }
    }
}

/// Returns the index of the first message that differs after reading back.
fn first_other(all: &[NeutralMessage], back: &Conversation) -> Option<usize> {
    let found = NeutralMessage::all(back.messages());
    let numbered = formats::numbered_like(all, &found);
    let same = numbered
        .iter()
        .zip(&found)
        .take_while(|(a, b)| a == b)
        .count();
    (same < numbered.len().max(found.len())).then_some(same)
}
