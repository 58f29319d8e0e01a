//! Findings: what a check finds wrong with a list of messages.

use std::fmt;

use serde::{Serialize, Serializer};

/// Declares the codes, each with the name that reports have.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal,)+) => {
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
            $($(#[$doc])* $code,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: [Self; 50] = [$(Self::$code),+];

            /// Returns the name of the code in reports.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)+
                }
            }
        }
    };
}

codes! {
    /// A call has no result where its result has to stand.
    ResultMissing = "result-missing",
    /// A result does not stand where its call needs it.
    ResultMisplaced = "result-misplaced",
    /// A result answers no call of the list.
    ResultOrphan = "result-orphan",
    /// A call has a second result.
    ResultRepeated = "result-repeated",
    /// A call or a result has no id.
    IdMissing = "id-missing",
    /// Two calls have the same id, and the form does not allow that.
    IdRepeated = "id-repeated",
    /// A list of calls is there, and is empty.
    CallsEmpty = "calls-empty",
    /// In a turn of the user with results, something else stands before the results.
    ResultsNotFirst = "results-not-first",
    /// A message has no role, or one that the form does not know.
    Role = "role",
    /// The list does not begin with a turn of the user.
    FirstNotUser = "first-not-user",
    /// A text is blank, or ends in white space where it may not.
    TextBlank = "text-blank",
    /// A system message stands in the list, but the form has it outside of the list.
    SystemInside = "system-inside",
    /// A reasoning item is not followed by the item that it belongs to.
    ReasoningSplit = "reasoning-split",
    /// A text has half of a surrogate pair: it was cut in the middle of a character.
    LoneSurrogate = "lone-surrogate",
    /// The list has no message.
    ListEmpty = "list-empty",
    /// An id is too long, or has characters that the provider does not take.
    IdForm = "id-form",
    /// The id of an item does not have the prefix of its type, or is also the id of another item.
    ItemId = "item-id",
    /// The name of a tool is missing, too long, or has characters that the provider does not take.
    NameForm = "name-form",
    /// Two tools of a request have one name.
    NameRepeated = "name-repeated",
    /// The arguments of a call are not of the kind that the form asks for.
    Arguments = "arguments",
    /// A call does not name its kind, or lacks the members of its kind.
    CallKind = "call-kind",
    /// A content, or a text in a result, is empty.
    ContentEmpty = "content-empty",
    /// A content is neither a text nor an array.
    ContentKind = "content-kind",
    /// A part of a content is of a kind that does not belong there.
    PartKind = "part-kind",
    /// A block stands in a turn of the wrong role.
    BlockRole = "block-role",
    /// A block, a part or an item has no member that its kind has to have.
    MemberMissing = "member-missing",
    /// A message has a member of another form.
    MemberForeign = "member-foreign",
    /// A thought of the model has no signature.
    Signature = "signature",
    /// A turn ends with a thought, or does not begin with the thought that it needs.
    ThinkingPlace = "thinking-place",
    /// The messages before a thought have changed since the model made the thought.
    ThinkingBound = "thinking-bound",
    /// The budget for thoughts is too small, or not smaller than the limit of the whole answer.
    ThinkingBudget = "thinking-budget",
    /// A setting of sampling is not allowed together with thinking.
    Sampling = "sampling",
    /// A text of the system prompt is blank.
    SystemBlank = "system-blank",
    /// The request forces a tool that is not there, or forces one while thinking is on.
    ToolChoice = "tool-choice",
    /// A tool of the request is of another form.
    ToolForm = "tool-form",
    /// The request has more tools than the provider takes.
    ToolsOver = "tools-over",
    /// Citations are on for some documents of the request, and not for all.
    CitationsMixed = "citations-mixed",
    /// An output is of another kind than its call.
    OutputKind = "output-kind",
    /// An approval answers no request of the list.
    ApprovalOrphan = "approval-orphan",
    /// An image does not name its type, or names a wrong one.
    ImageForm = "image-form",
    /// The request has more images than the provider takes.
    ImagesOver = "images-over",
    /// An image has more pixels or bytes than the provider takes.
    ImageSize = "image-size",
    /// The result of a failed call has something other than texts.
    ErrorContent = "error-content",
    /// The list ends with the assistant, and the request does not allow that.
    EndsWithAssistant = "ends-with-assistant",
    /// The request has more marks for the cache than the provider takes.
    CacheMarks = "cache-marks",
    /// A mark for the cache stands on a block that may not have one.
    CachePlace = "cache-place",
    /// A mark for one hour follows one for five minutes.
    CacheOrder = "cache-order",
    /// A mark for the cache is not of a kind that the provider knows.
    CacheForm = "cache-form",
    /// The document is not a list of messages, or a message is not an object.
    NotAList = "not-a-list",
    /// The list does not fit the window.
    OverWindow = "over-window",
}

impl Code {
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
    /// The id of the call, if the fault is about a call.
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
        on_one_line(f, &self.text)
    }
}

/// Writes a text with its line breaks escaped. Names and ids of a list may have line breaks, and a line that they begin
/// would look like another finding.
pub(crate) fn on_one_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for (at, line) in text.split('\n').enumerate() {
        f.write_str(if at == 0 { "" } else { "\\n" })?;
        f.write_str(line)?;
    }
    Ok(())
}

impl std::error::Error for Finding {}
