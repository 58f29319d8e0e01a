//! A list of messages, as a program holds it for the API of a provider.

use std::ops::Range;

use accp_frame::TokenCounter;
use accp_recordings::{Conversation, LoneSurrogates, NotConversation, read_json};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::finding::{Code, Finding};
use crate::form::Form;
use crate::message::ListMessage;
use crate::raw::{Pointer, compact, unescaped};

/// The cure for a document that is not a list.
const CURE: &str = "give a JSON array of messages, or a request that has one";

/// A list of messages in one of three forms, alone or in the body of a request.
///
/// A message, and any other member of a request, keeps its text: what is written has exactly the bytes that were
/// read.
///
/// ```
/// use accp_memory::{Form, MessageList};
///
/// let body = r#"{ "model": "m", "messages": [ {"role": "user", "content": "Rye?"} ] }"#;
/// let list = MessageList::read(body, None)?;
/// assert_eq!((list.form(), list.messages().len()), (Form::OpenAi, 1));
/// assert_eq!(list.to_string(), r#"{ "model": "m", "messages": [{"role": "user", "content": "Rye?"}] }"#);
///
/// let refused = MessageList::read(r#"{ "model": "m" }"#, None).unwrap_err();
/// assert_eq!(refused.code.as_str(), "not-a-list");
/// # Ok::<(), accp_memory::Finding>(())
/// ```
#[derive(Debug, Clone)]
pub struct MessageList {
    form: Form,
    messages: Vec<ListMessage>,
    body: Option<Body>,
}

/// The body of a request, and where its list stands.
#[derive(Debug, Clone)]
struct Body {
    text: String,
    list: Range<usize>,
    /// What a model reads outside the list, each as a line of compact JSON.
    beside: Vec<String>,
    /// The request without its list.
    request: Json,
    /// Whether the provider has earlier items, which the list does not show.
    goes_on: bool,
    /// The places of the lone surrogates outside the list.
    lone: Vec<String>,
}

