//! Requests that are for one agent, as seen by an observer who forgets nothing.

use std::collections::BTreeMap;

use accp_runtime::session::{MemberId, Mid};
use accp_session::Entry;

use super::authority::agents_in;
use super::text::{head, intent, meta, mid_in};

/// The requests that are for one agent and have no answer, by their chain.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// The agents that ever joined.
    members: BTreeMap<String, MemberId>,
    /// Those that are in the session, each with the position at which it has joined.
    here: BTreeMap<MemberId, u64>,
    /// What members have said they take.
    takes: BTreeMap<MemberId, Vec<String>>,
    /// The members that were given a request, each with the position of its entry.
    given: BTreeMap<Mid, Vec<(u64, MemberId)>>,
    asked: BTreeMap<Mid, Vec<Asked>>,
    /// The members that began the chains.
    starters: BTreeMap<Mid, MemberId>,
}

#[derive(Debug)]
struct Asked {
    mid: Mid,
    by: MemberId,
    to: MemberId,
    /// The kind of a request whose taker the host chooses, and the position at which the taker has got it.
    chosen: Option<(String, u64)>,
}

/// Returns whether a frame ends requests.
fn ends(text: &str) -> bool {
    matches!(intent(text), "done" | "fail" | "end")
}

/// Returns the name in the metadata of a request; `None` if it is for all.
pub(super) fn addressee(text: &str) -> Option<&str> {
    let name = meta(text, "to").filter(|name| !matches!(*name, "~" | "?"))?;
    matches!(intent(text), "req" | "qry").then_some(name)
}

/// Returns the kind of a request whose taker the host chooses.
pub(super) fn kind_of(text: &str) -> Option<String> {
    meta(text, "to").filter(|to| *to == "?")?;
    let kind = text.split(['>', '{']).nth(1)?;
    let schema = head(text).rsplit_once("|schema:").map(|(_, rest)| rest);
    let schema = schema.and_then(|rest| rest.strip_suffix('}'));
    Some(match schema {
        Some(schema) => format!("{kind}:{schema}"),
        None => kind.to_owned(),
    })
}

impl Addresses {
    /// Takes note of the host or of a member that joins.
    pub(super) fn joins(&mut self, member: MemberId, text: &str, position: u64) {
        self.here.insert(member, position);
        for name in agents_in(text) {
            self.members.insert(name.to_owned(), member);
        }
    }

    pub(super) fn leaves(&mut self, member: MemberId) {
        self.here.remove(&member);
    }

    /// Takes note of what a member says it takes.
    pub(super) fn says(&mut self, member: MemberId, text: &str) -> Result<(), String> {
        let heads = text
            .split_once("heads:[")
            .and_then(|(_, rest)| rest.split_once(']'));
        let (heads, _) = heads.ok_or_else(|| format!("{member} takes {text}"))?;
        let heads = heads.replace('\\', "");
        let heads = heads.split(',').filter(|head| !head.is_empty());
        let heads = heads.map(String::from).collect();
        if self.takes.get(&member) == Some(&heads) {
            return Err(format!("{member} says again what it takes: {text}"));
        }
        self.takes.insert(member, heads);
        Ok(())
    }

    /// Returns how well a member fits a request: in the session before one that has left, and by the name of the kind
    /// before all others.
    fn fit(&self, member: MemberId, kind: &str) -> Option<(bool, bool)> {
        let has_left = !self.here.contains_key(&member);
        let heads = self.takes.get(&member)?;
        let names = heads.iter().any(|head| head == kind);
        let takes = names || heads.iter().any(|head| head == "*");
        takes.then_some((has_left, !names))
    }

    /// Returns how well the members fit best that may get a request of this member.
    fn best(&self, by: MemberId, kind: &str) -> Option<(bool, bool)> {
        let others = self.takes.keys().filter(|member| **member != by);
        others.filter_map(|member| self.fit(*member, kind)).min()
    }

    /// Returns whether a member of the session other than the asker may still say that it takes a request.
    fn may_be_taken(&self, by: MemberId) -> bool {
        let mut others = self.here.keys();
        others.any(|member| {
            *member != by && *member != MemberId::HOST && !self.takes.contains_key(member)
        })
    }

    /// Returns whether nobody takes a request, nor may take it later.
    pub(super) fn is_for_none(&self, by: MemberId, text: &str) -> bool {
        kind_of(text).is_some_and(|kind| self.best(by, &kind).is_none() && !self.may_be_taken(by))
    }

    /// Returns whether a request is without a taker: the one that had it has left since.
    fn is_free(&self, asked: &Asked, at: u64) -> bool {
        self.here.get(&asked.to).is_none_or(|joined| *joined > at)
    }

