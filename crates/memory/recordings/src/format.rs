//! The formats of recorded conversations.

use std::fmt;

/// A format of recorded conversations.
///
/// ```
/// use accp_recordings::{Conversation, Format};
/// use serde_json::json;
///
/// let recorded = json!({ "messages": [{ "role": "assistant", "content": [
///     { "type": "tool_use", "id": "t1", "name": "stock", "input": {} }] }] });
/// assert_eq!(Conversation::new(recorded)?.format(), Format::Anthropic);
/// assert_eq!(Format::named("anthropic"), Some(Format::Anthropic));
/// # Ok::<(), accp_recordings::NotConversation>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// OpenAI chat: `messages` with `role`, `content` and `tool_calls`, or `function_call`.
    OpenAi,
    /// OpenAI Responses: items in `input` and `output`.
    Responses,
    /// Anthropic Messages: `system`, and `messages` with blocks.
    Anthropic,
    /// Gemini: `contents` with `parts`.
    Gemini,
    /// `LangChain`: messages with a `type`, also serialised.
    LangChain,
    /// `LangSmith`: runs with `inputs` and `outputs`.
    LangSmith,
    /// OpenTelemetry: `gen_ai` spans, events and log records, or only their messages.
    Otel,
    /// `ShareGPT`: `conversations` of `from` and `value`.
    ShareGpt,
    /// Session files of Claude Code: the entries of one file are one conversation.
    ClaudeCode,
    /// Histories of Pydantic AI: requests and responses of parts with a `part_kind`.
    PydanticAi,
    /// The AI SDK of Vercel: UI messages with `parts`, and model messages with `tool-call` and `tool-result`.
    AiSdk,
    /// Sessions of Gemini CLI: messages of the types `user` and `gemini`.
    GeminiCli,
    /// Rollouts of Codex: lines with a `payload`. Some payloads are items of OpenAI Responses.
    Codex,
    /// Sessions of the OpenAI Agents SDK as their database holds them: rows with `message_data`.
    OpenAiAgents,
    /// States and checkpoints of `LangGraph`, alone or as a history.
    LangGraph,
    /// Trajectories of SWE-agent: `history` and `trajectory`.
    SweAgent,
    /// Trajectories of mini-SWE-agent: `messages` and `info`.
    MiniSweAgent,
    /// Trajectories of `OpenHands`: events with a `source` and an `action` or an `observation`.
    OpenHands,
    /// The chat history of aider, which is Markdown.
    Aider,
}

/// The name of a format, and what depends on the format alone. [`Format`] and `KNOWN` have the same order.
struct Known {
    format: Format,
    name: &'static str,
    title: &'static str,
    /// Whether conversations can be written in this format.
    writes: bool,
}

const fn known(format: Format, name: &'static str, title: &'static str, writes: bool) -> Known {
    Known {
        format,
        name,
        title,
        writes,
    }
}

const KNOWN: [Known; 19] = [
    known(Format::OpenAi, "openai", "OpenAI chat", true),
    known(
        Format::Responses,
        "responses",
        "items of OpenAI Responses",
        true,
    ),
    known(Format::Anthropic, "anthropic", "Anthropic Messages", true),
    known(Format::Gemini, "gemini", "contents of Gemini", true),
    known(
        Format::LangChain,
        "langchain",
        "messages of LangChain",
        true,
    ),
    known(Format::LangSmith, "langsmith", "runs of LangSmith", false),
    known(Format::Otel, "otel", "OpenTelemetry `gen_ai`", true),
    known(Format::ShareGpt, "sharegpt", "ShareGPT", true),
    known(
        Format::ClaudeCode,
        "claude-code",
        "session files of Claude Code",
        false,
    ),
    known(
        Format::PydanticAi,
        "pydantic-ai",
        "histories of Pydantic AI",
        false,
    ),
    known(
        Format::AiSdk,
        "ai-sdk",
        "AI SDK of Vercel, UI and model messages",
        false,
    ),
    known(
        Format::GeminiCli,
        "gemini-cli",
        "sessions of Gemini CLI",
        false,
    ),
    known(Format::Codex, "codex", "rollouts of Codex", false),
    known(
        Format::OpenAiAgents,
        "openai-agents",
        "sessions of the OpenAI Agents SDK",
        false,
    ),
    known(
        Format::LangGraph,
        "langgraph",
        "states and checkpoints of LangGraph",
        false,
    ),
    known(
        Format::SweAgent,
        "swe-agent",
        "trajectories of SWE-agent",
        false,
    ),
    known(
        Format::MiniSweAgent,
        "mini-swe-agent",
        "trajectories of mini-SWE-agent",
        false,
    ),
    known(
        Format::OpenHands,
        "openhands",
        "trajectories of OpenHands",
        false,
    ),
    known(
        Format::Aider,
        "aider",
        "chat history of aider, in Markdown",
        false,
    ),
];

/// The table has every format, in the order in which they are declared.
const _: () = {
    let mut index = 0;
    while index < KNOWN.len() {
        assert!(KNOWN[index].format as usize == index);
        index += 1;
    }
    assert!(Format::Aider as usize + 1 == KNOWN.len());
};

impl Format {
    /// All formats.
    pub const ALL: [Self; KNOWN.len()] = {
        let mut all = [Self::OpenAi; KNOWN.len()];
        let mut index = 0;
        while index < KNOWN.len() {
            all[index] = KNOWN[index].format;
            index += 1;
        }
        all
    };

    const fn known(self) -> &'static Known {
        &KNOWN[self as usize]
    }

    /// Returns the name of the format on the command line and in frames.
    pub const fn name(self) -> &'static str {
        self.known().name
    }

    /// Returns what the format is, in words for people.
    ///
    /// ```
    /// use accp_recordings::Format;
    ///
    /// assert_eq!(Format::Codex.title(), "rollouts of Codex");
    /// ```
    pub const fn title(self) -> &'static str {
        self.known().title
    }

    /// Returns the format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns whether conversations can be written in this format. Other formats are only read: they hold traces of
    /// a program, or its own state.
    pub const fn is_written(self) -> bool {
        self.known().writes
    }

    /// Returns whether each call of a conversation has an id of its own in this format. In other formats, a later
    /// message may use an id again.
    pub(crate) fn has_unique_ids(self) -> bool {
        matches!(self, Self::Anthropic | Self::Responses)
    }

    /// Returns whether recordings of this format repeat the conversation at each call of a model.
    pub(crate) fn repeats(self) -> bool {
        matches!(self, Self::LangSmith | Self::Otel | Self::LangGraph)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
