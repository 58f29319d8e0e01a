//! The table of the rules of OpenAI's Responses.

use super::Rule;
use super::source::{ANSWER, FUNCTIONS, IMAGES, MCP, OPENAI_TYPES};

pub(super) const RULES: &[Rule] = rules! {
    Role, false, OPENAI_TYPES: "a role that Responses does not know";
    ResultMissing, true, FUNCTIONS: "a call without its output";
    ResultMisplaced, true, FUNCTIONS: "an output before its call";
    ResultOrphan, true, FUNCTIONS: "an output without its call";
    ResultRepeated, true, ANSWER: "a second output of one call";
    ReasoningSplit, false, "developers.openai.com/api/docs/guides/reasoning":
        "reasoning without the item that it belongs to";
    IdMissing, false, OPENAI_TYPES: "a call or an output without a `call_id`";
    IdRepeated, false, ANSWER: "a `call_id` twice in a list";
    IdForm, true, ANSWER: "a `call_id` over 64 characters";
    ItemId, true, ANSWER:
        "an `id` that does not begin with `fc` for a call, `msg` for a message, `rs` for reasoning, or that of another item";
    NameForm, true, FUNCTIONS:
        "the name of a tool that is over 64 characters or has others than letters, digits, `_` and `-`";
    NameRepeated, false, ANSWER: "two tools of one name";
    Arguments, true, OPENAI_TYPES: "arguments that are not a text";
    ContentEmpty, false, ANSWER: "a message that is not the assistant's with an empty array as content";
    ContentKind, true, OPENAI_TYPES: "a content or an output that is neither a text nor an array";
    PartKind, true, OPENAI_TYPES:
        "a part that the role does not take, such as `input_text` of the assistant's or a part of chat";
    MemberMissing, true, OPENAI_TYPES: "a part or an item without the member of its type";
    ImageForm, true, OPENAI_TYPES: "an image whose `image_url` is not a text";
    ImagesOver, false, IMAGES: "more than 500 images";
    ToolForm, true, OPENAI_TYPES: "a tool of another form, such as one with `function` or `input_schema`";
    ToolChoice, false, ANSWER: "a `tool_choice` of a tool that `tools` does not have";
    OutputKind, true, OPENAI_TYPES: "an output of another kind than its call";
    ApprovalOrphan, false, MCP: "an `mcp_approval_response` without its request";
};
