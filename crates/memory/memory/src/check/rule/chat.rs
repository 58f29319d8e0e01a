//! The table of the rules of OpenAI's chat.

use super::Rule;
use super::source::{ANSWER, FUNCTIONS, IMAGES, OPENAI_TYPES};

pub(super) const RULES: &[Rule] = rules! {
    ListEmpty, false, ANSWER: "a list without messages";
    Role, false, OPENAI_TYPES: "a role that chat does not know, or calls in a message that is not the assistant's";
    ResultMissing, true, FUNCTIONS: "a call without its result";
    ResultMisplaced, true, FUNCTIONS: "a result that does not stand right behind its call";
    ResultOrphan, true, FUNCTIONS: "a result without its call";
    ResultRepeated, true, ANSWER: "a second result of one call";
    IdMissing, false, OPENAI_TYPES: "a call or a result without an id";
    IdRepeated, false, ANSWER: "an id twice in one message";
    IdForm, true, ANSWER: "an id over 40 characters";
    NameForm, true, FUNCTIONS:
        "the name of a tool that is over 64 characters or has others than letters, digits, `_` and `-`";
    NameRepeated, false, ANSWER: "two tools of one name";
    CallsEmpty, true, ANSWER: "`tool_calls` without a call";
    CallKind, true, OPENAI_TYPES: "a call without `type`, or without the member of its type";
    Arguments, true, OPENAI_TYPES: "arguments that are not a text";
    TextBlank, false, ANSWER: "a message without content and without calls";
    ContentEmpty, true, ANSWER: "a content that is an empty array";
    ContentKind, true, OPENAI_TYPES: "a content that is neither a text nor an array";
    PartKind, true, OPENAI_TYPES:
        "a part that the role does not take, such as an image of the assistant's or a part of another form";
    MemberMissing, false, OPENAI_TYPES: "a part without the member of its type";
    ImageForm, true, OPENAI_TYPES: "an image that is not an object with a `url`";
    ImagesOver, false, IMAGES: "more than 500 images";
    ToolForm, true, OPENAI_TYPES: "a tool of another form, such as one with `input_schema`";
    ToolsOver, false, ANSWER: "more than 128 tools";
    ToolChoice, false, ANSWER: "a `tool_choice` of a tool that `tools` does not have";
};
