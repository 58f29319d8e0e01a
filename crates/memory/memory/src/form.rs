//! The forms of message lists.

use std::fmt;

use accp_recordings::Format;

/// The form in which a provider's API takes a list of messages.
///
/// ```
/// use accp_memory::Form;
///
/// assert_eq!(Form::named("anthropic"), Some(Form::Anthropic));
/// assert_eq!(Form::OpenAi.to_string(), "openai");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// OpenAI chat: messages with `role`, `content` and `tool_calls`.
    OpenAi,
    /// Anthropic messages: turns of user and assistant, with content in blocks.
    Anthropic,
    /// OpenAI Responses: items.
    Responses,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Responses];

    /// Returns the name of the form on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
        }
    }

    /// Returns the form with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    /// Returns the form of a recorded conversation; `None` if a provider takes no list of that format.
    pub(crate) fn of(format: Format) -> Option<Self> {
        match format {
            Format::OpenAi => Some(Self::OpenAi),
            Format::Anthropic => Some(Self::Anthropic),
            Format::Responses => Some(Self::Responses),
            _ => None,
        }
    }

    /// Returns the format of the recorded conversations that have this form.
    pub(crate) const fn format(self) -> Format {
        match self {
            Self::OpenAi => Format::OpenAi,
            Self::Anthropic => Format::Anthropic,
            Self::Responses => Format::Responses,
        }
    }

    /// Returns the keys under which a request body has its list.
    pub(crate) const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi | Self::Anthropic => &["messages"],
            Self::Responses => &["input"],
        }
    }

    /// Returns the keys of a request body, other than those of the list, whose values a model reads.
    pub(crate) const fn beside(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["tools", "functions"],
            Self::Anthropic => &["system", "tools"],
            Self::Responses => &["instructions", "tools"],
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
