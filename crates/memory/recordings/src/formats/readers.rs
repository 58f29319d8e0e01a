//! The readers of all formats in one table: what each claims, and how sure that is.

use serde_json::{Map, Value as Json};

use super::fault::{Cannot, Fault, Model};
use super::said::Said;
use super::{
    ai_sdk, aider, anthropic, chat, claude_code, codex, gemini, gemini_cli, langchain, langgraph,
    langsmith, mini_swe, openai_agents, openhands, otel, pydantic_ai, responses, sharegpt,
    swe_agent,
};
use crate::format::Format;

/// Reads a document that is not wrapped.
pub(super) type Read = fn(Json) -> Result<Model, Fault>;
/// Writes a conversation, with what stands beside its messages.
pub(super) type Write = fn(&[Said], Map<String, Json>) -> Result<Json, Cannot>;

/// How much the marks of a format say. Of several claims the surest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sure {
    /// Messages with a role: what is left when no other format claims them.
    Plain,
    /// The words of a provider, which other formats hold inside.
    Provider,
    /// The words of a library, whose messages may hold those of a provider.
    Library,
    /// The marks of a program that writes logs, which no other format has.
    Program,
}

/// A reader of a format.
struct Reader {
    format: Format,
    sure: Sure,
    /// Returns whether all marks of the format are there.
    claims: fn(&Json) -> bool,
    /// The marks, for a refusal.
    marks: &'static str,
    read: Read,
}

const fn reader(
    format: Format,
    sure: Sure,
    claims: fn(&Json) -> bool,
    marks: &'static str,
    read: Read,
) -> Reader {
    Reader {
        format,
        sure,
        claims,
        marks,
        read,
    }
}

#[rustfmt::skip]
const READERS: [Reader; Format::ALL.len()] = [
    reader(Format::OpenAi, Sure::Plain, chat::detect, "`messages` with a `role`", chat::model),
    reader(Format::Responses, Sure::Provider, responses::detect, "items with a `type`", responses::read),
    reader(Format::Anthropic, Sure::Provider, anthropic::detect, "`messages` with blocks", anthropic::read),
    reader(Format::Gemini, Sure::Provider, gemini::detect, "`contents` with `parts`", gemini::read),
    reader(Format::LangChain, Sure::Library, langchain::detect, "messages of the types `human` and `ai`", langchain::read),
    reader(Format::LangSmith, Sure::Program, langsmith::detect, "runs with `inputs` and `outputs`", langsmith::read),
    reader(Format::Otel, Sure::Program, otel::detect, "attributes such as `gen_ai.input.messages`", otel::read),
    reader(Format::ShareGpt, Sure::Library, sharegpt::detect, "`conversations` with `from` and `value`", sharegpt::read),
    reader(Format::ClaudeCode, Sure::Program, claude_code::detect, "entries with `type` and `sessionId`", claude_code::read),
    reader(Format::PydanticAi, Sure::Program, pydantic_ai::detect, "`kind`, and parts with `part_kind`", pydantic_ai::read),
    reader(Format::AiSdk, Sure::Library, ai_sdk::detect, "`parts` with `type` and `text`, or `tool-call`", ai_sdk::read),
    reader(Format::GeminiCli, Sure::Program, gemini_cli::detect, "`sessionId`, and messages of the type `gemini`", gemini_cli::read),
    reader(Format::Codex, Sure::Program, codex::detect, "lines with `type` and `payload`", codex::read),
    reader(Format::OpenAiAgents, Sure::Program, openai_agents::detect, "rows with `session_id` and `message_data`", openai_agents::read),
    reader(Format::LangGraph, Sure::Program, langgraph::detect, "`values.messages` with `next`, or `channel_values`", langgraph::read),
    reader(Format::SweAgent, Sure::Program, swe_agent::detect, "`trajectory` with `action` and `observation`", swe_agent::read),
    reader(Format::MiniSweAgent, Sure::Program, mini_swe::detect, "`trajectory_format`, `info` and `messages`", mini_swe::read),
    reader(Format::OpenHands, Sure::Program, openhands::detect, "events with `source` and `action` or `observation`", openhands::read),
    reader(Format::Aider, Sure::Program, aider::detect, "`# aider chat started at`", aider::read),
];

/// Returns the formats that claim a document which is not wrapped: the surest, and several if
/// they are as sure.
pub(crate) fn claims(json: &Json) -> Vec<Format> {
    let claim = |sure| {
        let all = READERS.iter().filter(|reader| reader.sure == sure);
        let all = all.filter(|reader| (reader.claims)(json));
        all.map(|reader| reader.format).collect::<Vec<_>>()
    };
    let ranks = [Sure::Program, Sure::Library, Sure::Provider, Sure::Plain];
    let mut found = ranks.into_iter().map(claim);
    found.find(|all| !all.is_empty()).unwrap_or_default()
}

/// Returns the marks of a format, in words.
pub(crate) fn marks(format: Format) -> &'static str {
    READERS[format as usize].marks
}

/// Returns the function that reads documents of a format.
pub(super) fn of(format: Format) -> Read {
    READERS[format as usize].read
}

/// The readers stand in the order of the formats.
const _: () = {
    let mut index = 0;
    while index < READERS.len() {
        assert!(READERS[index].format as usize == index);
        index += 1;
    }
};
