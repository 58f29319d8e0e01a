//! Makes the list that one agent of a recorded conversation has, and notes its length before each message of the agent.

use std::collections::BTreeSet;
use std::sync::Arc;

use accp_context::Recorded;
use accp_memory::policy::Message as Plain;
use accp_memory::{Form, MessageList, check};
use accp_recordings::{Conversation, Format};
use serde_json::{Map, Value as Json, json};

use crate::Result;

/// The list of one agent, from its first message to its last.
#[derive(Debug, Clone)]
pub(crate) struct Talk {
    /// The conversation, and the agent.
    pub(crate) id: String,
    pub(crate) form: Form,
    /// The system prompt, in forms that have it outside the list.
    pub(crate) system: Option<String>,
    pub(crate) messages: Vec<Arc<str>>,
    /// How many messages the list has before each message of the agent.
    pub(crate) steps: Vec<usize>,
}

/// The list of an agent in OpenAI's chat, before it gets its form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chat {
    pub(crate) id: String,
    pub(crate) messages: Vec<Json>,
    pub(crate) steps: Vec<usize>,
}

impl Talk {
    /// Gives a list its form.
    ///
    /// # Errors
    /// When the form cannot express a message, or the list breaks a rule of the form.
    pub(crate) fn of(chat: &Chat, form: Form) -> Result<Self> {
        let mut talk = Self {
            id: chat.id.clone(),
            form,
            system: None,
            messages: Vec::new(),
            steps: chat.steps.clone(),
        };
        if form == Form::OpenAi {
            talk.messages = texts(&chat.messages);
        } else {
            talk.written(chat)?;
        }
        let last = talk.steps.last().copied().unwrap_or_default();
        let faults = check(&talk.list(talk.messages[..last].iter())?);
        match faults.first() {
            None => Ok(talk),
            Some(fault) => Err(fault.code.as_str().to_owned()),
        }
    }

    /// Lets the writer of accp-recordings write the messages in this form. The writer gives each call an id of its
    /// own.
    fn written(&mut self, chat: &Chat) -> Result<()> {
        let format = if self.form == Form::Anthropic {
            Format::Anthropic
        } else {
            Format::Responses
        };
        let all: Vec<Json> = chat
            .messages
            .iter()
            .enumerate()
            .map(|(at, message)| plain(at, message, self.form))
            .collect();
        let (whole, system) = document(&all, format, self.form)?;
        let mut ends = Vec::new();
        let mut end = 0;
        let mut from = 0;
        for step in &chat.steps {
            // System prompts at the beginning are kept outside the list. So a first step that has
            // only such prompts adds nothing to the list.
            let is_beside = all[from..*step].iter().all(|one| one["role"] == "system");
            if *step > from && !(from == 0 && is_beside) {
                end += document(&all[from..*step], format, self.form)?.0.len();
            }
            from = *step;
            ends.push(end);
        }
        self.messages = texts(&whole);
        self.system = system;
        ends.retain(|end| *end > 0);
        self.steps = ends;
        Ok(())
    }

    /// Returns a list of these messages. If there is a system prompt outside the list, the list is that of a request.
    ///
    /// # Errors
    /// When they are not messages.
    pub(crate) fn list<'m>(
        &self,
        messages: impl Iterator<Item = &'m Arc<str>>,
    ) -> Result<MessageList> {
        let messages: Vec<&str> = messages.map(|message| &**message).collect();
        let Some(system) = &self.system else {
            return MessageList::of(self.form, messages).map_err(|fault| fault.to_string());
        };
        let (beside, list) = match self.form {
            Form::Responses => ("instructions", "input"),
            _ => ("system", "messages"),
        };
        let body = format!(
            "{{\"{beside}\":{system},\"{list}\":[{}]}}",
            messages.join(",")
        );
        MessageList::read(&body, Some(self.form)).map_err(|fault| fault.to_string())
    }
}

/// Writes the messages of a chat in this form. Returns the messages, and the system prompt outside the list.
fn document(messages: &[Json], format: Format, form: Form) -> Result<(Vec<Json>, Option<String>)> {
    let recorded = Conversation::read(json!({ "messages": messages }), Format::OpenAi);
    let recorded = recorded.map_err(|error| error.to_string())?;
    let document = recorded
        .written(format)
        .map_err(|error| error.to_string())?;
    let (beside, list) = match form {
        Form::Responses => ("instructions", "input"),
        _ => ("system", "messages"),
    };
    let mut all = document[list].as_array().cloned().unwrap_or_default();
    all.iter_mut().for_each(easy);
    Ok((all, document.get(beside).map(Json::to_string)))
}

/// If the content of an item is only one text of the model, replaces the content by this text. In the long form, an
/// item of the model needs the provider's ids.
fn easy(item: &mut Json) {
    let parts = item["content"].as_array().map(Vec::as_slice);
    let text = match parts {
        Some([only]) if only["type"] == "output_text" => only["text"].clone(),
        _ => return,
    };
    item["content"] = text;
}

