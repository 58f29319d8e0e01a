//! The tiers as a policy, so that the lab can measure them on recorded conversations.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::policy::{self, Agent, Kind as SegmentKind, Opening, Policy, Segment};
use accp_context::Recorded;
use serde_json::Value as Json;
use time::{Duration, OffsetDateTime};

use crate::check::broken;
use crate::form::Form;
use crate::list::MessageList;
use crate::message::Role;
use crate::names::SessionId;
use crate::plan::{self, FileLookup};
use crate::policies::Views;
use crate::policies::chat::as_chat;
use crate::session::{ListSession, Slot, SlotKind};
use crate::summarizer::Summarizer;
use crate::window::Window;

/// The form of names that [`plan`] takes, for people.
pub const FORM: &str = "\
ctx:WINDOW,stress,views         CTX-001: lists of OpenAI chat inside a window of WINDOW tokens (8192 when left
                                out); with `stress` all tiers act from 25 % on; with `views` the summary
                                shows the newest messages that left, too";

/// The window of `ctx` if the name has no number.
const WINDOW: u64 = 8_192;

/// Returns the policy of this name: `ctx`, `ctx:4096`, `ctx:4096,stress,views`. `None` for another name.
///
/// ```
/// assert_eq!(accp_memory::policies::ctx::plan("ctx:4096,stress").unwrap().name, "ctx:4096,stress");
/// assert!(accp_memory::policies::ctx::plan("ctx:0").is_none());
/// ```
pub fn plan(name: &str) -> Option<policy::NamedPolicy> {
    let Options {
        size,
        stress,
        views,
    } = options(name)?;
    let window = Window::of(size).ok()?.with_stress(stress);
    let doc = format!(
        "lists inside a window of {size} tokens: files, cut inputs, a summary{}{}",
        if views { " with views" } else { "" },
        if stress {
            "; all tiers from 25 % on"
        } else {
            ""
        }
    );
    Some(policy::NamedPolicy::new(name, doc, move |opening| Ctx {
        opening: opening.clone(),
        window: window.clone(),
        summarizer: if views {
            Box::new(Views::new(Arc::clone(&opening.counter)))
        } else {
            Box::new(())
        },
        messages: Vec::new(),
        agents: BTreeMap::new(),
    }))
}

/// Returns the window of a policy of this module, in tokens; `None` for another name.
///
/// ```
/// assert_eq!(accp_memory::policies::ctx::window("ctx:4096,stress"), Some(4096));
/// assert_eq!(accp_memory::policies::ctx::window("last:10"), None);
/// ```
pub fn window(name: &str) -> Option<u64> {
    options(name).map(|options| options.size)
}

/// The options in the name of a policy.
#[derive(Debug, Clone, Copy)]
struct Options {
    size: u64,
    stress: bool,
    views: bool,
}

/// Reads the options in the name of a policy.
fn options(name: &str) -> Option<Options> {
    let given = name.strip_prefix("ctx")?;
    let mut options = Options {
        size: WINDOW,
        stress: false,
        views: false,
    };
    if given.is_empty() {
        return Some(options);
    }
    let mut words = given.strip_prefix(':')?.split(',');
    options.size = words.next()?.parse().ok()?;
    for word in words {
        match word {
            "stress" => options.stress = true,
            "views" => options.views = true,
            _ => return None,
        }
    }
    Some(options)
}

