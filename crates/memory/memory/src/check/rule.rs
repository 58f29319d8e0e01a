//! What each provider refuses, where the provider says so, and the limits of a request.

use crate::finding::Code;
use crate::form::Form;

/// Makes the rules of a form: the code, whether a repair can mend it, the source, and what the provider refuses.
macro_rules! rules {
    ($($code:ident, $mended:literal, $source:tt: $what:literal;)+) => {
        &[$(Rule {
            code: crate::finding::Code::$code,
            what: $what,
            source: $source,
            mended: $mended,
        }),+]
    };
}

mod anthropic;
mod chat;
mod responses;
mod source;

/// One rule of a form.
///
/// ```
/// use accp_memory::{Code, Form};
///
/// let rule = Form::Anthropic.rules().iter().find(|rule| rule.code == Code::CacheMarks).unwrap();
/// assert!(rule.mended && rule.source.contains("prompt-caching"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The code of its findings.
    pub code: Code,
    /// What the provider refuses.
    pub what: &'static str,
    /// Where the provider says so: its documentation, its official package, or an answer with status 400.
    pub source: &'static str,
    /// Whether [`repair`](crate::repair()) can mend the fault: always, or if nothing is lost by that.
    pub mended: bool,
}

/// The limits of a provider: the most that it takes of each of these things in one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// Characters of an id that joins call and result.
    pub(crate) id: usize,
    /// Characters of the name of a tool.
    pub(crate) name: usize,
    /// Images.
    pub(crate) images: usize,
    /// Marks for the cache.
    pub(crate) marks: usize,
    /// Tools.
    pub(crate) tools: usize,
}

impl Form {
    /// Returns the rules of the form that a list has to keep. The order has no meaning.
    pub const fn rules(self) -> &'static [Rule] {
        match self {
            Self::OpenAi => chat::RULES,
            Self::Anthropic => anthropic::RULES,
            Self::Responses => responses::RULES,
        }
    }

    pub(crate) const fn most(self) -> Most {
        match self {
            Self::OpenAi => Most {
                id: 40,
                name: 64,
                images: 500,
                marks: usize::MAX,
                tools: 128,
            },
            Self::Anthropic => Most {
                id: 64,
                name: 64,
                images: 100,
                marks: 4,
                tools: usize::MAX,
            },
            Self::Responses => Most {
                id: 64,
                name: 64,
                images: 500,
                marks: usize::MAX,
                tools: usize::MAX,
            },
        }
    }
}
