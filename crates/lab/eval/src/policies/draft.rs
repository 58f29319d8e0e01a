//! The draft's own context: messages as frames in a session, under the draft's budgets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use accp_frame::{DynamicFrame, Intent, TokenCounter, Value};
use accp_memory::policy::{Agent, Frames, Kind, Message, Opening, Policy, Segment};
use accp_recordings::resolve;
use accp_registry::Registry;
use accp_session::{
    EntryKind, Mid, Options, Outbound, Output, Reference, Rules, SendError, Session, Time,
    read_value,
};

/// A session whose host sends every message. All agents read the context of the session: the
/// checkpoints, and the frames since the last checkpoint.
pub(crate) struct Draft {
    tools: Option<Segment>,
    messages: Vec<Message>,
    frames: Frames,
    registry: Arc<Registry>,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    /// The session, opened with the first frame.
    host: Option<Session>,
    now: Time,
    /// The context; `None` until it is read again after a new message.
    context: Option<Segment>,
    /// Requests without an answer: the operation and the id of each.
    asked: Vec<(String, Mid)>,
    /// The frames sent so far.
    sent: Vec<Sent>,
    kept: Kept,
}

/// A frame of a message.
#[derive(Debug)]
struct Sent {
    message: usize,
    frame: DynamicFrame<'static>,
    /// The position of the frame; `None` when the session refused the frame.
    position: Option<u64>,
}

/// Frames and values that the session has committed.
#[derive(Debug, Default)]
struct Kept {
    /// Frames by position.
    log: HashMap<u64, Arc<str>>,
    /// Values by key.
    cold: HashMap<String, Arc<[u8]>>,
}

impl Draft {
    pub(crate) fn new(opening: &Opening) -> Self {
        Self {
            tools: Segment::tools(opening),
            messages: Vec::new(),
            frames: Frames::default(),
            registry: Arc::new(opening.view.registry().clone()),
            counter: Arc::clone(&opening.counter),
            host: None,
            now: Time::from_secs(0),
            context: None,
            asked: Vec::new(),
            sent: Vec::new(),
            kept: Kept::default(),
        }
    }

    /// Sends a frame, and returns its position.
    fn say(&mut self, frame: &DynamicFrame<'static>) -> Option<u64> {
        let answered = self.answered(frame);
        let request = answered.map(|at| self.asked[at].1.clone());
        let said = self.send(frame, request.as_ref()).or_else(|_| {
            // When a frame has too many values, one value by reference holds them all.
            self.send(&as_one(frame), request.as_ref())
        });
        let mid = said.ok()?;
        answered.map(|at| self.asked.remove(at));
        if frame.intent == Intent::REQ {
            self.asked.push((frame.operation.to_string(), mid.clone()));
        }
        self.commit(&mid)
    }

    /// Returns the request that a frame answers: the first open request of a tool, or the last open
    /// chat request.
    fn answered(&self, frame: &DynamicFrame<'_>) -> Option<usize> {
        if frame.intent != Intent::DONE {
            return None;
        }
        let is_it = |(operation, _): &(String, Mid)| *operation == frame.operation;
        match &*frame.operation {
            "chat" => self.asked.iter().rposition(is_it),
            _ => self.asked.iter().position(is_it),
        }
    }

    fn send(&mut self, frame: &DynamicFrame<'_>, answered: Option<&Mid>) -> Result<Mid, SendError> {
        let host = self.host.get_or_insert_with(|| {
            let agent = frame.agent.clone().into_owned();
            let options = Options::new("replay", agent, Arc::clone(&self.registry));
            let options = options.counting(Arc::clone(&self.counter));
            Session::host(options, Rules::default(), self.now)
        });
        let mut outbound = Outbound::message(frame);
        if let Some(mid) = answered {
            outbound = outbound.in_chain(mid.to_string());
        }
        host.send(&outbound, self.now)
    }

    /// Keeps the entries and values that the session commits, and returns the position of a frame
    /// among them.
    fn commit(&mut self, mid: &Mid) -> Option<u64> {
        let host = self.host.as_mut()?;
        let mut position = None;
        while let Some(Output::Batch(batch)) = host.poll() {
            for entry in batch.entries {
                if entry.kind == EntryKind::Frame {
                    position = position.or((entry.mid == *mid).then_some(entry.position));
                    self.kept.log.insert(entry.position, entry.text);
                }
            }
            let values = batch.cold.into_iter();
            let values =
                values.filter_map(|cold| Some((format!("cold.{}", cold.key), cold.bytes?)));
            self.kept.cold.extend(values);
        }
        position
    }

    /// Reads the current context.
    fn read(&self) -> Option<Segment> {
        let session = self.host.as_ref()?;
        Some(Segment::new(Kind::Facts, session.context()))
    }

    /// Returns whether the log holds the frame unchanged.
    fn is_kept(&self, sent: &Sent) -> bool {
        let text = sent
            .position
            .and_then(|position| self.kept.log.get(&position));
        let Some(frame) = text.and_then(|text| DynamicFrame::decode(text, &self.registry).ok())
        else {
            return false;
        };
        let frame = frame.into_owned();
        let payload = resolve(&Value::Map(frame.payload), &mut |key| {
            let Some(reference) = Reference::parse(key) else {
                return Ok(None);
            };
            let bytes = self.kept.cold.get(&reference.to_string());
            let value = bytes.and_then(|bytes| read_value(bytes).ok());
            let value = value.map(Value::into_owned);
            value
                .map(Some)
                .ok_or_else(|| format!("${reference} is not kept"))
        });
        let Ok(Value::Map(payload)) = payload else {
            return false;
        };
        let whole = as_one(&sent.frame).payload;
        frame.agent == sent.frame.agent
            && frame.operation == sent.frame.operation
            && (payload == sent.frame.payload || payload == whole)
    }
}

