//! The transcript of a recorded conversation, for a replay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use accp_memory::policy::{Agent, Message};
use accp_recordings::{Content, Conversation, Half, NotConversation};
use serde_json::Value as Json;

/// A conversation for a replay: the messages that its agents read, one after another.
#[derive(Debug)]
pub struct Transcript {
    /// The `id` of the conversation; without one, its place in the file.
    pub id: String,
    /// The tool schemas that the agents are given, as compact JSON.
    pub tools: Option<Arc<str>>,
    /// The messages in their order.
    pub messages: Vec<Message>,
    /// The content of the recording, which the messages have to show.
    pub(crate) content: Content,
    /// Names of the agents that have a system prompt of their own.
    own_prompt: BTreeSet<String>,
}

/// The reason why JSON cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The JSON has no `messages`.
    #[error(
        "expected a recorded conversation, an object with `messages`, found {0}; record each \
         conversation as one object a line"
    )]
    Messages(String),
    /// A message has no role.
    #[error(
        "expected `messages[{index}]` to be an object with a `role`, found {found}; give the \
         message a role: system, user, assistant, agent or tool"
    )]
    Role {
        /// The message, from 0.
        index: usize,
        /// The kind of JSON that was found instead.
        found: &'static str,
    },
    /// There is no conversation to measure.
    #[error(
        "expected conversations to measure, found none; record each as one object a line with \
         `messages`"
    )]
    None,
    /// All conversations (this many) belong to the other half.
    #[error(
        "expected conversations to measure, found none of its {0} in this half; measure without \
         --split"
    )]
    OtherHalf(usize),
    /// The JSON cannot be read in the format that was detected.
    #[error("{0}")]
    Conversation(NotConversation),
}

impl From<NotConversation> for TranscriptError {
    fn from(error: NotConversation) -> Self {
        match error {
            NotConversation::Messages(found) => Self::Messages(found),
            NotConversation::Message(index, found) => Self::Role { index, found },
            other => Self::Conversation(other),
        }
    }
}

impl Transcript {
    /// Makes the transcript of a conversation. A conversation without an id gets the id `place`.
    /// The tool schemas are `tools`, or else the recorded ones.
    ///
    /// # Errors
    /// When a message has no role.
    pub fn of(
        conversation: &Conversation,
        place: &str,
        tools: Option<&Arc<str>>,
    ) -> Result<Self, TranscriptError> {
        let messages = conversation.messages().enumerate();
        let messages = messages.map(|(index, recorded)| {
            let found = "an object without it";
            Message::new(index, recorded).ok_or(TranscriptError::Role { index, found })
        });
        let messages: Vec<Message> = messages.collect::<Result<_, _>>()?;
        let names = messages
            .iter()
            .filter_map(|message| message.only_for.as_deref());
        let own_prompt = names.map(str::to_owned).collect();
        let recorded = || {
            let tools = conversation.get("tools")?;
            Some(Arc::from(format!("{tools}\n")))
        };
        Ok(Self {
            id: conversation.id().map_or(place.to_owned(), Into::into),
            tools: tools.cloned().or_else(recorded),
            messages,
            content: conversation.content(),
            own_prompt,
        })
    }

    /// Returns the time of the last message before this index, in seconds; `None` without a clock.
    pub(crate) fn time_before(&self, index: usize) -> Option<f64> {
        let before = self.messages.get(..index)?;
        before.iter().rev().find_map(|message| message.time)
    }

    /// Gives a recording without a clock made-up times: two hours before each message whose index is a multiple of
    /// `every`, which no cache outlives, and five seconds before each other message.
    fn pause(&mut self, every: usize) {
        if self.messages.iter().any(|message| message.time.is_some()) {
            return;
        }
        let mut now = 0.0;
        for message in &mut self.messages {
            let is_late = message.index > 0 && message.index % every.max(1) == 0;
            now += if is_late { PAUSE } else { SOON };
            message.time = Some(now);
        }
    }

    /// Returns the agent that writes this message, or `None` for a message of another role.
    pub fn agent(&self, message: &Message) -> Option<Agent> {
        let recorded = message.recorded();
        let role = recorded.role()?;
        if !matches!(role, "assistant" | "agent") {
            return None;
        }
        let name = recorded.name().unwrap_or(role);
        let own = self.own_prompt.contains(name);
        Some(Agent {
            name: Arc::from(name),
            cache: Arc::from(if own { name } else { "" }),
        })
    }
}

/// The seconds of a pause, and the seconds before any other message, in a recording without a clock.
const PAUSE: f64 = 7_200.0;
const SOON: f64 = 5.0;

/// The transcripts of a file, each with a unique id.
#[derive(Debug, Default)]
pub struct Transcripts {
    /// In recordings without a clock, a pause comes before each message whose index is a multiple of this.
    pause: Option<usize>,
    list: Vec<Transcript>,
    /// The number of conversations with each id, in both halves.
    ids: BTreeMap<String, usize>,
    seen: usize,
    /// The number of conversations of this half.
    added: usize,
    bytes: usize,
}

impl Transcripts {
    /// Gives recordings without a clock a pause of two hours before each message whose index is a multiple of `every`.
    #[must_use]
    pub fn with_pauses(self, every: Option<usize>) -> Self {
        Self {
            pause: every,
            ..self
        }
    }

    /// Adds a recorded conversation, unless it belongs to the other half. A repeated id gets a
    /// number.
    ///
    /// # Errors
    /// When the conversation cannot be replayed.
    pub fn add(
        &mut self,
        json: Json,
        tools: Option<&Arc<str>>,
        half: Option<Half>,
    ) -> Result<(), TranscriptError> {
        self.add_conversation(&Conversation::new(json)?, tools, half)
    }

