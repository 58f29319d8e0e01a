//! What each provider refuses, where it says so, and how much of a thing it takes.

use crate::finding::Code;
use crate::form::Form;

/// One rule of a form.
///
/// ```
/// use accp_ctx::{Code, Form};
///
/// let rule = Form::Anthropic.rules().iter().find(|rule| rule.code == Code::CacheMarks).unwrap();
/// assert!(rule.mended && rule.source.contains("prompt-caching"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The code of its findings.
    pub code: Code,
    /// What the provider refuses.
    pub what: &'static str,
    /// Where the provider says so: its documentation, its official package, or an answer with status 400.
    pub source: &'static str,
    /// Whether [`repair`](crate::repair()) can mend it: always, or where nothing is lost.
    pub mended: bool,
}

const fn rule(code: Code, mended: bool, what: &'static str, source: &'static str) -> Rule {
    Rule {
        code,
        what,
        source,
        mended,
    }
}

/// How much of a thing a provider takes in one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// Characters of an id that joins call and result.
    pub(crate) id: usize,
    /// Characters of the name of a tool.
    pub(crate) name: usize,
    /// Images.
    pub(crate) images: usize,
    /// Marks for the cache.
    pub(crate) marks: usize,
    /// Tools.
    pub(crate) tools: usize,
}

const ANTHROPIC_TYPES: &str = "types of the package anthropic 2.14.0";
const OPENAI_TYPES: &str = "types of the package openai 3.57.0";
const TOOL_USE: &str = "platform.claude.com/docs/en/agents-and-tools/tool-use";
const CACHING: &str = "platform.claude.com/docs/en/build-with-claude/prompt-caching";
const THINKING: &str = "platform.claude.com/docs/en/build-with-claude/thinking";
const VISION: &str = "platform.claude.com/docs/en/build-with-claude/vision";
const CITATIONS: &str = "platform.claude.com/docs/en/build-with-claude/citations";
const MESSAGES: &str = "platform.claude.com/docs/en/api/messages";
const FUNCTIONS: &str = "developers.openai.com/api/docs/guides/function-calling";
const IMAGES: &str = "developers.openai.com/api/docs/guides/images-vision";
const MCP: &str = "developers.openai.com/api/docs/guides/tools-connectors-mcp";
const ANSWER: &str = "answer 400 of the API";

/// The rules of OpenAI's chat.
const CHAT: &[Rule] = &[
    rule(Code::ListEmpty, false, "a list without messages", ANSWER),
    rule(
        Code::Role,
        false,
        "a role that chat does not know, or calls in a message that is not the assistant's",
        OPENAI_TYPES,
    ),
    rule(
        Code::ResultMissing,
        true,
        "a call without its result",
        FUNCTIONS,
    ),
    rule(
        Code::ResultMisplaced,
        true,
        "a result that does not stand right behind its call",
        FUNCTIONS,
    ),
    rule(
        Code::ResultOrphan,
        true,
        "a result without its call",
        FUNCTIONS,
    ),
    rule(
        Code::ResultRepeated,
        true,
        "a second result of one call",
        ANSWER,
    ),
    rule(
        Code::IdMissing,
        false,
        "a call or a result without an id",
        OPENAI_TYPES,
    ),
    rule(
        Code::IdRepeated,
        false,
        "an id twice in one message",
        ANSWER,
    ),
    rule(Code::IdForm, true, "an id over 40 characters", ANSWER),
    rule(
        Code::NameForm,
        true,
        "the name of a tool that is over 64 characters or has others than letters, digits, `_` and `-`",
        FUNCTIONS,
    ),
    rule(Code::NameRepeated, false, "two tools of one name", ANSWER),
    rule(
        Code::CallsEmpty,
        true,
        "`tool_calls` without a call",
        ANSWER,
    ),
    rule(
        Code::CallKind,
        true,
        "a call without `type`, or without the member of its type",
        OPENAI_TYPES,
    ),
    rule(
        Code::Arguments,
        true,
        "arguments that are not a text",
        OPENAI_TYPES,
    ),
    rule(
        Code::TextBlank,
        false,
        "a message without content and without calls",
        ANSWER,
    ),
    rule(
        Code::ContentEmpty,
        true,
        "a content that is an empty array",
        ANSWER,
    ),
    rule(
        Code::ContentKind,
        true,
        "a content that is neither a text nor an array",
        OPENAI_TYPES,
    ),
    rule(
        Code::PartKind,
        true,
        "a part that the role does not take, such as an image of the assistant's or a part of another form",
        OPENAI_TYPES,
    ),
    rule(
        Code::MemberMissing,
        false,
        "a part without the member of its type",
        OPENAI_TYPES,
    ),
    rule(
        Code::ImageForm,
        true,
        "an image that is not an object with a `url`",
        OPENAI_TYPES,
    ),
    rule(Code::ImagesOver, false, "more than 500 images", IMAGES),
    rule(
        Code::ToolForm,
        true,
        "a tool of another form, such as one with `input_schema`",
        OPENAI_TYPES,
    ),
    rule(Code::ToolsOver, false, "more than 128 tools", ANSWER),
    rule(
        Code::ToolChoice,
        false,
        "a `tool_choice` of a tool that `tools` does not have",
        ANSWER,
    ),
];

