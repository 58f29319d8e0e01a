//! Tools with which a model finds what left its list: `context_read`, `context_recover`, `context_status`.
//!
//! A program gives the [definitions](Tool::definition) to its model, together with the definitions of its own tools.
//! The program passes the model's calls of these tools to [`call`].

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::context::Context;
use super::error::ContextError;
use super::index::{Filter, Hit, Index, IndexError, Skipped};
use super::read::{ReadError, is_below, read};
use crate::form::Form;
use crate::message::kind;
use crate::names::SessionId;

/// The most characters of a text that a tool returns at once: about 2,000 tokens, so that no answer fills a window.
const MOST: usize = 8_000;
/// The most sections that a search returns.
const SECTIONS: usize = 10;

/// A tool for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// `context_read`: lines of a file.
    Read,
    /// `context_recover`: a search in what left the list.
    Recover,
    /// `context_status`: how full the window is.
    Status,
}

/// What a tool returns: the same in words and as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// For the model.
    pub text: String,
    /// For programs.
    pub json: Json,
}

/// Why a tool has no answer. The text is meant for the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// There is no tool of this name.
    #[error(
        "there is no tool `{0}`; the tools are context_read, context_recover and context_status"
    )]
    Unknown(String),
    /// The arguments do not fit the schema.
    #[error("{tool}: {reason}; call it again with arguments that fit its schema")]
    Arguments {
        /// The name of the tool.
        tool: &'static str,
        /// What does not fit.
        reason: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The session cannot be used.
    #[error(transparent)]
    Context(#[from] ContextError),
}

impl Tool {
    /// All tools.
    pub const ALL: [Self; 3] = [Self::Read, Self::Recover, Self::Status];

    /// Returns the name. It begins with `context_`, because many agents have a tool `read` of their own.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "context_read",
            Self::Recover => "context_recover",
            Self::Status => "context_status",
        }
    }

    /// Returns the title, for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Read => "Read what left the list",
            Self::Recover => "Find what left the list",
            Self::Status => "Say how full the window is",
        }
    }

    /// Returns the description, for the model.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Read => {
                "Reads lines of a file below cache/ that holds what left this conversation: an offloaded result or \
                 the archive. References, the summary and context_recover name these files."
            }
            Self::Recover => {
                "Searches everything that was said in this conversation and is not in the list any more: messages, \
                 results of tools, inputs that were cut. Use it before you ask the user for something again, or call \
                 a tool again for what it said before. Returns the best sections, with file and lines for \
                 context_read."
            }
            Self::Status => {
                "Says how much of the context window is used, how many messages were said, and how often the list \
                 was compressed."
            }
        }
    }

    /// Returns the JSON Schema of the arguments.
    pub fn parameters(self) -> Json {
        let (properties, required): (Json, &[&str]) = match self {
            Self::Read => (
                json!({
                    "path": { "type": "string", "description": "The path, such as cache/offloaded/20260129_142530_search.md." },
                    "first": { "type": "integer", "minimum": 1, "description": "The first line; 1 by default." },
                    "last": { "type": "integer", "minimum": 1, "description": "The last line; the end of the file by default." },
                    "offset": { "type": "integer", "minimum": 0, "description": "Characters of these lines to pass over; 0 by default. A long text comes in parts, and each says where the next begins." },
                }),
                &["path"],
            ),
            Self::Recover => (
                json!({
                    "topic": { "type": "string", "description": "What to look for: words, names, numbers, identifiers; or one message, such as `message 12`." },
                    "exact": { "type": "boolean", "description": "True to look for the text as it is, and not for its words. False by default." },
                    "limit": { "type": "integer", "minimum": 1, "maximum": SECTIONS, "description": "The most sections; 3 by default." },
                    "path": { "type": "string", "description": "Only in this file or folder." },
                    "tool": { "type": "string", "description": "Only calls of the tool with this name, and its results." },
                    "from": { "type": "string", "format": "date-time", "description": "Only what was said from this time on, such as 2026-01-29T14:00:00Z." },
                    "to": { "type": "string", "format": "date-time", "description": "Only what was said up to this time." },
                }),
                &["topic"],
            ),
            Self::Status => (json!({}), &[]),
        };
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    /// Returns the definition in the form of an element of a request's `tools`.
    ///
    /// ```
    /// use accp_memory::Form;
    /// use accp_memory::disk::tools::Tool;
    ///
    /// let chat = Tool::Recover.definition(Form::OpenAi);
    /// assert_eq!(chat["function"]["parameters"]["required"][0], "topic");
    /// let anthropic = Tool::Recover.definition(Form::Anthropic);
    /// assert_eq!(anthropic["input_schema"], chat["function"]["parameters"]);
    /// ```
    pub fn definition(self, form: Form) -> Json {
        let (name, description, parameters) = (self.name(), self.description(), self.parameters());
        // Strict functions cannot have optional arguments, and Responses makes a function strict if `strict` is left
        // out.
        match form {
            Form::OpenAi => json!({
                "type": "function",
                "function": { "name": name, "description": description, "parameters": parameters, "strict": false },
            }),
            Form::Responses => json!({
                "type": "function", "name": name, "description": description, "parameters": parameters,
                "strict": false,
            }),
            Form::Anthropic => {
                json!({ "name": name, "description": description, "input_schema": parameters })
            }
        }
    }
}