impl MessageList {
    /// Reads a list, or the body of a request with a list. The form is recognised by the content unless it is
    /// given.
    ///
    /// # Errors
    /// `not-a-list`, with the place.
    pub fn read(text: &str, form: Option<Form>) -> Result<Self, Finding> {
        let (json, lone) = read_json(text.as_bytes())
            .map_err(|error| Finding::of_list(Code::NotAList, refused(&error)))?;
        let form = match form {
            Some(form) => form,
            None => recognised(&json)?,
        };
        let keys = form.keys();
        let (place, is_body) = match &json {
            Json::Array(_) => (Pointer::default(), false),
            Json::Object(map) => {
                let key = keys
                    .iter()
                    .find(|key| map.get(**key).is_some_and(Json::is_array));
                let key = key.ok_or_else(|| {
                    let keys = keys.join("` or `");
                    let text = format!("expected a request with an array `{keys}`; {CURE}");
                    Finding::of_list(Code::NotAList, text)
                })?;
                (Pointer::of([(*key).into()]), true)
            }
            other => {
                let found = crate::message::kind(other);
                let text =
                    format!("expected an array of messages or a request, found {found}; {CURE}");
                return Err(Finding::of_list(Code::NotAList, text));
            }
        };
        let unreadable =
            || Finding::of_list(Code::NotAList, "the list cannot be found in its text");
        let list = place.range(text).ok_or_else(unreadable)?;
        let raws: Vec<&RawValue> =
            serde_json::from_str(&text[list.clone()]).map_err(|_| unreadable())?;
        let messages = raws.iter().enumerate();
        let messages = messages.map(|(index, raw)| ListMessage::read(form, index, raw.get()));
        let messages = messages.collect::<Result<_, _>>()?;
        let beside = |key: &&'static str| {
            let place = Pointer::of([(*key).into()]);
            let value = json.get(*key).filter(|value| !value.is_null());
            let range = value.and_then(|_| place.range(text))?;
            Some(format!("{}\n", unescaped(&compact(&text[range]))))
        };
        let body = is_body.then(|| Body {
            lone: lone_beside(&lone, place.key().unwrap_or_default()),
            beside: form.beside().iter().filter_map(beside).collect(),
            request: without(&json, keys),
            goes_on: ["previous_response_id", "conversation"]
                .iter()
                .any(|key| json.get(*key).is_some_and(|value| !value.is_null())),
            text: text.to_owned(),
            list,
        });
        Ok(Self {
            form,
            messages,
            body,
        })
    }

    /// Makes a list of the texts of messages.
    ///
    /// # Errors
    /// `not-a-list`, when a text is not a JSON object.
    pub fn of<'r>(form: Form, raws: impl IntoIterator<Item = &'r str>) -> Result<Self, Finding> {
        let messages = raws.into_iter().enumerate();
        let messages = messages.map(|(index, raw)| ListMessage::read(form, index, raw));
        Ok(Self {
            form,
            messages: messages.collect::<Result<_, _>>()?,
            body: None,
        })
    }

    /// Makes a list of messages that were read.
    pub(crate) fn of_messages(form: Form, messages: Vec<ListMessage>) -> Self {
        Self {
            form,
            messages,
            body: None,
        }
    }

    /// Adds a line that a model reads outside the list: the schemas of tools.
    pub(crate) fn with_beside(self, line: String) -> Self {
        let body = Body {
            text: String::new(),
            list: 0..0,
            request: serde_json::json!({
                "tools": read_json(line.as_bytes()).map_or(Json::Null, |(tools, _)| tools),
            }),
            beside: vec![line],
            goes_on: false,
            lone: Vec::new(),
        };
        Self {
            body: Some(body),
            ..self
        }
    }

    /// Returns the form.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns the messages.
    pub fn messages(&self) -> &[ListMessage] {
        &self.messages
    }

    /// Returns the list with other messages of its form. The rest of the request stays as it is. A program can use
    /// this for a list that has grown: the messages that were already read need not be read again.
    ///
    /// ```
    /// use accp_memory::{Form, MessageList};
    ///
    /// let list = MessageList::read(r#"[{"role":"user","content":"Rye?"}]"#, None)?;
    /// let more = MessageList::of(Form::OpenAi, [r#"{"role":"assistant","content":"Four."}"#])?;
    /// let grown = list.with([list.messages(), more.messages()].concat());
    /// assert_eq!(grown.messages().len(), 2);
    /// # Ok::<(), accp_memory::Finding>(())
    /// ```
    #[must_use]
    pub fn with(&self, messages: Vec<ListMessage>) -> Self {
        Self {
            form: self.form,
            messages,
            body: self.body.clone(),
        }
    }

    /// Returns the places of the lone surrogates outside the list.
    pub(crate) fn lone_beside(&self) -> &[String] {
        self.body.as_ref().map_or(&[], |body| &body.lone)
    }

    /// Returns the tools of the request with their schemas; null if there are none.
    pub(crate) fn tools(&self) -> &Json {
        &self.request()["tools"]
    }

    /// Returns the request without its list; null if the list stands alone.
    pub(crate) fn request(&self) -> &Json {
        self.body.as_ref().map_or(&Json::Null, |body| &body.request)
    }

    /// Returns the text of a value in the request, as it was written; `None` if the list stands alone.
    pub(crate) fn raw_beside(&self, place: &Pointer) -> Option<&str> {
        let text = &self.body.as_ref()?.text;
        text.get(place.range(text)?)
    }

    /// Returns whether the provider has earlier items, which the list does not show.
    pub(crate) fn goes_on(&self) -> bool {
        self.body.as_ref().is_some_and(|body| body.goes_on)
    }

    /// Returns what a model reads outside the list, each as a line of compact JSON.
    pub(crate) fn beside_lines(&self) -> &[String] {
        self.body.as_ref().map_or(&[], |body| &body.beside)
    }

    /// Returns the number of tokens that a model reads outside the list: the system prompt and the schemas of tools,
    /// each as a line of compact JSON.
    pub(crate) fn beside(&self, counter: &dyn TokenCounter) -> u64 {
        let lines = self.beside_lines().iter();
        lines.map(|line| counter.count(line) as u64).sum()
    }
}