/// Returns a message without the name of its speaker. For Anthropic, a later system message becomes a message of the
/// user, and texts lose white space at their end.
fn plain(at: usize, message: &Json, form: Form) -> Json {
    let mut message = message.clone();
    if let Some(map) = message.as_object_mut() {
        map.shift_remove("name");
        if at > 0 && form == Form::Anthropic && map["role"] == "system" {
            map.insert("role".to_owned(), "user".into());
        }
        // Anthropic refuses a list whose last text ends with white space, so each text is trimmed.
        if let Some(Json::String(text)) = map.get_mut("content")
            && form == Form::Anthropic
        {
            text.truncate(text.trim_end().len());
        }
    }
    message
}

fn texts(messages: &[Json]) -> Vec<Arc<str>> {
    messages
        .iter()
        .map(|message| Arc::from(message.to_string()))
        .collect()
}

/// Returns the list of each agent of a conversation.
pub(crate) fn chats(conversation: &Conversation, place: &str) -> Vec<Chat> {
    let id = conversation
        .id()
        .map_or_else(|| place.to_owned(), Into::into);
    let all: Vec<Recorded<'_>> = conversation.messages().collect();
    let mut names: Vec<&str> = Vec::new();
    for name in all.iter().filter_map(|said| agent(*said)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |name: &&str| chat(&all, name, format!("{id} {name}"));
    names
        .iter()
        .map(of)
        .filter(|chat| !chat.steps.is_empty())
        .collect()
}

/// Returns the name of the agent that speaks, if one does.
fn agent(said: Recorded<'_>) -> Option<&str> {
    let role = said
        .role()
        .filter(|role| matches!(*role, "assistant" | "agent"))?;
    Some(said.name().unwrap_or(role))
}

/// Returns the list of one agent. Its own messages have the role `assistant`, and results of its calls the role `tool`.
/// Messages of other speakers have the role `user`, except system messages.
fn chat(all: &[Recorded<'_>], name: &str, id: String) -> Chat {
    let mut chat = Chat {
        id,
        ..Chat::default()
    };
    let is_read = |(_, said): &(usize, &Recorded<'_>)| {
        said.role() != Some("system") || said.name().is_none_or(|only| only == name)
    };
    let read: Vec<_> = all.iter().enumerate().filter(is_read).collect();
    let mut answers: BTreeSet<&str> = BTreeSet::new();
    for (place, (index, said)) in read.iter().enumerate() {
        let is_own = agent(**said) == Some(name);
        if is_own && !chat.messages.is_empty() {
            chat.steps.push(chat.messages.len());
        }
        let message = if is_own {
            answers = answered(**said, read[place + 1..].iter().map(|(_, said)| **said));
            own(*index, **said, !answers.is_empty())
        } else if let Some(call) = said
            .call_id()
            .filter(|id| said.is_result() && answers.remove(id))
        {
            json!({ "role": "tool", "tool_call_id": call, "content": said.texts().join("\n") })
        } else {
            answers.clear();
            others(*index, **said)
        };
        chat.messages.push(message);
    }
    chat
}

/// Returns the ids of a message's calls if the results of all calls follow at once, or if no result follows at once.
fn answered<'r>(
    said: Recorded<'r>,
    behind: impl Iterator<Item = Recorded<'r>>,
) -> BTreeSet<&'r str> {
    let asked: Vec<_> = said.calls().map(accp_context::Call::id).collect();
    let ids: BTreeSet<&str> = asked.iter().copied().flatten().collect();
    let results = behind.take_while(|said| said.is_result()).take(asked.len());
    let given: Vec<_> = results.map(accp_context::Recorded::call_id).collect();
    let found: BTreeSet<&str> = given.iter().copied().flatten().collect();
    let whole = found == ids || given.is_empty();
    if ids.len() == asked.len() && whole {
        ids
    } else {
        BTreeSet::new()
    }
}

fn own(index: usize, said: Recorded<'_>, calls: bool) -> Json {
    if !calls {
        return json!({ "role": "assistant", "content": text(index, said) });
    }
    let call = |call: accp_context::Call<'_>| {
        let arguments = match call.recorded_arguments() {
            Some(Json::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => "{}".to_owned(),
        };
        json!({ "id": call.id(), "type": "function", "function": { "name": call.tool(), "arguments": arguments } })
    };
    let words = said.texts().join("\n");
    let content = if words.is_empty() {
        Json::Null
    } else {
        words.into()
    };
    json!({ "role": "assistant", "content": content, "tool_calls": said.calls().map(call).collect::<Vec<_>>() })
}

/// Returns a message of another speaker. Its calls become words, because the other speaker has their results.
fn others(index: usize, said: Recorded<'_>) -> Json {
    let mut map = Map::new();
    let role = if said.role() == Some("system") {
        "system"
    } else {
        "user"
    };
    map.insert("role".to_owned(), role.into());
    let name: String = said
        .name()
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if role == "user" && !name.is_empty() {
        map.insert("name".to_owned(), name.into());
    }
    map.insert("content".to_owned(), text(index, said).into());
    Json::Object(map)
}

/// Returns the words of a message and its calls. Providers take no blank text.
fn text(index: usize, said: Recorded<'_>) -> String {
    let plain = Plain::new(index, said)
        .map(|plain| plain.plain())
        .unwrap_or_default();
    if plain.trim().is_empty() {
        "(nothing)".to_owned()
    } else {
        plain
    }
}
