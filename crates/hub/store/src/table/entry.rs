//! The columns of the tables `log` and `frame`, which together make an entry.

use std::sync::Arc;

use accp_registry::ErrorCode;
use accp_session::{Due, Entry, EntryKind, MemberId, Time};

use super::cell::{Cell, MidCell, integer};
use super::columns::{Columns, Damage};
use crate::changes::Conflict;

/// The number of columns of an entry in `log`, without `side` before them and the checksum after them.
pub(crate) const LOG: usize = 10;

/// Returns the columns of an entry in `log`. `mid` is the id of the entry.
pub(crate) fn log_cells<'a>(
    entry: &'a Entry,
    mid: &'a MidCell,
) -> Result<[Cell<'a>; LOG], Conflict> {
    Ok([
        integer(entry.position)?,
        Cell::Integer(entry.at.as_millis()),
        Cell::Integer(to_kind(entry.kind)?),
        Cell::Integer(entry.sender.number().into()),
        mid.cell(),
        integer(entry.sequence)?,
        Cell::Integer(entry.tokens.into()),
        Cell::Integer(to_cut(entry)),
        Cell::Integer(to_due(entry.due)),
        entry
            .hash
            .as_ref()
            .map_or(Cell::Null, |hash| Cell::Bytes(hash.as_bytes())),
    ])
}

/// Reads an entry without its text, from the columns after `side`.
pub(crate) fn read_log(columns: &mut Columns<'_>) -> Result<Entry, Damage> {
    let position = columns.number()?;
    if position == 0 {
        return Err(columns.wrong("a position, from 1"));
    }
    let at = Time::from_millis(columns.integer()?);
    let kind = kind_from(columns.integer()?).ok_or_else(|| columns.wrong("a kind of entry"))?;
    let sender = columns.member()?;
    // Most readers of this table do not need the text, and an empty text needs no allocation.
    let mut entry = Entry::new(position, at, columns.mid()?, Arc::default());
    entry.kind = kind;
    entry.sender = sender;
    entry.sequence = columns.number()?;
    entry.tokens = columns.number()?;
    (entry.to, entry.cut) = cut_from(columns.integer()?)
        .ok_or_else(|| columns.wrong("0 or 1, and twice the number of a member"))?;
    entry.due = due_from(columns.integer()?).ok_or_else(|| columns.wrong("0, 1 or 2"))?;
    entry.hash = columns.optional_digest()?;
    Ok(entry)
}

/// Makes the fault for an entry whose text must be there and is not.
pub(crate) fn lost_text(position: u64) -> Damage {
    Damage(format!(
        "table `frame` lacks the text of position {position}"
    ))
}

/// Returns the value of column `cut`: twice the number of the member that the frame is for, plus 1 if hot state
/// shows a preview.
fn to_cut(entry: &Entry) -> i64 {
    let to = entry.to.map_or(0, MemberId::number);
    i64::from(to) * 2 + i64::from(entry.cut)
}

fn cut_from(cut: i64) -> Option<(Option<MemberId>, bool)> {
    let to = match u16::try_from(cut / 2).ok().filter(|_| cut >= 0)? {
        0 => None,
        to => Some(MemberId::addressee(to)?),
    };
    Some((to, cut % 2 == 1))
}

const fn to_due(due: Due) -> i64 {
    match due {
        Due::No => 0,
        Due::Yes => 1,
        Due::Lapsed => 2,
    }
}

const fn due_from(due: i64) -> Option<Due> {
    Some(match due {
        0 => Due::No,
        1 => Due::Yes,
        2 => Due::Lapsed,
        _ => return None,
    })
}

const REFUSED: i64 = 10_000;

fn to_kind(kind: EntryKind) -> Result<i64, Conflict> {
    Ok(match kind {
        EntryKind::Frame => 1,
        EntryKind::Control => 2,
        EntryKind::Part => 3,
        EntryKind::Dropped => 4,
        EntryKind::Lost => 5,
        EntryKind::Repeat => 6,
        EntryKind::Refused(code) => REFUSED + i64::from(code.number()),
        kind => {
            let text = format!("entries of kind {kind:?} are newer than this store: update it");
            return Err(Conflict(text));
        }
    })
}

fn kind_from(kind: i64) -> Option<EntryKind> {
    Some(match kind {
        1 => EntryKind::Frame,
        2 => EntryKind::Control,
        3 => EntryKind::Part,
        4 => EntryKind::Dropped,
        5 => EntryKind::Lost,
        6 => EntryKind::Repeat,
        REFUSED.. => {
            let code = u16::try_from(kind - REFUSED)
                .ok()
                .and_then(ErrorCode::new)?;
            EntryKind::Refused(code)
        }
        _ => return None,
    })
}