/// Returns whether a provider of OpenAI chat refuses a prompt. Each text is one message of the prompt. `None` if a
/// text is not a message, or there are no texts.
///
/// Recordings have other roles too. A message with the role `agent` counts as the assistant's if the given agent said
/// it, and otherwise as the user's. A result that names no call counts as the user's.
///
/// ```
/// use accp_memory::policies::ctx::refuses;
///
/// let asked = r#"{"role":"user","content":"Rye?"}"#;
/// let result = r#"{"role":"tool","tool_call_id":"c1","content":"4 bags"}"#;
/// assert_eq!(refuses("assistant", [asked]), Some(false));
/// assert_eq!(refuses("assistant", [asked, result]), Some(true));
/// assert_eq!(refuses("assistant", ["user: Rye?"]), None);
/// ```
pub fn refuses<'t>(agent: &str, texts: impl IntoIterator<Item = &'t str>) -> Option<bool> {
    let mut foreign = BTreeSet::new();
    let chat = texts
        .into_iter()
        .map(|text| in_chat(text, agent, &mut foreign));
    let chat: Vec<_> = chat.collect::<Option<_>>()?;
    if chat.is_empty() {
        return None;
    }
    let list = MessageList::of(Form::OpenAi, chat.iter().map(|text| &**text)).ok()?;
    Some(!broken(&list).is_empty())
}

/// Returns a message with a role of OpenAI chat; `None` for a text that is not a message.
fn in_chat<'t>(text: &'t str, agent: &str, foreign: &mut BTreeSet<String>) -> Option<Cow<'t, str>> {
    let json: Json = serde_json::from_str(text).ok()?;
    if !matches!(json.get("role")?.as_str()?, "agent" | "tool") {
        return Some(Cow::Borrowed(text));
    }
    let message = policy::Message::new(0, Recorded::of(&json))?;
    let chat = as_chat(&message, agent, foreign);
    Some(Cow::Owned(Json::Object(chat).to_string()))
}

/// One conversation, with the list of each of its agents.
struct Ctx {
    opening: Opening,
    window: Window,
    summarizer: Box<dyn Summarizer>,
    messages: Vec<policy::Message>,
    agents: BTreeMap<Arc<str>, AgentList>,
}

/// The list of one agent.
struct AgentList {
    session: ListSession,
    /// How many messages of the conversation the agent has read.
    read: usize,
    /// The indices of the conversation's messages that are in the agent's list.
    indices: Vec<usize>,
    /// The calls of other agents.
    foreign: BTreeSet<String>,
    files: Files,
}

/// The names of the files that plans have made. No file is written.
#[derive(Default)]
struct Files(RefCell<BTreeSet<String>>);

impl FileLookup for Files {
    fn is_taken(&self, path: &str) -> bool {
        self.0.borrow().contains(path)
    }

    fn written(&self, _: &str) -> Option<String> {
        None
    }
}

impl Policy for Ctx {
    fn push(&mut self, message: &policy::Message) {
        self.messages.push(message.clone());
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let held = self
            .agents
            .entry(Arc::clone(&agent.name))
            .or_insert_with(AgentList::new);
        let mut given: Vec<String> = held
            .session
            .slots
            .iter()
            .map(|slot| slot.message.raw().to_owned())
            .collect();
        for message in &self.messages[held.read..] {
            if message.is_for(&agent.name) {
                held.indices.push(message.index);
                let chat = as_chat(message, &agent.name, &mut held.foreign);
                given.push(Json::Object(chat).to_string());
            }
        }
        held.read = self.messages.len();
        let list = MessageList::of(Form::OpenAi, given.iter().map(String::as_str));
        let list = list.map(|list| match &self.opening.tools {
            Some(tools) => list.with_beside(tools.to_string()),
            None => list,
        });
        let now =
            OffsetDateTime::UNIX_EPOCH + Duration::seconds(i64::try_from(held.read).unwrap_or(0));
        let options = plan::Options {
            summarizer: &*self.summarizer,
            ..plan::Options::new(&self.window, &*self.opening.counter, now)
        };
        let planned = list.ok().and_then(|list| {
            held.session
                .plan(&list, &options, &held.files, &mut ())
                .ok()
        });
        let slots = match planned {
            Some(plan) => {
                let made = plan.files.iter().map(|file| file.path.clone());
                held.files.0.borrow_mut().extend(made);
                held.session.apply(&plan);
                held.session.slots.clone()
            }
            // The session refuses the list, for example because no list fits the window. The
            // segments show the list that would have been sent.
            None => held.refused(&given),
        };
        let tools = Segment::tools(&self.opening);
        let shown = slots.iter().map(|slot| segment(slot, &held.indices));
        tools.into_iter().chain(shown).collect()
    }

    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        let message = self.messages.get(index)?;
        let holds = |held: &AgentList| {
            let at = held.indices.iter().position(|known| *known == index);
            at.is_some_and(|at| at < held.session.originals.len())
        };
        let is_read = self.agents.values().any(holds);
        // A message that no agent has read yet is whole in the next list.
        let is_next = self.agents.values().all(|held| index >= held.read);
        (is_read || is_next).then(|| Cow::Borrowed(message.original()))
    }

    fn is_list(&self) -> bool {
        true
    }
}