/// Calls the tool with this name for a session below a root.
///
/// ```
/// use accp_memory::SessionId;
/// use accp_memory::disk::tools::call;
/// use serde_json::json;
///
/// # let root = tempfile::tempdir()?;
/// std::fs::create_dir_all(root.path().join("cache/offloaded"))?;
/// std::fs::write(root.path().join("cache/offloaded/a.md"), "rye\nspelt\noats\n")?;
/// let session = SessionId::new("trip")?;
/// let args = json!({ "path": "cache/offloaded/a.md", "first": 2, "last": 2 });
/// assert_eq!(call(root.path(), &session, "context_read", &args)?.text, "spelt");
///
/// let wrong = call(root.path(), &session, "context_read", &json!({ "file": "a.md" }));
/// assert!(wrong.unwrap_err().to_string().contains("unknown field `file`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When there is no such tool, the arguments do not fit, or the file, the index or the session cannot be read.
pub fn call(
    root: &Path,
    session: &SessionId,
    name: &str,
    arguments: &Json,
) -> Result<Answer, ToolError> {
    let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name);
    match tool.ok_or_else(|| ToolError::Unknown(name.to_owned()))? {
        Tool::Read => read_lines(root, session, &checked(Tool::Read, arguments)?),
        Tool::Recover => recover(root, session, &checked(Tool::Recover, arguments)?),
        Tool::Status => {
            let Nothing {} = checked(Tool::Status, arguments)?;
            status(root, session)
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArgs {
    path: String,
    first: Option<usize>,
    last: Option<usize>,
    offset: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecoverArgs {
    topic: String,
    exact: Option<bool>,
    limit: Option<usize>,
    path: Option<String>,
    tool: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

/// Reads the arguments of a tool.
fn checked<T: DeserializeOwned>(tool: Tool, arguments: &Json) -> Result<T, ToolError> {
    // A model may leave the arguments out where none are required.
    let none = json!({});
    let given = if arguments.is_null() {
        &none
    } else {
        arguments
    };
    if !given.is_object() {
        let reason = format!("the arguments are {}, and not an object", kind(given));
        return Err(wrong(tool, &reason));
    }
    T::deserialize(given).map_err(|error| wrong(tool, &error))
}

fn wrong(tool: Tool, reason: &impl ToString) -> ToolError {
    ToolError::Arguments {
        tool: tool.name(),
        reason: reason.to_string(),
    }
}

fn read_lines(root: &Path, session: &SessionId, args: &ReadArgs) -> Result<Answer, ToolError> {
    // A path that leads out of the cache is refused below, with another error.
    if is_below(&args.path) && !Context::open(root, session.clone())?.may_show(&args.path) {
        let path = args.path.clone();
        return Err(ReadError::Foreign { path }.into());
    }
    let (first, last) = (args.first.unwrap_or(1), args.last.unwrap_or(usize::MAX));
    let lines = read(root, &args.path, first..=last)?;
    let offset = args.offset.unwrap_or(0);
    let all = lines.text.chars().count();
    if offset > all {
        let reason = format!("`offset` is {offset}, and these lines have {all} characters");
        return Err(wrong(Tool::Read, &reason));
    }
    let part: String = lines.text.chars().skip(offset).take(MOST).collect();
    let next = offset + MOST;
    let next = (next < all).then_some(next);
    let more = next.map_or_else(String::new, |next| {
        let left = all - next;
        format!("\n[{left} characters follow; read them with `offset` {next}]")
    });
    Ok(Answer {
        text: format!("{part}{more}"),
        json: json!({
            "path": args.path,
            "first": first,
            "last": last.min(lines.of),
            "of": lines.of,
            "next": next,
            "text": part,
        }),
    })
}

fn recover(root: &Path, session: &SessionId, args: &RecoverArgs) -> Result<Answer, ToolError> {
    let limit = args.limit.unwrap_or(3);
    if !(1..=SECTIONS).contains(&limit) {
        let reason = format!("`limit` is {limit}, and goes from 1 to {SECTIONS}");
        return Err(wrong(Tool::Recover, &reason));
    }
    let time = |key: &str, text: &Option<String>| {
        let time = text
            .as_ref()
            .map(|text| OffsetDateTime::parse(text, &Rfc3339));
        time.transpose().map_err(|_| {
            let text = text.as_deref().unwrap_or_default();
            let reason =
                format!("`{key}` is `{text}`, and not a time such as 2026-01-29T14:00:00Z");
            wrong(Tool::Recover, &reason)
        })
    };
    let filter = Filter {
        path: args.path.clone(),
        tool: args.tool.clone(),
        from: time("from", &args.from)?,
        to: time("to", &args.to)?,
        ..Filter::default()
    };
    let search = Search {
        topic: &args.topic,
        exact: args.exact == Some(true),
        filter,
        limit,
    };
    let (mut hits, skipped) = search.run(root, session)?;
    let most = MOST / hits.len().max(1);
    for hit in &mut hits {
        hit.text = hit.excerpt(&args.topic, most);
    }
    let mut lines: Vec<_> = hits.iter().map(ToString::to_string).collect();
    if hits.is_empty() {
        let none = "Nothing was found. Try other words, or a part of the text with `exact`.";
        lines.push(none.to_owned());
    }
    lines.extend(
        skipped
            .iter()
            .map(|skipped| format!("Not searched: {skipped}")),
    );
    let skipped: Vec<_> = skipped.iter().map(ToString::to_string).collect();
    Ok(Answer {
        text: lines.join("\n").trim_end().to_owned(),
        json: json!({ "hits": hits, "skipped": skipped }),
    })
}

/// A search in what left the list of a session.
#[derive(Debug, Clone)]
pub struct Search<'s> {
    /// The text to look for. `message 12`, or `## 12`, is the message with this index, if an archive has it.
    pub topic: &'s str,
    /// Whether the exact text is looked for, and not its words.
    pub exact: bool,
    /// Limits what the search looks at.
    pub filter: Filter,
    /// The most sections to return.
    pub limit: usize,
}

impl Search<'_> {
    /// Searches in the files of a session, and returns the hits, the best first, and the files that could not be searched
    /// completely. Files of other sessions below the root are left out. The session must have begun. Its unfinished
    /// files are written first, so that no file is missing.
    ///
    /// # Errors
    /// When there is no such session, or the index cannot be used.
    pub fn run(
        &self,
        root: &Path,
        session: &SessionId,
    ) -> Result<(Vec<Hit>, Vec<Skipped>), ToolError> {
        let mut own = Context::open_existing(root, session.clone())?.own_files();
        if let Some(files) = &self.filter.files {
            own.retain(|path| files.contains(path));
        }
        let mut index = Index::open(root)?;
        let mut skipped = index.update()?;
        skipped.retain(|skipped| own.contains(&skipped.file));
        let filter = Filter {
            files: Some(own),
            ..self.filter.clone()
        };
        // A summary names messages by their numbers. The text of a message does not have its number.
        let archive = session.archive();
        let by_number =
            |index: &mut Index| index.message(self.topic, &archive, &filter, self.limit);
        let mut hits = if self.exact {
            index.exact(self.topic, &filter, self.limit)?
        } else {
            by_number(&mut index)?
        };
        if hits.is_empty() {
            hits = if self.exact {
                by_number(&mut index)?
            } else {
                index.search(self.topic, &filter, self.limit)?
            };
        }
        Ok((hits, skipped))
    }
}

fn status(root: &Path, session: &SessionId) -> Result<Answer, ToolError> {
    let context = Context::open_existing(root, session.clone())?;
    let session = context.begun()?;
    let window = session.window();
    let status = window.map(|window| session.status(&window));
    Ok(Answer {
        text: status.as_ref().map_or_else(
            || "No list was compressed yet.".to_owned(),
            ToString::to_string,
        ),
        json: json!(status),
    })
}