    /// Adds a conversation, unless it belongs to the other half. A repeated id gets a number.
    ///
    /// # Errors
    /// When a message has no role.
    pub fn add_conversation(
        &mut self,
        conversation: &Conversation,
        tools: Option<&Arc<str>>,
        half: Option<Half>,
    ) -> Result<(), TranscriptError> {
        self.seen += 1;
        let place = format!("conversation {}", self.seen);
        let mut transcript = Transcript::of(conversation, &place, tools)?;
        if let Some(every) = self.pause {
            transcript.pause(every);
        }
        let count = self.ids.entry(transcript.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            transcript.id = format!("{}#{count}", transcript.id);
        }
        if half.is_none_or(|half| half == conversation.half()) {
            self.added += 1;
            let texts = transcript.messages.iter();
            self.bytes += texts.map(|message| message.text.len()).sum::<usize>();
            self.list.push(transcript);
        }
        Ok(())
    }

    /// Returns whether a conversation with this id was added, in either half.
    pub(crate) fn has(&self, id: &str) -> bool {
        let repeated = || {
            let (id, count) = id.rsplit_once('#')?;
            let count: usize = count.parse().ok()?;
            Some(count > 1 && count <= *self.ids.get(id)?)
        };
        self.ids.contains_key(id) || repeated() == Some(true)
    }

    /// Checks that there was a conversation to measure.
    ///
    /// # Errors
    /// When no conversation was added, or all of them belong to the other half.
    pub fn check(&self) -> Result<(), TranscriptError> {
        match (self.added, self.seen) {
            (0, 0) => Err(TranscriptError::None),
            (0, seen) => Err(TranscriptError::OtherHalf(seen)),
            _ => Ok(()),
        }
    }

    /// Returns the number of bytes of the messages in the transcripts that were not taken yet.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the transcripts in their order. The numbers of later conversations go on from here.
    pub fn take(&mut self) -> Vec<Transcript> {
        self.bytes = 0;
        std::mem::take(&mut self.list)
    }

    /// Returns the transcripts in their order.
    pub fn as_slice(&self) -> &[Transcript] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: &Json) -> Result<Transcript, TranscriptError> {
        let mut transcripts = Transcripts::default();
        transcripts.add(json.clone(), None, None)?;
        Ok(transcripts.list.remove(0))
    }

    #[test]
    fn a_recording_without_a_clock_gets_pauses() {
        let said = |n: usize| json!({ "role": "user", "content": n.to_string() });
        let json = json!({ "messages": (0..5).map(said).collect::<Vec<_>>() });
        let mut transcripts = Transcripts::default().with_pauses(Some(2));
        transcripts.add(json.clone(), None, None).unwrap();
        let paused = &transcripts.as_slice()[0];
        let times = paused.messages.iter().map(|message| message.time.unwrap());
        let times: Vec<f64> = times.collect();
        let waits: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(waits, [5.0, 7_200.0, 5.0, 7_200.0]);
        assert_eq!(read(&json).unwrap().time_before(4), None);
    }

    fn calls(message: &Message) -> Vec<(String, Json)> {
        let calls = message.recorded().calls().map(|call| {
            let tool = call.tool().unwrap_or_default().to_owned();
            (tool, call.arguments().unwrap().into_owned())
        });
        calls.collect()
    }

    #[test]
    fn agents_with_a_prompt_of_their_own_have_a_cache_of_their_own() {
        let transcript = read(&json!({ "messages": [
            { "role": "system", "name": "a", "content": "You are a." },
            { "role": "agent", "name": "a", "content": "hello" },
            { "role": "agent", "name": "b", "content": "hello" },
            { "role": "assistant", "content": "hello" },
            { "role": "user", "content": "hello" },
        ] }))
        .unwrap();
        let agents: Vec<_> = transcript
            .messages
            .iter()
            .map(|message| transcript.agent(message))
            .collect();
        let names: Vec<_> = agents
            .iter()
            .map(|agent| agent.as_ref().map(|agent| (&*agent.name, &*agent.cache)))
            .collect();
        let expected = [
            None,
            Some(("a", "a")),
            Some(("b", "")),
            Some(("assistant", "")),
            None,
        ];
        assert_eq!(names, expected);
        assert!(transcript.messages[0].is_for("a") && !transcript.messages[0].is_for("b"));
        assert_eq!(transcript.id, "conversation 1");
    }

    #[test]
    fn arguments_are_held_once_and_read_from_either_form() {
        let call = json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "name": "get", "arguments": { "n": 1 }, "arguments_raw": "{ \"n\": 1 }" }] });
        let transcript = read(&json!({ "messages": [call] })).unwrap();
        let message = &transcript.messages[0];
        assert!(
            !message.original().contains("raw"),
            "{}",
            message.original()
        );
        assert_eq!(calls(message), [("get".to_owned(), json!({ "n": 1 }))]);
        let wire = json!({ "role": "assistant", "tool_calls": [
            { "function": { "name": "get", "arguments": "{\"n\": 1}" } }] });
        let transcript = read(&json!({ "messages": [wire] })).unwrap();
        let found = calls(&transcript.messages[0]);
        assert_eq!(found, [("get".to_owned(), json!({ "n": 1 }))]);
    }

    #[test]
    fn what_is_no_conversation_is_told() {
        insta::assert_snapshot!(read(&json!([1])).unwrap_err(), @"expected `messages[0]` to be an object with a `role`, found a number; give the message a role: system, user, assistant, agent or tool");
        insta::assert_snapshot!(read(&json!({ "messages": [{}] })).unwrap_err(), @"expected `messages[0]` to be an object with a `role`, found an object without it; give the message a role: system, user, assistant, agent or tool");
    }
}