impl AgentList {
    fn new() -> Self {
        let id = SessionId::named("measured");
        Self {
            session: ListSession::new(id, Form::OpenAi),
            read: 0,
            indices: Vec::new(),
            foreign: BTreeSet::new(),
            files: Files::default(),
        }
    }

    /// Returns the refused list, and keeps its new messages for the next list.
    fn refused(&mut self, given: &[String]) -> Vec<Slot> {
        let known = self.session.slots.len();
        let first = self.session.originals.len();
        let new = MessageList::of(Form::OpenAi, given[known..].iter().map(String::as_str));
        let new = new.map(|list| list.messages().to_vec()).unwrap_or_default();
        for (at, message) in new.into_iter().enumerate() {
            self.session.originals.push(message.clone());
            self.session.slots.push(Slot::original(first + at, message));
        }
        self.session.slots.clone()
    }
}

/// Returns the part of a prompt that shows a message of the list.
fn segment(slot: &Slot, indices: &[usize]) -> Segment {
    let kind = match (slot.kind, slot.message.role) {
        (SlotKind::Summary | SlotKind::Recovered, _) => SegmentKind::Facts,
        (_, Role::System) => SegmentKind::System,
        (_, Role::Tool) => SegmentKind::Result,
        (_, Role::User) => SegmentKind::User,
        _ if !slot.message.calls.is_empty() => SegmentKind::Call,
        _ => SegmentKind::Agent,
    };
    let shows_one = matches!(slot.kind, SlotKind::Original | SlotKind::Cut);
    let index = slot.covers.first().filter(|_| shows_one);
    Segment {
        message: index.and_then(|range| indices.get(range.start)).copied(),
        ..Segment::new(kind, slot.message.line())
    }
}

#[cfg(test)]
mod tests {
    use super::refuses;

    const TASK: &str = r#"{"role":"user","content":"Rye?"}"#;
    const CALL: &str = r#"{"role":"agent","name":"desk","content":null,"tool_calls":[{"id":"c1","name":"stock","arguments":{}}]}"#;
    const RESULT: &str = r#"{"role":"tool","tool_call_id":"c1","content":"4 bags"}"#;

    #[test]
    fn roles_of_recordings_are_read_as_the_agent_has_them() {
        assert_eq!(refuses("desk", [TASK, CALL, RESULT]), Some(false));
        // For this agent, another agent's call and its result are messages of the user.
        assert_eq!(refuses("clerk", [TASK, CALL, RESULT]), Some(false));
        let seen = r#"{"role":"tool","name":"bash","content":"4 bags"}"#;
        assert_eq!(refuses("desk", [TASK, seen]), Some(false));
        // A result that lost the id of its call leaves the call without a result.
        let lost = r#"{"role":"tool","content":"4 bags"}"#;
        assert_eq!(refuses("desk", [TASK, CALL, lost, TASK]), Some(true));
    }

    #[test]
    fn a_list_that_forgets_half_of_a_pair_is_refused() {
        assert_eq!(refuses("desk", [TASK, RESULT]), Some(true));
        assert_eq!(refuses("desk", [TASK, CALL, TASK]), Some(true));
        // A call in flight is allowed.
        assert_eq!(refuses("desk", [TASK, CALL]), Some(false));
        assert_eq!(refuses("desk", []), None);
        assert_eq!(refuses("desk", ["4 bags", TASK]), None);
    }
}
