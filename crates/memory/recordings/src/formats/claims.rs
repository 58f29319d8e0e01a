//! Finds out which format a document has, by the marks of each format and how sure they are.

use serde_json::Value as Json;

use super::{
    ai_sdk, aider, anthropic, chat, claude_code, codex, gemini, gemini_cli, langchain, langgraph,
    langsmith_run, mini_swe, openai_agents, openhands, otel, pydantic_ai, responses, sharegpt,
    swe_agent,
};
use crate::format::Format;

/// How surely the marks of a format show that a document has this format. If several formats claim a document, the
/// surest claim counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sure {
    /// Plain messages with a role. Such a claim counts only if no other format claims the document.
    Plain,
    /// The form of a provider. Other formats may hold documents of this form.
    Provider,
    /// The form of a library. Its messages may hold messages of a provider.
    Library,
    /// The marks of a program that writes logs, which no other format has.
    Program,
}

/// The claim of a format: the marks that tell its documents from others.
struct Claim {
    format: Format,
    sure: Sure,
    /// Returns whether all marks of the format are there.
    claims: fn(&Json) -> bool,
    /// The marks, for a refusal.
    marks: &'static str,
}

const fn claim(
    format: Format,
    sure: Sure,
    claims: fn(&Json) -> bool,
    marks: &'static str,
) -> Claim {
    Claim {
        format,
        sure,
        claims,
        marks,
    }
}

#[rustfmt::skip]
const CLAIMS: [Claim; Format::ALL.len()] = [
    claim(Format::OpenAi, Sure::Plain, chat::detect, "`messages` with a `role`"),
    claim(Format::Responses, Sure::Provider, responses::detect, "items with a `type`"),
    claim(Format::Anthropic, Sure::Provider, anthropic::detect, "`messages` with blocks"),
    claim(Format::Gemini, Sure::Provider, gemini::detect, "`contents` with `parts`"),
    claim(Format::LangChain, Sure::Library, langchain::detect, "messages of the types `human` and `ai`"),
    claim(Format::LangSmith, Sure::Program, langsmith_run::detect, "runs with `inputs` and `outputs`"),
    claim(Format::Otel, Sure::Program, otel::detect, "attributes such as `gen_ai.input.messages`"),
    claim(Format::ShareGpt, Sure::Library, sharegpt::detect, "`conversations` with `from` and `value`"),
    claim(Format::ClaudeCode, Sure::Program, claude_code::detect, "entries with `type` and `sessionId`"),
    claim(Format::PydanticAi, Sure::Program, pydantic_ai::detect, "`kind`, and parts with `part_kind`"),
    claim(Format::AiSdk, Sure::Library, ai_sdk::detect, "`parts` with `type` and `text`, or `tool-call`"),
    claim(Format::GeminiCli, Sure::Program, gemini_cli::detect, "`sessionId`, and messages of the type `gemini`"),
    claim(Format::Codex, Sure::Program, codex::detect, "lines with `type` and `payload`"),
    claim(Format::OpenAiAgents, Sure::Program, openai_agents::detect, "rows with `session_id` and `message_data`"),
    claim(Format::LangGraph, Sure::Program, langgraph::detect, "`values.messages` with `next`, or `channel_values`"),
    claim(Format::SweAgent, Sure::Program, swe_agent::detect, "`trajectory` with `action` and `observation`"),
    claim(Format::MiniSweAgent, Sure::Program, mini_swe::detect, "`trajectory_format`, `info` and `messages`"),
    claim(Format::OpenHands, Sure::Program, openhands::detect, "events with `source` and `action` or `observation`"),
    claim(Format::Aider, Sure::Program, aider::detect, "`# aider chat started at`"),
];

/// Returns the formats that claim a document which is not wrapped. Only the surest claims count; several formats may
/// be equally sure.
pub(crate) fn claims(json: &Json) -> Vec<Format> {
    let of_rank = |sure| {
        let all = CLAIMS.iter().filter(|claim| claim.sure == sure);
        let all = all.filter(|claim| (claim.claims)(json));
        all.map(|claim| claim.format).collect::<Vec<_>>()
    };
    let ranks = [Sure::Program, Sure::Library, Sure::Provider, Sure::Plain];
    let mut found = ranks.into_iter().map(of_rank);
    found.find(|all| !all.is_empty()).unwrap_or_default()
}

/// Finds out the format of a document that is not wrapped.
pub(super) fn direct(json: &Json) -> Option<Format> {
    match claims(json).as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// Returns the marks of a format, in words.
pub(crate) fn marks(format: Format) -> &'static str {
    CLAIMS[format as usize].marks
}

/// The claims stand in the order of the formats.
const _: () = {
    let mut index = 0;
    while index < CLAIMS.len() {
        assert!(CLAIMS[index].format as usize == index);
        index += 1;
    }
};
