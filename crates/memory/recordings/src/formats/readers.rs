//! The readers of the formats.

use serde_json::Value as Json;

use super::fault::{Fault, Parsed};
use super::{
    ai_sdk, aider, anthropic, chat, claude_code, codex, gemini, gemini_cli, langchain, langgraph,
    mini_swe, openai_agents, openhands, pydantic_ai, responses, sharegpt, swe_agent,
};
use crate::format::Format;

/// Reads a document that is not wrapped.
pub(super) type Read = fn(Json) -> Result<Parsed, Fault>;

/// Returns the function that reads documents of a format. `None` for traces, which hold documents of the other formats.
pub(super) fn of(format: Format) -> Option<Read> {
    Some(match format {
        Format::LangSmith | Format::Otel => return None,
        Format::OpenAi => chat::parse,
        Format::Responses => responses::read,
        Format::Anthropic => anthropic::read,
        Format::Gemini => gemini::read,
        Format::LangChain => langchain::read,
        Format::ShareGpt => sharegpt::read,
        Format::ClaudeCode => claude_code::read,
        Format::PydanticAi => pydantic_ai::read,
        Format::AiSdk => ai_sdk::read,
        Format::GeminiCli => gemini_cli::read,
        Format::Codex => codex::read,
        Format::OpenAiAgents => openai_agents::read,
        Format::LangGraph => langgraph::read,
        Format::SweAgent => swe_agent::read,
        Format::MiniSweAgent => mini_swe::read,
        Format::OpenHands => openhands::read,
        Format::Aider => aider::read,
    })
}