    /// Checks that a request goes to a member that fits it best.
    fn judge_taker(&self, by: MemberId, kind: &str, to: MemberId) -> Result<(), String> {
        let best = self.best(by, kind);
        let fit = self.fit(to, kind).filter(|_| to != by);
        let waits = to == MemberId::NOBODY && self.may_be_taken(by);
        if fit == best && (best.is_some() || waits) {
            return Ok(());
        }
        Err(format!("{kind} of {by} goes to {to}, {best:?} is the best"))
    }

    /// Checks a request that is handed on, and takes it into account.
    pub(super) fn hands_on(&mut self, entry: &Entry, chain: &Mid) -> Result<(), String> {
        let (mid, to) = (&entry.mid, entry.to.unwrap_or(MemberId::NOBODY));
        let asked = self.asked.get(chain).into_iter().flatten();
        let at = asked.clone().position(|one| one.mid == *mid);
        let one = at.and_then(|at| asked.clone().nth(at));
        let chosen = one.and_then(|one| Some((one, one.chosen.as_ref()?)));
        let Some((one, (kind, since))) = chosen else {
            return Err(format!("{mid} is handed on, and nobody waits for it"));
        };
        if !self.is_free(one, *since) {
            return Err(format!("{mid} is taken from {}, which is here", one.to));
        }
        if entry.sequence != 0 || entry.sender != one.by || !self.here.contains_key(&to) {
            return Err(format!("{mid} is handed on to {to}: {entry:?}"));
        }
        self.judge_taker(one.by, kind, to)?;
        self.given
            .entry(mid.clone())
            .or_default()
            .push((entry.position, to));
        let all = self.asked.get_mut(chain);
        if let Some(one) = all.zip(at).and_then(|(all, at)| all.get_mut(at)) {
            one.to = to;
            one.chosen = one.chosen.take().map(|(kind, _)| (kind, entry.position));
        }
        Ok(())
    }

    /// Returns the member that had a request last before this position, and the positions at which it got it, since it
    /// went from another.
    pub(super) fn given_before(&self, mid: &Mid, position: u64) -> Option<(MemberId, Vec<u64>)> {
        let given = self.given.get(mid)?.iter().rev();
        let mut given = given.filter(|(at, _)| *at < position).peekable();
        let to = given.peek().map(|(_, to)| *to)?;
        let all = given.take_while(|(_, other)| *other == to);
        Some((to, all.map(|(at, _)| *at).collect()))
    }

    /// Checks that each request has a taker, as far as the members of the session take it. Nobody has to take a request below
    /// a cancelled chain.
    pub(super) fn judge_waiting(&self, is_cancelled: impl Fn(&Mid) -> bool) -> Result<(), String> {
        let asked = self.asked.iter().filter(|(chain, _)| !is_cancelled(chain));
        for one in asked.flat_map(|(_, asked)| asked) {
            let Some((kind, at)) = &one.chosen else {
                continue;
            };
            let best = self.best(one.by, kind);
            let is_here = best.is_some_and(|(has_left, _)| !has_left);
            if self.is_free(one, *at) && (is_here || best.is_none() && !self.may_be_taken(one.by)) {
                return Err(format!(
                    "{} waits for {}, and {best:?} is here",
                    one.mid, one.to
                ));
            }
        }
        Ok(())
    }

    /// Returns whether an agent has ever joined.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// Checks that the entry of a request has the member that the request names.
    pub(super) fn judge(&self, entry: &Entry) -> Result<(), String> {
        if let Some(kind) = kind_of(&entry.text) {
            let to = entry
                .to
                .ok_or_else(|| format!("{} is for all", entry.mid))?;
            return self.judge_taker(entry.sender, &kind, to);
        }
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
            return one.to == sender || one.to == MemberId::NOBODY;
        }
        let starter = self.starters.get(chain);
        if Some(&sender) == starter && matches!(kind, "stream" | "end") {
            return true;
        }
        let mut own = asked
            .iter()
            .filter(|one| Some(&one.by) == starter)
            .peekable();
        own.peek().is_none() || own.any(|one| one.to == sender || one.to == MemberId::NOBODY)
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
                    let chosen = kind_of(text).map(|kind| (kind, entry.position));
                    if chosen.is_some() {
                        let given = self.given.entry(mid.clone()).or_default();
                        given.push((entry.position, to));
                    }
                    let one = Asked {
                        mid,
                        by,
                        to,
                        chosen,
                    };
                    self.asked.entry(chain.clone()).or_default().push(one);
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