/// Returns the places of the lone surrogates outside the list. `key` is the member of the request that has the list.
fn lone_beside(lone: &LoneSurrogates, key: &str) -> Vec<String> {
    let is_beside = |place: &&str| {
        let inside = place
            .strip_prefix('/')
            .and_then(|place| place.strip_prefix(key));
        !inside.is_some_and(|inside| inside.starts_with('/'))
    };
    lone.places().filter(is_beside).map(str::to_owned).collect()
}

/// Returns a request without its list.
fn without(json: &Json, keys: &[&str]) -> Json {
    let members = json.as_object().into_iter().flatten();
    let members = members.filter(|(key, _)| !keys.contains(&key.as_str()));
    Json::Object(
        members
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

/// Says why a text cannot be read, with the cure.
fn refused(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if error.is_data() {
        // The JSON is valid, but breaks a rule of the reader, such as a repeated member. The error names the cure.
        text
    } else if text.starts_with("number out of range") {
        format!("{text}; a number may be up to 1.8e308: write a smaller number, or a text")
    } else if text.starts_with("recursion limit") {
        format!("{text}; JSON is read to a depth of 127: write what is deeper as a text")
    } else {
        format!("expected JSON: {text}; {CURE}")
    }
}

/// Returns the fault of a document that is not a conversation.
fn unrecognised(json: &Json, error: &NotConversation) -> Finding {
    let (at, text) = match error {
        NotConversation::Messages(found) => (
            None,
            format!(
                "expected messages in one of the forms openai, anthropic and responses, found {found}; {CURE}"
            ),
        ),
        NotConversation::Message(at, found) => (
            Some(*at),
            format!("expected an object with a role or a type, found {found}; {CURE}"),
        ),
        NotConversation::Part { pointer, .. } => {
            let at = pointer.split('/').find_map(|step| step.parse().ok());
            (at, format!("{error}; {CURE}"))
        }
        NotConversation::Several(found) => (
            mixed(json),
            format!(
                "the list could be of several forms: {found}; name the right one with `--messages`"
            ),
        ),
        error => (None, error.to_string()),
    };
    Finding {
        message: at,
        ..Finding::of_list(Code::NotAList, text)
    }
}

/// Returns the index of the first message with which a list has the marks of several forms.
fn mixed(json: &Json) -> Option<usize> {
    let list = match json {
        Json::Array(list) => list,
        request => ["messages", "input"]
            .iter()
            .find_map(|key| request[*key].as_array())?,
    };
    let is_mixed = |end: usize| {
        let part = Json::Array(list.iter().take(end).cloned().collect());
        matches!(Conversation::new(part), Err(NotConversation::Several(_)))
    };
    // If a part of the list is mixed, every longer part is mixed too. So bisection finds the
    // message that makes the list mixed.
    let (mut clear, mut known) = (0, list.len());
    if !is_mixed(known) {
        return None;
    }
    while known - clear > 1 {
        let middle = clear.midpoint(known);
        if is_mixed(middle) {
            known = middle;
        } else {
            clear = middle;
        }
    }
    known.checked_sub(1)
}

/// Recognises the form of a document.
fn recognised(json: &Json) -> Result<Form, Finding> {
    let conversation =
        Conversation::new(json.clone()).map_err(|error| unrecognised(json, &error))?;
    let format = conversation.format();
    Form::of(format).ok_or_else(|| {
        let text = format!(
            "found a recording in the format {format}; expected the list of a request: openai, \
             anthropic or responses (`accp convert` writes recordings in these)"
        );
        Finding::of_list(Code::NotAList, text)
    })
}

impl std::fmt::Display for MessageList {
    /// Writes the list, or the request with the list.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (before, after) = match &self.body {
            Some(body) => (&body.text[..body.list.start], &body.text[body.list.end..]),
            None => ("", ""),
        };
        f.write_str(before)?;
        f.write_str("[")?;
        for (index, message) in self.messages.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            f.write_str(message.raw())?;
        }
        f.write_str("]")?;
        f.write_str(after)
    }
}
