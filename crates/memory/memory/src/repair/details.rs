//! Mends faults of single messages and of the request, if nothing is lost by that.

use std::collections::BTreeMap;

use super::{Repair, RepairKind};
use crate::check::details::flaws;
use crate::edit::{Edit, edited};
use crate::finding::Finding;
use crate::list::MessageList;
use crate::message::ListMessage;

/// The most rounds. A change may lead to another fault, for example if an image that moves has a wrong type; more
/// rounds than this do not help.
const ROUNDS: usize = 8;

/// Returns the list in which all details with a cure are mended, and the repairs. Messages keep their places.
pub(super) fn mended(list: &MessageList) -> Result<(MessageList, Vec<Repair>), Finding> {
    let mut list = list.clone();
    let mut repairs = Vec::new();
    for _ in 0..ROUNDS {
        let mut edits: BTreeMap<Option<usize>, Vec<Edit>> = BTreeMap::new();
        let mut done = Vec::new();
        for flaw in flaws(&list)
            .into_iter()
            .filter(|flaw| !flaw.cure.is_empty())
        {
            done.push(Repair {
                kind: RepairKind::Mended,
                message: flaw.finding.message.unwrap_or_default(),
                id: flaw.finding.id.unwrap_or_default(),
                code: Some(flaw.finding.code),
            });
            for (at, edit) in flaw.cure {
                edits.entry(at).or_default().push(edit);
            }
        }
        let before = list.to_string();
        let request = edits.remove(&None);
        let mut messages = list.messages().to_vec();
        for (at, edits) in edits {
            if let Some(message) = at.and_then(|at| messages.get_mut(at)) {
                let raw = edited(message.raw(), &edits);
                *message = ListMessage::read(list.form(), at.unwrap_or_default(), &raw)?;
            }
        }
        list = list.with(messages);
        if let Some(edits) = request {
            let text = edited(&list.to_string(), &edits);
            list = MessageList::read(&text, Some(list.form()))?;
        }
        if list.to_string() == before {
            break;
        }
        repairs.append(&mut done);
    }
    Ok((list, repairs))
}