impl Policy for Draft {
    fn push(&mut self, message: &Message) {
        if message.kind != Kind::System {
            self.now = self.now + Duration::from_secs(1);
            for frame in self.frames.of(message, &self.registry) {
                let position = self.say(&frame);
                self.sent.push(Sent {
                    message: message.index,
                    frame,
                    position,
                });
            }
            self.context = None;
        }
        self.messages.push(message.clone());
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let system = self.messages.iter();
        let system = system
            .filter(|message| message.kind == Kind::System && message.is_for(&agent.name))
            .map(|message| Segment::new(Kind::System, Arc::clone(&message.text)));
        if self.context.is_none() {
            self.context = self.read();
        }
        let tools = self.tools.iter().cloned();
        tools.chain(system).chain(self.context.clone()).collect()
    }

    /// Returns the message if the log holds all its frames unchanged.
    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        let message = self.messages.get(index)?;
        let mut frames = self.sent.iter().filter(|sent| sent.message == index);
        let kept = frames.all(|sent| self.is_kept(sent));
        kept.then(|| Cow::Borrowed(message.original()))
    }
}

/// Returns the frame with its payload as one value.
fn as_one(frame: &DynamicFrame<'static>) -> DynamicFrame<'static> {
    let mut one = frame.clone();
    one.schema = None;
    one.payload = [("data", Value::Map(std::mem::take(&mut one.payload)))]
        .into_iter()
        .collect();
    one
}

#[cfg(test)]
mod tests {
    use accp_context::{ContextLimits, view::View};
    use accp_recordings::Conversation;
    use accp_tokens::Bpe;
    use serde_json::{Value as Json, json};

    use super::*;

    /// Returns the prompt after each message, and whether the log holds each message unchanged.
    fn played(messages: &[Json]) -> (Vec<String>, Vec<bool>) {
        let conversation = Conversation::new(json!({ "messages": messages })).unwrap();
        let messages = conversation.messages().enumerate();
        let messages: Vec<Message> = messages
            .map(|(index, recorded)| Message::new(index, recorded).unwrap())
            .collect();
        let mut draft = Draft::new(&Opening {
            tools: None,
            counter: Arc::new(Bpe::default()),
            view: View::new(Arc::new(Registry::standard())),
        });
        let agent = Agent {
            name: "a".into(),
            cache: "".into(),
        };
        let mut prompts = Vec::new();
        for message in &messages {
            draft.push(message);
            let prompt = draft.prompt(&agent);
            prompts.push(prompt.iter().map(|segment| &*segment.text).collect());
        }
        let all = messages.iter();
        let back =
            all.map(|message| draft.recover(message.index).as_deref() == Some(message.original()));
        (prompts, back.collect())
    }

    fn turns() -> Vec<Json> {
        let turn = |n: usize| {
            let call =
                json!([{ "id": "c", "name": "look", "arguments": { "of": format!("K{n}") } }]);
            let found = json!({ "code": format!("K{n}"), "price": 100 + n }).to_string();
            [
                json!({ "role": "user", "content": format!("What is K{n}?") }),
                json!({ "role": "assistant", "content": null, "tool_calls": call }),
                json!({ "role": "tool", "tool_call_id": "c", "content": found }),
                json!({ "role": "assistant", "content": format!("K{n} costs {}.", 100 + n) }),
            ]
        };
        (10..40).flat_map(turn).collect()
    }

    #[test]
    fn the_context_stays_within_the_budget_and_begins_as_before() {
        let (prompts, back) = played(&turns());
        let ContextLimits { hot, warm, .. } = ContextLimits::DRAFT;
        let most = prompts.iter().map(|prompt| Bpe::default().count(prompt));
        assert!(most.max().unwrap() <= (hot + warm) as usize);
        assert_eq!(prompts[0].matches("K10").count(), 1);
        let last = prompts.last().unwrap();
        assert!(last.contains("K39") && last.contains("139"), "{last}");
        let shared = |(one, other): (&String, &String)| {
            one.bytes()
                .zip(other.bytes())
                .take_while(|(a, b)| a == b)
                .count()
        };
        let before = &prompts[prompts.len() - 2];
        assert!(shared((before, last)) > last.len() / 2, "{before}\n{last}");
        assert!(back.iter().all(|&back| back));
    }

    /// Texts, lists and arguments that are too large for a frame are not lost.
    #[test]
    fn nothing_is_lost_that_is_too_large_for_a_frame() {
        let wide: serde_json::Map<_, _> = (0..400).map(|n| (format!("k{n}"), json!(n))).collect();
        let call = json!([{ "id": "c", "name": "store", "arguments": wide }]);
        let rows = json!((0..5000).map(|n| json!({ "n": n })).collect::<Vec<_>>());
        let deep = (0..100).fold(json!("core"), |inner, _| json!([inner]));
        let messages = [
            json!({ "role": "system", "content": "Be brief." }),
            json!({ "role": "user", "content": "word ".repeat(50_000) }),
            json!({ "role": "assistant", "content": "", "tool_calls": call }),
            json!({ "role": "tool", "tool_call_id": "c", "content": rows.to_string() }),
            json!({ "role": "tool", "tool_call_id": "c", "content": deep.to_string() }),
            json!({ "role": "assistant", "content": null }),
            json!({ "role": "agent", "name": "not an id", "content": "$cold.k1_1 \u{0}é" }),
        ];
        let (prompts, back) = played(&messages);
        assert_eq!(back, [true; 7]);
        assert!(prompts[0].contains("Be brief."));
        assert!(!prompts[1].contains("word word"), "{}", prompts[1]);
    }
}
