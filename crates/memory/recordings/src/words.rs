//! Words of a recording that only say of which kind an object is. A reader that understands the object expresses the
//! kind in the common form instead. All other words count as content.

use crate::format::Format;

/// A key, and the words under it.
type Words = (&'static str, &'static [&'static str]);

/// The parts and the calls that each reader of a chat understands.
const PARTS: Words = (
    "type",
    &[
        "text",
        "refusal",
        "reasoning",
        "reasoning.text",
        "reasoning.summary",
        "reasoning.encrypted",
        "image_url",
        "input_audio",
        "file",
        "image",
        "audio",
        "video",
        "function",
        "custom",
        "tool_call",
        "invalid_tool_call",
    ],
);
/// The blocks of Anthropic, which each reader of a chat understands, too.
const BLOCKS: Words = (
    "type",
    &[
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "server_tool_use",
        "mcp_tool_use",
        "image",
        "document",
    ],
);
const RESULTS: Words = ("type", &["tool_result", "mcp_tool_result"]);
const ROLES: Words = ("role", &["user", "assistant", "system", "tool", "function"]);
const LANGCHAIN: Words = (
    "type",
    &[
        "human",
        "ai",
        "system",
        "tool",
        "function",
        "developer",
        "chat",
        "constructor",
    ],
);

const ITEMS: Words = (
    "type",
    &[
        "message",
        "reasoning",
        "function_call",
        "custom_tool_call",
        "function_call_output",
        "custom_tool_call_output",
        "input_text",
        "output_text",
        "text",
        "summary_text",
        "reasoning_text",
        "refusal",
        "input_image",
        "input_file",
        "input_audio",
    ],
);
const PYDANTIC: [Words; 2] = [
    (
        "kind",
        &[
            "request",
            "response",
            "binary",
            "image-url",
            "audio-url",
            "video-url",
            "document-url",
        ],
    ),
    (
        "part_kind",
        &[
            "system-prompt",
            "user-prompt",
            "tool-return",
            "retry-prompt",
            "text",
            "thinking",
            "tool-call",
            "builtin-tool-call",
            "builtin-tool-return",
            "file",
        ],
    ),
];
const AI_SDK: Words = (
    "type",
    &[
        "text",
        "reasoning",
        "redacted-reasoning",
        "file",
        "image",
        "media",
        "image-data",
        "image-url",
        "file-data",
        "file-url",
        "tool-call",
        "tool-result",
        "step-start",
        "dynamic-tool",
        "tool-invocation",
        "json",
        "error-text",
        "error-json",
        "content",
        "execution-denied",
    ],
);
const CONTENTS: Words = ("role", &["model", "function", "user", "system"]);
const TURNS: &[&str] = &[
    "human",
    "user",
    "gpt",
    "chatgpt",
    "bing",
    "bard",
    "assistant",
    "model",
    "observation",
    "function_response",
    "tool_response",
    "function",
    "function_call",
    "tool_call",
];

/// The formats of one document. A proxy may log the request in one format and the answer in another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Formats {
    /// The format of the document, or of the request.
    pub(crate) document: Format,
    pub(crate) answered: Option<Format>,
}

impl Formats {
    /// Returns whether a reader of the document understands this word under this key, and expresses it in the common
    /// form.
    pub(crate) fn say(self, key: &str, word: &str) -> bool {
        let mut formats = std::iter::once(self.document).chain(self.answered);
        formats.any(|format| is_word(format, key, word))
    }
}

impl From<Format> for Formats {
    fn from(document: Format) -> Self {
        Self {
            document,
            answered: None,
        }
    }
}

fn is_word(format: Format, key: &str, word: &str) -> bool {
    let words: &[Words] = match format {
        Format::OpenAi => &[PARTS, BLOCKS, ROLES],
        Format::Anthropic | Format::ClaudeCode => &[BLOCKS, RESULTS, ROLES],
        Format::LangChain => &[PARTS, BLOCKS, RESULTS, ROLES, LANGCHAIN],
        // A run has requests and answers in the format of any provider.
        Format::LangSmith => &[PARTS, BLOCKS, RESULTS, ROLES, LANGCHAIN, ITEMS, CONTENTS],
        Format::Responses => &[ITEMS, ROLES],
        Format::Gemini => &[CONTENTS],
        Format::Otel => &[
            PARTS,
            BLOCKS,
            ROLES,
            (
                "type",
                &[
                    "tool_call_response",
                    "blob",
                    "uri",
                    "file_data",
                    "binary",
                    "image-url",
                    "audio-url",
                    "video-url",
                    "document-url",
                ],
            ),
        ],
        Format::ShareGpt => &[("from", TURNS), ("role", TURNS)],
        Format::PydanticAi => &[PYDANTIC[0], PYDANTIC[1]],
        Format::AiSdk => &[AI_SDK, ROLES, ("role", &["data"])],
        Format::GeminiCli => &[CONTENTS, ("type", &["user", "gemini"])],
        Format::Codex | Format::OpenAiAgents => &[ITEMS, ROLES],
        Format::LangGraph => &[PARTS, BLOCKS, RESULTS, ROLES, LANGCHAIN],
        Format::SweAgent => &[PARTS, BLOCKS, ROLES],
        Format::MiniSweAgent => &[PARTS, BLOCKS, ROLES, ITEMS],
        Format::OpenHands => &[PARTS, BLOCKS, ROLES],
        Format::Aider => &[],
    };
    words
        .iter()
        .any(|(at, words)| *at == key && words.contains(&word))
}
