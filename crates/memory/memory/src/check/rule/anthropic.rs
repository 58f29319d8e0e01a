//! The table of the rules of Anthropic's messages.

use super::Rule;
use super::source::{
    ANSWER, ANTHROPIC_TYPES, CACHING, CITATIONS, MESSAGES, THINKING, TOOL_USE, VISION,
};

pub(super) const RULES: &[Rule] = rules! {
    ListEmpty, false, ANSWER: "a list without messages";
    Role, false, MESSAGES: "a role beside user and assistant, or calls in a turn of the user";
    FirstNotUser, false, MESSAGES: "a list that begins with the assistant";
    SystemInside, false, MESSAGES: "a system message inside the list";
    EndsWithAssistant, false, "platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-6":
        "a list that ends with the assistant, while thinking is on or the model is of version 4.6 or later";
    ResultMissing, true, TOOL_USE: "a call without its result, also of a tool that the provider runs";
    ResultMisplaced, true, TOOL_USE: "a result that does not stand in the turn behind its call";
    ResultOrphan, true, TOOL_USE: "a result without its call, also of a tool that the provider runs";
    ResultRepeated, true, ANSWER: "a second result of one call";
    ResultsNotFirst, true, TOOL_USE: "something before the results in a turn of the user";
    IdMissing, false, ANTHROPIC_TYPES: "a call or a result without an id";
    IdRepeated, false, ANSWER: "an id twice in a list";
    IdForm, true, ANSWER: "an id that is over 64 characters or has others than letters, digits, `_` and `-`";
    NameForm, true, TOOL_USE:
        "the name of a tool that is over 64 characters or has others than letters, digits, `_` and `-`";
    NameRepeated, false, ANSWER: "two tools of one name";
    Arguments, true, ANTHROPIC_TYPES: "an `input` that is not an object";
    TextBlank, true, ANSWER: "a blank text, or white space at the end of the assistant's last text";
    ContentEmpty, true, ANSWER: "a message whose content is an empty array, or an empty text in a result";
    ContentKind, true, ANTHROPIC_TYPES: "a content of a result that is neither a text nor an array";
    PartKind, true, ANTHROPIC_TYPES: "a part of another form, or a block in a result that does not belong there";
    BlockRole, false, ANSWER:
        "thoughts and server tools in a turn of the user, or images and documents in one of the assistant";
    MemberMissing, false, ANTHROPIC_TYPES: "a block without a member of its type";
    MemberForeign, true, ANSWER: "a member of chat, such as `tool_calls`, in a message";
    Signature, false, THINKING: "a thought without its signature";
    ThinkingPlace, false, THINKING:
        "a turn that ends with a thought, or a turn with calls that does not begin with one while thinking is on";
    ErrorContent, true, ANSWER: "a result with `is_error` that has something else than texts";
    ImageForm, true, VISION:
        "an image without a source or a type that the provider reads, or with data of another type";
    ImagesOver, false, VISION: "more than 100 images";
    CacheMarks, true, CACHING: "more than four marks `cache_control`, in tools, system and messages together";
    CachePlace, true, CACHING: "a mark on a thought, on an empty text, or on a message";
    CacheOrder, true, CACHING: "a mark for `1h` behind one for `5m`";
    CacheForm, true, ANTHROPIC_TYPES: "a mark whose type is not `ephemeral`, or whose `ttl` is neither `5m` nor `1h`";
    ThinkingBudget, false, ANTHROPIC_TYPES:
        "a budget for thoughts under 1,024 tokens, or without tools one that is not under `max_tokens`";
    Sampling, false, THINKING:
        "while thinking is on, a `temperature` other than 1, a `top_k`, or a `top_p` under 0.95";
    SystemBlank, true, ANSWER: "a blank text in `system`";
    ToolForm, true, ANTHROPIC_TYPES: "a tool of another form, or one of the program's without `input_schema`";
    ToolChoice, false, THINKING:
        "a `tool_choice` of a tool that `tools` does not have, or one that forces a call while thinking is on";
    CitationsMixed, false, CITATIONS: "citations in some documents of the request and not in all";
    ImageSize, false, VISION:
        "an image over 8,000 pixels a side, over 2,000 among more than 20 images, or over 10 MB of base64";
};
