//! The name of a side of a session.

use std::fmt;
use std::sync::Arc;

/// Names one side of a session: the session, and the agent whose side it is.
///
/// Both names may be any text. The side of a host is named in the same way as that of a member. The store keeps
/// with each side whether the side is the host's, as [`Summary::host`](crate::Summary::host). Sides are ordered
/// by session, then by agent.
///
/// A side is shown as `session@agent`. An `@` or a `\` inside either name has a `\` in front, so
/// that no two sides look the same.
///
/// ```
/// use accp_store::SideId;
///
/// let side = SideId::new("launch", "dev");
/// assert_eq!(side.session(), "launch");
/// assert_eq!(side.agent(), "dev");
/// assert_eq!(side.to_string(), "launch@dev");
/// assert_eq!(SideId::new("launch@dev", "hub").to_string(), r"launch\@dev@hub");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SideId {
    session: Arc<str>,
    agent: Arc<str>,
}

impl SideId {
    /// Names the side of an agent in a session.
    pub fn new(session: impl AsRef<str>, agent: impl AsRef<str>) -> Self {
        Self {
            session: Arc::from(session.as_ref()),
            agent: Arc::from(agent.as_ref()),
        }
    }

    /// Returns the id of the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Returns the agent of the side.
    pub fn agent(&self) -> &str {
        &self.agent
    }
}

impl fmt::Display for SideId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(f, &self.session)?;
        f.write_str("@")?;
        escaped(f, &self.agent)
    }
}

fn escaped(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    for piece in name.split_inclusive(['@', '\\']) {
        match piece.strip_suffix(['@', '\\']) {
            Some(before) => write!(f, "{before}\\{}", &piece[before.len()..])?,
            None => f.write_str(piece)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_two_sides_look_the_same(a in r"[a@\\]{0,4}", b in r"[a@\\]{0,4}", c in r"[a@\\]{0,4}", d in r"[a@\\]{0,4}") {
            let (one, other) = (SideId::new(&a, &b), SideId::new(&c, &d));
            prop_assert_eq!(one == other, one.to_string() == other.to_string());
        }
    }

    #[test]
    fn sides_are_ordered_by_session_then_by_agent() {
        let mut sides =
            [("b", "a"), ("a", "b"), ("a@", ""), ("a", "a")].map(|(s, a)| SideId::new(s, a));
        sides.sort();
        let shown = sides.map(|side| side.to_string());
        assert_eq!(shown, ["a@a", "a@b", r"a\@@", "b@a"]);
    }
}
