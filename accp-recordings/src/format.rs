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
    /// OpenTelemetry: `gen_ai` spans, events and log records, and their messages alone.
    Otel,
    /// `ShareGPT`: `conversations` of `from` and `value`.
    ShareGpt,
    /// Session files of Claude Code: the entries of one file are one conversation.
    ClaudeCode,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::OpenAi,
        Self::Responses,
        Self::Anthropic,
        Self::Gemini,
        Self::LangChain,
        Self::LangSmith,
        Self::Otel,
        Self::ShareGpt,
        Self::ClaudeCode,
    ];

    /// Returns the name of the format on the command line and in frames.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::LangChain => "langchain",
            Self::LangSmith => "langsmith",
            Self::Otel => "otel",
            Self::ShareGpt => "sharegpt",
            Self::ClaudeCode => "claude-code",
        }
    }

    /// Returns the format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns whether conversations can be written in this format. The others are only read: they
    /// hold traces of a program, or its own state.
    pub const fn is_written(self) -> bool {
        !matches!(self, Self::LangSmith | Self::ClaudeCode)
    }

    /// Returns whether each call of a conversation has an id of its own in this format. The others use an id again
    /// in a later message.
    pub(crate) fn has_unique_ids(self) -> bool {
        matches!(self, Self::Anthropic | Self::Responses)
    }

    /// Returns whether recordings of this format repeat the conversation at each call of a model.
    pub(crate) fn repeats(self) -> bool {
        matches!(self, Self::LangSmith | Self::Otel)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
