//! Names of files below the root (CTX-34, CTX-35).

use std::fmt;

/// The most bytes of a tool's name within the name of a file.
const TOOL: usize = 64;

/// The folder of results that were moved out.
pub(crate) const OFFLOADED: &str = "cache/offloaded";
/// The folder of archives.
pub(crate) const CONVERSATIONS: &str = "cache/conversations";
/// The folder of checkpoints.
pub(crate) const CHECKPOINTS: &str = "cache/checkpoints";
/// The folder that is offered to programs for their intermediate results.
#[cfg(feature = "disk")]
pub(crate) const INTERMEDIATE: &str = "cache/intermediate";

/// The id of a session: letters, digits, `_` and `-`, 1 to 128 of them.
///
/// ```
/// use accp_memory::SessionId;
///
/// assert_eq!(SessionId::new("trip-7")?.as_str(), "trip-7");
/// assert!(SessionId::new("../trip").is_err());
/// # Ok::<(), accp_memory::SessionIdError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

/// A text that is not the id of a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of a session; give 1 to 128 letters, digits, `_` and `-`")]
pub struct SessionIdError(String);

impl SessionId {
    /// Makes the id of a session from a text.
    ///
    /// # Errors
    /// When the text has other characters, none, or more than 128: files bear the id as their name.
    pub fn new(text: &str) -> Result<Self, SessionIdError> {
        if (1..=128).contains(&text.len()) && text.chars().all(is_plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(SessionIdError(text.escape_debug().take(200).collect()))
        }
    }

    /// Makes an id from a constant of this crate, which is a valid id.
    pub(crate) fn named(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path of the archive.
    pub(crate) fn archive(&self) -> String {
        format!("{CONVERSATIONS}/{}_full.md", self.0)
    }

    /// Returns the path of a checkpoint.
    pub(crate) fn checkpoint(&self, number: u64) -> String {
        format!("{CHECKPOINTS}/{}_{number}.json", self.0)
    }
}

/// The options with which commands find a session, as the texts of a list name them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommandOptions {
    session: String,
    /// The option with the root; empty if it is the default root of commands.
    root: String,
}

impl CommandOptions {
    /// Returns the options for a session below a root. `None` is the default root of commands.
    pub(crate) fn of(session: &SessionId, root: Option<&str>) -> Self {
        Self {
            session: format!(" --session {}", session.0),
            root: root.map_or(String::new(), |root| format!(" --root {}", quoted(root))),
        }
    }

    /// Returns the option for commands that need only the root.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }
}

impl fmt::Display for CommandOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.session, self.root)
    }
}

/// Returns a word as one has to write it for a shell: in quotation marks, if it needs them.
fn quoted(word: &str) -> String {
    if word.chars().all(|c| is_plain(c) || c == '/' || c == '.') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Returns a path for a result that is moved out at this time, `YYYYMMDD_HHMMSS`, and that is not taken yet.
pub(crate) fn offloaded(stamp: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut tool: String = tool.chars().filter(|c| is_plain(*c)).take(TOOL).collect();
    if tool.is_empty() {
        tool.push_str("tool");
    }
    let name = |number: u64| match number {
        1 => format!("{OFFLOADED}/{stamp}_{tool}.md"),
        number => format!("{OFFLOADED}/{stamp}_{tool}_{number}.md"),
    };
    (1..u64::MAX)
        .map(name)
        .find(|path| !is_taken(path))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_a_root_that_they_would_not_take() {
        let options =
            |root: Option<&str>| CommandOptions::of(&SessionId::named("trip"), root).to_string();
        assert_eq!(options(None), " --session trip");
        assert_eq!(options(Some("../kept")), " --session trip --root ../kept");
        assert_eq!(
            options(Some("Kim's box")),
            r" --session trip --root 'Kim'\''s box'"
        );
    }

    #[test]
    fn a_name_of_a_tool_cannot_lead_out() {
        let taken = ["cache/offloaded/20260129_142530_etcpasswd.md"];
        let path = |tool: &str| offloaded("20260129_142530", tool, |path| taken.contains(&path));
        assert_eq!(
            path("web_search"),
            "cache/offloaded/20260129_142530_web_search.md"
        );
        assert_eq!(
            path("../etc/passwd"),
            "cache/offloaded/20260129_142530_etcpasswd_2.md"
        );
        assert_eq!(path("\0é"), "cache/offloaded/20260129_142530_tool.md");
        assert!(path(&"x".repeat(500)).len() < 110);
    }
}
