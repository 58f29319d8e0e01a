//! The rules of Anthropic's messages.

use super::source::{
    ANSWER, ANTHROPIC_TYPES, CACHING, CITATIONS, MESSAGES, THINKING, TOOL_USE, VISION,
};
use super::{Rule, rule};
use crate::finding::Code;

pub(super) const RULES: &[Rule] = &[
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
