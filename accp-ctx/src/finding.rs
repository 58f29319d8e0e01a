//! What is wrong with a list of messages.

use std::fmt;

use serde::{Serialize, Serializer};

/// A rule that a list breaks.
///
/// ```
/// use accp_ctx::Code;
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
    /// The document is not a list of messages, or a message is not an object.
    NotAList,
    /// The list does not fit the window.
    OverWindow,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 16] = [
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
            Self::NotAList => "not-a-list",
            Self::OverWindow => "over-window",
        }
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
