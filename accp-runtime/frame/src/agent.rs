//! Agent ids.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt;

use accp_registry::{ErrorCode, lexical};

use crate::error::EncodeError;

/// The name of an agent (draft section 3.1).
///
/// ```abnf
/// agent-id = 1*( ALPHA / DIGIT / "-" / "_" )
/// ```
///
/// ```
/// use accp_runtime::AgentId;
///
/// let planner = AgentId::new("planner")?;
/// assert_eq!(planner.as_str(), "planner");
/// assert!(AgentId::new("dev team").is_err());
/// # Ok::<(), accp_runtime::EncodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId<'a>(Cow<'a, str>);

impl<'a> AgentId<'a> {
    /// Checks that a name is an agent id.
    ///
    /// # Errors
    /// When a character is not a letter, a digit, `-` or `_`, or when the name is empty.
    pub fn new(name: impl Into<Cow<'a, str>>) -> Result<Self, EncodeError> {
        let name = name.into();
        if lexical::is_agent_id(&name) {
            return Ok(Self(name));
        }
        Err(not_an_id(ErrorCode::PARSE_ERROR, &name))
    }

    /// Makes an agent id from a name that the scanner has already checked.
    pub(crate) fn scanned(name: &'a str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Returns the bare name.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the same name, owned.
    pub fn into_owned(self) -> AgentId<'static> {
        AgentId(Cow::Owned(self.0.into_owned()))
    }
}

/// Returns the error for a name that is not an agent id. `code` is E1001 for a new agent id, and E1004 for the value of
/// a field of type `agent`.
#[cold]
pub(crate) fn not_an_id(code: ErrorCode, name: &str) -> EncodeError {
    let message = format!("`{name}` is not an agent id: letters, digits, '-' and '_' only");
    EncodeError::new(code, message)
}

impl fmt::Display for AgentId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for AgentId<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a AgentId<'_>> for AgentId<'a> {
    /// Borrows the name.
    fn from(agent: &'a AgentId<'_>) -> Self {
        Self(Cow::Borrowed(&agent.0))
    }
}

impl<'a> From<AgentId<'a>> for Cow<'a, str> {
    fn from(agent: AgentId<'a>) -> Self {
        agent.0
    }
}

impl<'a> From<&'a AgentId<'_>> for Cow<'a, str> {
    fn from(agent: &'a AgentId<'_>) -> Self {
        Cow::Borrowed(&agent.0)
    }
}

impl From<AgentId<'_>> for String {
    fn from(agent: AgentId<'_>) -> Self {
        agent.0.into_owned()
    }
}

impl PartialEq<str> for AgentId<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for AgentId<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}
