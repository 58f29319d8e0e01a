//! Checks that the host does at once what its operator asks: lets a value expire, grants a key, lets a member in or
//! takes it out.

use accp_runtime::session::{MemberId, ReadError, Reference, Session};

use super::node::Result;
use super::reading::FOREIGN;

/// Checks that a value can no longer be read.
pub(super) fn judge_expired(host: &Session, key: &str) -> Result {
    let name = format!("cold.{key}");
    let found = Reference::parse(&name).map(|reference| host.state().locate(&reference));
    match found {
        Some(Err(ReadError::Expired)) => Ok(()),
        other => Err(format!("{key} has expired, and is {other:?}")),
    }
}

/// Checks that a key of another session can be read. `*` stands for all its keys.
pub(super) fn judge_granted(host: &Session, session: &str, key: &str) -> Result {
    let key = if key == "*" { FOREIGN[0] } else { key };
    let name = format!("ext.{session}.{key}");
    let found = Reference::parse(&name).map(|reference| host.state().locate(&reference));
    match found {
        Some(Ok(_)) => Ok(()),
        other => Err(format!("{key} of {session} is granted, and is {other:?}")),
    }
}

/// Checks whether a member is in the session.
pub(super) fn judge_presence(host: &Session, id: MemberId, is_here: bool) -> Result {
    let mut members = host.state().members();
    let party = members.find(|(member, _)| *member == id);
    if party.is_some_and(|(_, party)| party.present) == is_here {
        return Ok(());
    }
    Err(format!("{id} must be in the session: {is_here}"))
}

/// Checks whether a member that has come in supervises.
pub(super) fn judge_rank(host: &Session, id: MemberId, supervises: bool) -> Result {
    let mut members = host.state().members();
    let party = members.find(|(member, _)| *member == id);
    if party.is_some_and(|(_, party)| party.supervisor) == supervises {
        return Ok(());
    }
    Err(format!("{id} must supervise: {supervises}"))
}
