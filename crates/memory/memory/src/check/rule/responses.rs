//! The rules of OpenAI's Responses.

use super::source::{ANSWER, FUNCTIONS, IMAGES, MCP, OPENAI_TYPES};
use super::{Rule, rule};
use crate::finding::Code;

pub(super) const RULES: &[Rule] = &[
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
