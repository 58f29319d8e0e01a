//! What is wrong with a list of messages.

use std::fmt;

use serde::{Serialize, Serializer};

/// A rule that a list breaks.
///
/// ```
/// use accp_memory::Code;
///
/// assert_eq!(Code::ResultMissing.as_str(), "result-missing");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A call has no result where its result has to stand.
    ResultMissing,
    /// A result stands somewhere else than its call asks for.
    ResultMisplaced,
    /// A result answers no call of the list.
    ResultOrphan,
    /// A call has a second result.
    ResultRepeated,
    /// A call or a result has no id.
    IdMissing,
    /// Two calls have one id where ids have to differ.
    IdRepeated,
    /// A list of calls is there, and is empty.
    CallsEmpty,
    /// Something stands before the results in the turn that answers.
    ResultsNotFirst,
    /// A message has no role, or one that the form does not know.
    Role,
    /// The list does not begin with a turn of the user.
    FirstNotUser,
    /// A text is blank, or ends in white space where it may not.
    TextBlank,
    /// A system message stands in a list whose form has it outside.
    SystemInside,
    /// A reasoning item is not followed by the item that it belongs to.
    ReasoningSplit,
    /// A text has half of a surrogate pair: it was cut in the middle of a character.
    LoneSurrogate,
    /// The list has no message.
    ListEmpty,
    /// An id is too long, or has characters that the provider does not take.
    IdForm,
    /// The id of an item does not begin as the ids of its kind do, or is that of another item.
    ItemId,
    /// The name of a tool is missing, too long, or has characters that the provider does not take.
    NameForm,
    /// Two tools of a request have one name.
    NameRepeated,
    /// The arguments of a call are not of the kind that the form asks for.
    Arguments,
    /// A call does not say which kind it is, or is not of the shape of its kind.
    CallKind,
    /// A content, or a text in a result, is empty.
    ContentEmpty,
    /// A content is neither a text nor an array.
    ContentKind,
    /// A part of a content is of a kind that does not belong there.
    PartKind,
    /// A block stands in a turn of the wrong role.
    BlockRole,
    /// A block, a part or an item has no member that its kind has to have.
    MemberMissing,
    /// A message has a member of another form.
    MemberForeign,
    /// A thought of the model has no signature.
    Signature,
    /// A turn ends with a thought, or a turn that has to begin with one does not.
    ThinkingPlace,
    /// The budget for thoughts is too small, or not smaller than the whole answer.
    ThinkingBudget,
    /// A setting of sampling does not go with thinking.
    Sampling,
    /// A text of the system prompt is blank.
    SystemBlank,
    /// The request forces a tool that is not there, or forces one while thinking is on.
    ToolChoice,
    /// A tool of the request is of another form.
    ToolForm,
    /// The request has more tools than the provider takes.
    ToolsOver,
    /// Citations are on for some documents of the request, and not for all.
    CitationsMixed,
    /// An output is of another kind than its call.
    OutputKind,
    /// An approval answers no request of the list.
    ApprovalOrphan,
    /// An image does not say what it is, or says it wrongly.
    ImageForm,
    /// The request has more images than the provider takes.
    ImagesOver,
    /// An image has more pixels or bytes than the provider takes.
    ImageSize,
    /// A result that is an error has something else than texts.
    ErrorContent,
    /// The list ends with the assistant, and the request does not allow that.
    EndsWithAssistant,
    /// The request has more marks for the cache than the provider takes.
    CacheMarks,
    /// A mark for the cache stands where none may stand.
    CachePlace,
    /// A mark for one hour follows one for five minutes.
    CacheOrder,
    /// A mark for the cache is not of a kind that the provider knows.
    CacheForm,
    /// The document is not a list of messages, or a message is not an object.
    NotAList,
    /// The list does not fit the window.
    OverWindow,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 49] = [
        Self::ResultMissing,
        Self::ResultMisplaced,
        Self::ResultOrphan,
        Self::ResultRepeated,
        Self::IdMissing,
        Self::IdRepeated,
        Self::CallsEmpty,
        Self::ResultsNotFirst,
        Self::Role,
        Self::FirstNotUser,
        Self::TextBlank,
        Self::SystemInside,
        Self::ReasoningSplit,
        Self::LoneSurrogate,
        Self::ListEmpty,
        Self::IdForm,
        Self::ItemId,
        Self::NameForm,
        Self::NameRepeated,
        Self::Arguments,
        Self::CallKind,
        Self::ContentEmpty,
        Self::ContentKind,
        Self::PartKind,
        Self::BlockRole,
        Self::MemberMissing,
        Self::MemberForeign,
        Self::Signature,
        Self::ThinkingPlace,
        Self::ThinkingBudget,
        Self::Sampling,
        Self::SystemBlank,
        Self::ToolChoice,
        Self::ToolForm,
        Self::ToolsOver,
        Self::CitationsMixed,
        Self::OutputKind,
        Self::ApprovalOrphan,
        Self::ImageForm,
        Self::ImagesOver,
        Self::ImageSize,
        Self::ErrorContent,
        Self::EndsWithAssistant,
        Self::CacheMarks,
        Self::CachePlace,
        Self::CacheOrder,
        Self::CacheForm,
        Self::NotAList,
        Self::OverWindow,
    ];

    /// Returns the code as reports have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ResultMissing => "result-missing",
            Self::ResultMisplaced => "result-misplaced",
            Self::ResultOrphan => "result-orphan",
            Self::ResultRepeated => "result-repeated",
            Self::IdMissing => "id-missing",
            Self::IdRepeated => "id-repeated",
            Self::CallsEmpty => "calls-empty",
            Self::ResultsNotFirst => "results-not-first",
            Self::Role => "role",
            Self::FirstNotUser => "first-not-user",
            Self::TextBlank => "text-blank",
            Self::SystemInside => "system-inside",
            Self::ReasoningSplit => "reasoning-split",
            Self::LoneSurrogate => "lone-surrogate",
            Self::ListEmpty => "list-empty",
            Self::IdForm => "id-form",
            Self::ItemId => "item-id",
            Self::NameForm => "name-form",
            Self::NameRepeated => "name-repeated",
            Self::Arguments => "arguments",
            Self::CallKind => "call-kind",
            Self::ContentEmpty => "content-empty",
            Self::ContentKind => "content-kind",
            Self::PartKind => "part-kind",
            Self::BlockRole => "block-role",
            Self::MemberMissing => "member-missing",
            Self::MemberForeign => "member-foreign",
            Self::Signature => "signature",
            Self::ThinkingPlace => "thinking-place",
            Self::ThinkingBudget => "thinking-budget",
            Self::Sampling => "sampling",
            Self::SystemBlank => "system-blank",
            Self::ToolChoice => "tool-choice",
            Self::ToolForm => "tool-form",
            Self::ToolsOver => "tools-over",
            Self::CitationsMixed => "citations-mixed",
            Self::OutputKind => "output-kind",
            Self::ApprovalOrphan => "approval-orphan",
            Self::ImageForm => "image-form",
            Self::ImagesOver => "images-over",
            Self::ImageSize => "image-size",
            Self::ErrorContent => "error-content",
            Self::EndsWithAssistant => "ends-with-assistant",
            Self::CacheMarks => "cache-marks",
            Self::CachePlace => "cache-place",
            Self::CacheOrder => "cache-order",
            Self::CacheForm => "cache-form",
            Self::NotAList => "not-a-list",
            Self::OverWindow => "over-window",
        }
    }

    /// Returns whether a list with this fault holds together: calls and results pair, and turns follow each other.
    /// A compression only warns of such a fault. Servers differ in what they refuse, and those that people host
    /// themselves take longer ids and more kinds of content.
    ///
    /// ```
    /// use accp_memory::Code;
    ///
    /// assert!(Code::IdForm.is_warning() && !Code::ResultMissing.is_warning());
    /// ```
    pub const fn is_warning(self) -> bool {
        !matches!(
            self,
            Self::ResultMissing
                | Self::ResultMisplaced
                | Self::ResultOrphan
                | Self::ResultRepeated
                | Self::IdMissing
                | Self::IdRepeated
                | Self::CallsEmpty
                | Self::ResultsNotFirst
                | Self::Role
                | Self::FirstNotUser
                | Self::TextBlank
                | Self::SystemInside
                | Self::ReasoningSplit
                | Self::NotAList
                | Self::OverWindow
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One fault of a list: the rule, the place, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule.
    pub code: Code,
    /// The index of the message, from 0; `None` for the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<usize>,
    /// The id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is wrong, and the cure, for people.
    pub text: String,
}

impl Finding {
    pub(crate) fn at(code: Code, message: usize, text: impl Into<String>) -> Self {
        Self {
            code,
            message: Some(message),
            id: None,
            text: text.into(),
        }
    }

    pub(crate) fn of_list(code: Code, text: impl Into<String>) -> Self {
        Self {
            code,
            message: None,
            id: None,
            text: text.into(),
        }
    }

    pub(crate) fn with_id(self, id: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            ..self
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code)?;
        if let Some(message) = self.message {
            write!(f, "message {message}: ")?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for Finding {}