/// The rules of Anthropic's messages.
const ANTHROPIC: &[Rule] = &[
    rule(Code::ListEmpty, false, "a list without messages", ANSWER),
    rule(
        Code::Role,
        false,
        "a role beside user and assistant, or calls in a turn of the user",
        MESSAGES,
    ),
    rule(
        Code::FirstNotUser,
        false,
        "a list that begins with the assistant",
        MESSAGES,
    ),
    rule(
        Code::SystemInside,
        false,
        "a system message inside the list",
        MESSAGES,
    ),
    rule(
        Code::EndsWithAssistant,
        false,
        "a list that ends with the assistant, while thinking is on or the model is of version 4.6 or later",
        "platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-6",
    ),
    rule(
        Code::ResultMissing,
        true,
        "a call without its result, also of a tool that the provider runs",
        TOOL_USE,
    ),
    rule(
        Code::ResultMisplaced,
        true,
        "a result that does not stand in the turn behind its call",
        TOOL_USE,
    ),
    rule(
        Code::ResultOrphan,
        true,
        "a result without its call, also of a tool that the provider runs",
        TOOL_USE,
    ),
    rule(
        Code::ResultRepeated,
        true,
        "a second result of one call",
        ANSWER,
    ),
    rule(
        Code::ResultsNotFirst,
        true,
        "something before the results in a turn of the user",
        TOOL_USE,
    ),
    rule(
        Code::IdMissing,
        false,
        "a call or a result without an id",
        ANTHROPIC_TYPES,
    ),
    rule(Code::IdRepeated, false, "an id twice in a list", ANSWER),
    rule(
        Code::IdForm,
        true,
        "an id that is over 64 characters or has others than letters, digits, `_` and `-`",
        ANSWER,
    ),
    rule(
        Code::NameForm,
        true,
        "the name of a tool that is over 64 characters or has others than letters, digits, `_` and `-`",
        TOOL_USE,
    ),
    rule(Code::NameRepeated, false, "two tools of one name", ANSWER),
    rule(
        Code::Arguments,
        true,
        "an `input` that is not an object",
        ANTHROPIC_TYPES,
    ),
    rule(
        Code::TextBlank,
        true,
        "a blank text, or white space at the end of the assistant's last text",
        ANSWER,
    ),
    rule(
        Code::ContentEmpty,
        true,
        "a message whose content is an empty array, or an empty text in a result",
        ANSWER,
    ),
    rule(
        Code::ContentKind,
        true,
        "a content of a result that is neither a text nor an array",
        ANTHROPIC_TYPES,
    ),
    rule(
        Code::PartKind,
        true,
        "a part of another form, or a block in a result that does not belong there",
        ANTHROPIC_TYPES,
    ),
    rule(
        Code::BlockRole,
        false,
        "thoughts and server tools in a turn of the user, or images and documents in one of the assistant",
        ANSWER,
    ),
    rule(
        Code::MemberMissing,
        false,
        "a block without a member of its type",
        ANTHROPIC_TYPES,
    ),
    rule(
        Code::MemberForeign,
        true,
        "a member of chat, such as `tool_calls`, in a message",
        ANSWER,
    ),
    rule(
        Code::Signature,
        false,
        "a thought without its signature",
        THINKING,
    ),
    rule(
        Code::ThinkingPlace,
        false,
        "a turn that ends with a thought, or a turn with calls that does not begin with one while thinking is on",
        THINKING,
    ),
    rule(
        Code::ErrorContent,
        true,
        "a result with `is_error` that has something else than texts",
        ANSWER,
    ),
    rule(
        Code::ImageForm,
        true,
        "an image without a source or a type that the provider reads, or with data of another type",
        VISION,
    ),
    rule(Code::ImagesOver, false, "more than 100 images", VISION),
    rule(
        Code::CacheMarks,
        true,
        "more than four marks `cache_control`, in tools, system and messages together",
        CACHING,
    ),
    rule(
        Code::CachePlace,
        true,
        "a mark on a thought, on an empty text, or on a message",
        CACHING,
    ),
    rule(
        Code::CacheOrder,
        true,
        "a mark for `1h` behind one for `5m`",
        CACHING,
    ),
    rule(
        Code::CacheForm,
        true,
        "a mark whose type is not `ephemeral`, or whose `ttl` is neither `5m` nor `1h`",
        ANTHROPIC_TYPES,
    ),
    rule(
        Code::ThinkingBudget,
        false,
        "a budget for thoughts under 1,024 tokens, or without tools one that is not under `max_tokens`",
        ANTHROPIC_TYPES,
    ),
    rule(
        Code::Sampling,
        false,
        "while thinking is on, a `temperature` other than 1, a `top_k`, or a `top_p` under 0.95",
        THINKING,
    ),
    rule(Code::SystemBlank, true, "a blank text in `system`", ANSWER),
    rule(
        Code::ToolForm,
        true,
        "a tool of another form, or one of the program's without `input_schema`",
        ANTHROPIC_TYPES,
    ),
    rule(
        Code::ToolChoice,
        false,
        "a `tool_choice` of a tool that `tools` does not have, or one that forces a call while thinking is on",
        THINKING,
    ),
    rule(
        Code::CitationsMixed,
        false,
        "citations in some documents of the request and not in all",
        CITATIONS,
    ),
    rule(
        Code::ImageSize,
        false,
        "an image over 8,000 pixels a side, over 2,000 among more than 20 images, or over 10 MB of base64",
        VISION,
    ),
];

