//! The rules of OpenAI's chat.

use super::source::{ANSWER, FUNCTIONS, IMAGES, OPENAI_TYPES};
use super::{Rule, rule};
use crate::finding::Code;

pub(super) const RULES: &[Rule] = &[
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
