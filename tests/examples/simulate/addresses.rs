//! Requests that are for one agent, as seen by an observer who forgets nothing.

use std::collections::BTreeMap;

use accp_runtime::session::{MemberId, Mid};
use accp_session::Entry;

use super::text::{intent, meta, mid_in};

/// The requests that are for one agent and have no answer, by their chain.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// The agents that ever joined.
    members: BTreeMap<String, MemberId>,
    asked: BTreeMap<Mid, Vec<Asked>>,
    /// The members that began the chains.
    starters: BTreeMap<Mid, MemberId>,
}

#[derive(Debug)]
struct Asked {
    mid: Mid,
    by: MemberId,
    to: MemberId,
}

/// Returns whether a frame ends requests.
fn ends(text: &str) -> bool {
    matches!(intent(text), "done" | "fail" | "end")
}

/// Returns the name in the metadata of a request; `None` if it is for all.
pub(super) fn addressee(text: &str) -> Option<&str> {
    let name = meta(text, "to").filter(|name| *name != "~")?;
    matches!(intent(text), "req" | "qry").then_some(name)
}

impl Addresses {
    /// Takes note of the host or of a member that joins.
    pub(super) fn joins(&mut self, member: MemberId, text: &str) {
        let names = text
            .split_once("agents:[")
            .and_then(|(_, rest)| rest.split(']').next());
        let names = names.or_else(|| text.split_once("agent:")?.1.split(['|', '}']).next());
        for name in names.unwrap_or_default().split(',') {
            self.members.insert(name.to_owned(), member);
        }
    }

    /// Returns whether an agent has ever joined.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// Checks that the entry of a request has the member that the request names.
    pub(super) fn judge(&self, entry: &Entry) -> Result<(), String> {
        let name = addressee(&entry.text);
        let member = name.map(|name| self.members.get(name).copied());
        if member == entry.to.map(Some) {
            return Ok(());
        }
        Err(format!(
            "{} is for {:?}: {}",
            entry.mid, entry.to, entry.text
        ))
    }

    /// Returns whether a member that is no supervisor may send a frame, as far as it answers requests. `chain_of`
    /// returns the chain of a frame.
    pub(super) fn may_answer(
        &self,
        text: &str,
        sender: MemberId,
        chain_of: impl Fn(&Mid) -> Mid,
    ) -> bool {
        let kind = intent(text);
        if !ends(text) && kind != "stream" {
            return true;
        }
        let aid = mid_in(text, "aid");
        let chain = mid_in(text, "cid").or_else(|| Some(chain_of(aid.as_ref()?)));
        let Some((chain, asked)) = chain.and_then(|chain| self.asked.get_key_value(&chain)) else {
            return true;
        };
        if let Some(one) = asked.iter().find(|one| Some(&one.mid) == aid.as_ref()) {
            return one.to == sender;
        }
        let starter = self.starters.get(chain);
        if Some(&sender) == starter && matches!(kind, "stream" | "end") {
            return true;
        }
        let mut own = asked
            .iter()
            .filter(|one| Some(&one.by) == starter)
            .peekable();
        own.peek().is_none() || own.any(|one| one.to == sender)
    }

    /// Takes note of an accepted frame in this chain. `is_open` tells whether the chain was open before it. Returns
    /// whether requests for one agent are left in it.
    pub(super) fn apply(&mut self, entry: &Entry, chain: &Mid, is_open: bool) -> bool {
        let (text, sender) = (&*entry.text, entry.sender);
        match intent(text) {
            "cancel" => {
                self.asked.remove(chain);
            }
            "req" | "qry" | "stream" => {
                if !is_open {
                    self.starters.insert(chain.clone(), sender);
                }
                if let (Some(to), Some(mid)) = (entry.to, mid_in(text, "mid")) {
                    let by = sender;
                    self.asked
                        .entry(chain.clone())
                        .or_default()
                        .push(Asked { mid, by, to });
                }
            }
            _ if ends(text) => {
                let starter = self.starters.get(chain).copied();
                let aid = mid_in(text, "aid");
                if let Some(asked) = self.asked.get_mut(chain) {
                    let by_id = asked.iter().any(|one| Some(&one.mid) == aid.as_ref());
                    asked.retain(|one| {
                        if by_id {
                            Some(&one.mid) != aid.as_ref()
                        } else {
                            Some(one.by) != starter
                        }
                    });
                    if asked.is_empty() {
                        self.asked.remove(chain);
                    }
                }
            }
            _ => {}
        }
        self.asked.contains_key(chain)
    }
}