/// The rules of OpenAI's Responses.
const RESPONSES: &[Rule] = &[
    rule(
        Code::Role,
        false,
        "a role that Responses does not know",
        OPENAI_TYPES,
    ),
    rule(
        Code::ResultMissing,
        true,
        "a call without its output",
        FUNCTIONS,
    ),
    rule(
        Code::ResultMisplaced,
        true,
        "an output before its call",
        FUNCTIONS,
    ),
    rule(
        Code::ResultOrphan,
        true,
        "an output without its call",
        FUNCTIONS,
    ),
    rule(
        Code::ResultRepeated,
        true,
        "a second output of one call",
        ANSWER,
    ),
    rule(
        Code::ReasoningSplit,
        false,
        "reasoning without the item that it belongs to",
        "developers.openai.com/api/docs/guides/reasoning",
    ),
    rule(
        Code::IdMissing,
        false,
        "a call or an output without a `call_id`",
        OPENAI_TYPES,
    ),
    rule(
        Code::IdRepeated,
        false,
        "a `call_id` twice in a list",
        ANSWER,
    ),
    rule(Code::IdForm, true, "a `call_id` over 64 characters", ANSWER),
    rule(
        Code::ItemId,
        true,
        "an `id` that does not begin with `fc` for a call, `msg` for a message, `rs` for reasoning, or that of another item",
        ANSWER,
    ),
    rule(
        Code::NameForm,
        true,
        "the name of a tool that is over 64 characters or has others than letters, digits, `_` and `-`",
        FUNCTIONS,
    ),
    rule(Code::NameRepeated, false, "two tools of one name", ANSWER),
    rule(
        Code::Arguments,
        true,
        "arguments that are not a text",
        OPENAI_TYPES,
    ),
    rule(
        Code::ContentEmpty,
        false,
        "a message that is not the assistant's with an empty array as content",
        ANSWER,
    ),
    rule(
        Code::ContentKind,
        true,
        "a content or an output that is neither a text nor an array",
        OPENAI_TYPES,
    ),
    rule(
        Code::PartKind,
        true,
        "a part that the role does not take, such as `input_text` of the assistant's or a part of chat",
        OPENAI_TYPES,
    ),
    rule(
        Code::MemberMissing,
        true,
        "a part or an item without the member of its type",
        OPENAI_TYPES,
    ),
    rule(
        Code::ImageForm,
        true,
        "an image whose `image_url` is not a text",
        OPENAI_TYPES,
    ),
    rule(Code::ImagesOver, false, "more than 500 images", IMAGES),
    rule(
        Code::ToolForm,
        true,
        "a tool of another form, such as one with `function` or `input_schema`",
        OPENAI_TYPES,
    ),
    rule(
        Code::ToolChoice,
        false,
        "a `tool_choice` of a tool that `tools` does not have",
        ANSWER,
    ),
    rule(
        Code::OutputKind,
        true,
        "an output of another kind than its call",
        OPENAI_TYPES,
    ),
    rule(
        Code::ApprovalOrphan,
        false,
        "an `mcp_approval_response` without its request",
        MCP,
    ),
];

impl Form {
    /// Returns the rules of the form that a list has to keep. The order has no meaning.
    pub const fn rules(self) -> &'static [Rule] {
        match self {
            Self::OpenAi => CHAT,
            Self::Anthropic => ANTHROPIC,
            Self::Responses => RESPONSES,
        }
    }

    pub(crate) const fn most(self) -> Most {
        match self {
            Self::OpenAi => Most {
                id: 40,
                name: 64,
                images: 500,
                marks: usize::MAX,
                tools: 128,
            },
            Self::Anthropic => Most {
                id: 64,
                name: 64,
                images: 100,
                marks: 4,
                tools: usize::MAX,
            },
            Self::Responses => Most {
                id: 64,
                name: 64,
                images: 500,
                marks: usize::MAX,
                tools: usize::MAX,
            },
        }
    }
}
