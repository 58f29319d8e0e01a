//! Requests that are for one agent, according to an observer that forgets nothing.

use std::collections::BTreeMap;

use accp_runtime::session::{MemberId, Mid};
use accp_session::Entry;

use super::authority::agents_in;
use super::text::{head, intent, meta, mid_in};

/// The requests that are for one agent and have no answer, by their chain.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// All agents that have ever joined, with their members.
    members: BTreeMap<String, MemberId>,
    /// The members that are in the session now. For each member, the position at which it has joined.
    here: BTreeMap<MemberId, u64>,
    /// The kinds of requests that members have said they take.
    takes: BTreeMap<MemberId, Vec<String>>,
    /// The members that each request went to, in order. For each member, the position of the entry that gave it the
    /// request.
    given: BTreeMap<Mid, Vec<(u64, MemberId)>>,
    asked: BTreeMap<Mid, Vec<Asked>>,
    /// The member that began each chain.
    starters: BTreeMap<Mid, MemberId>,
}

#[derive(Debug)]
struct Asked {
    mid: Mid,
    by: MemberId,
    to: MemberId,
    /// The position at which the member got the request.
    since: u64,
    /// The kind of the request, if the host chooses its taker.
    kind: Option<String>,
}

/// Returns whether a frame can end requests: an answer, a failure, or the end of a stream.
fn ends(text: &str) -> bool {
    matches!(intent(text), "done" | "fail" | "end")
}

/// Returns the name in the metadata of a request; `None` if the request is for all members or the host chooses its
/// taker.
pub(super) fn addressee(text: &str) -> Option<&str> {
    let name = meta(text, "to").filter(|name| !matches!(*name, "~" | "?"))?;
    matches!(intent(text), "req" | "qry").then_some(name)
}

/// Returns the kind of a request whose taker the host chooses; `None` for other requests.
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
    /// Records the agents of the host or of a member that joins, or whose rights change.
    pub(super) fn joins(&mut self, member: MemberId, text: &str, position: u64) {
        self.here.entry(member).or_insert(position);
        for name in agents_in(text) {
            self.members.insert(name.to_owned(), member);
        }
    }

    pub(super) fn leaves(&mut self, member: MemberId) {
        self.here.remove(&member);
    }

    /// Records which requests a member has said it takes.
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

    /// Returns how well a member fits a request, or `None` if it does not take the request. The least value is the
    /// best fit: members of the session come before members that have left, then members that name the kind before
    /// members that take every kind.
    fn fit(&self, member: MemberId, kind: &str) -> Option<(bool, bool)> {
        let has_left = !self.here.contains_key(&member);
        let heads = self.takes.get(&member)?;
        let names = heads.iter().any(|head| head == kind);
        let takes = names || heads.iter().any(|head| head == "*");
        takes.then_some((has_left, !names))
    }

    /// Returns the best fit that any member other than the asker has for a request.
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

    /// Returns whether no member takes a request, and no member can still say that it takes the request.
    pub(super) fn is_for_none(&self, by: MemberId, text: &str) -> bool {
        kind_of(text).is_some_and(|kind| self.best(by, &kind).is_none() && !self.may_be_taken(by))
    }

    /// Returns whether no member has a request now, because the member that got the request was not in the session,
    /// or has left since then.
    fn is_free(&self, asked: &Asked) -> bool {
        let joined = self.here.get(&asked.to);
        joined.is_none_or(|joined| *joined > asked.since)
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

    /// Checks a request that the host hands on to another member, and records its new taker.
    pub(super) fn hands_on(&mut self, entry: &Entry, chain: &Mid) -> Result<(), String> {
        let (mid, to) = (&entry.mid, entry.to.unwrap_or(MemberId::NOBODY));
        let asked = self.asked.get(chain).into_iter().flatten();
        let at = asked.clone().position(|one| one.mid == *mid);
        let one = at.and_then(|at| asked.clone().nth(at));
        let Some(one) = one else {
            return Err(format!("{mid} is handed on, and nobody waits for it"));
        };
        if !self.is_free(one) {
            return Err(format!("{mid} is taken from {}, which is here", one.to));
        }
        if entry.sequence != 0 || entry.sender != one.by || !self.here.contains_key(&to) {
            return Err(format!("{mid} is handed on to {to}: {entry:?}"));
        }
        match &one.kind {
            Some(kind) => self.judge_taker(one.by, kind, to)?,
            None if to == one.to => {}
            None => return Err(format!("{mid} names {}, and is handed on to {to}", one.to)),
        }
        self.given
            .entry(mid.clone())
            .or_default()
            .push((entry.position, to));
        let all = self.asked.get_mut(chain);
        if let Some(one) = all.zip(at).and_then(|(all, at)| all.get_mut(at)) {
            one.to = to;
            one.since = entry.position;
        }
        Ok(())
    }

    /// Returns the member that had a request just before `position`, and the positions at which this member got the
    /// request. Positions before another member had the request are left out.
    pub(super) fn given_before(&self, mid: &Mid, position: u64) -> Option<(MemberId, Vec<u64>)> {
        let given = self.given.get(mid)?.iter().rev();
        let mut given = given.filter(|(at, _)| *at < position).peekable();
        let to = given.peek().map(|(_, to)| *to)?;
        let all = given.take_while(|(_, other)| *other == to);
        Some((to, all.map(|(at, _)| *at).collect()))
    }

    /// Checks that each request has a taker, if a member of the session takes requests of its kind, or if the
    /// request names a member of the session. A request below a cancelled chain needs no taker.
    pub(super) fn judge_waiting(&self, is_cancelled: impl Fn(&Mid) -> bool) -> Result<(), String> {
        let asked = self.asked.iter().filter(|(chain, _)| !is_cancelled(chain));
        for one in asked.flat_map(|(_, asked)| asked) {
            let is_due = match &one.kind {
                Some(kind) => {
                    let best = self.best(one.by, kind);
                    let is_here = best.is_some_and(|(has_left, _)| !has_left);
                    is_here || best.is_none() && !self.may_be_taken(one.by)
                }
                None => self.here.contains_key(&one.to),
            };
            if self.is_free(one) && is_due {
                return Err(format!("{} waits for {} or another", one.mid, one.to));
            }
        }
        Ok(())
    }

    /// Returns whether an agent has ever joined.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// Checks that the entry of a request is addressed to the member that the request names.
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

    /// Returns whether a member that is not a supervisor may send a frame as an answer to requests. Each asker for
    /// whom the frame would be an answer must have asked this member.
    pub(super) fn may_answer(&self, text: &str, sender: MemberId) -> bool {
        let kind = intent(text);
        if !ends(text) && kind != "stream" {
            return true;
        }
        let fits = |one: &&Asked| one.to == sender || one.to == MemberId::NOBODY;
        let aid = mid_in(text, "aid");
        if let Some(one) = aid.as_ref().and_then(|aid| self.named(aid)) {
            return fits(&one);
        }
        let chain = mid_in(text, "cid").filter(|_| aid.is_none() || kind == "stream");
        let Some((chain, asked)) = chain.and_then(|chain| self.asked.get_key_value(&chain)) else {
            return true;
        };
        let is_starter = self.starters.get(chain) == Some(&sender);
        if is_starter && matches!(kind, "stream" | "end") {
            return true;
        }
        let mut readers = asked.iter().filter(|one| is_starter || one.by != sender);
        readers.all(|reader| {
            asked
                .iter()
                .filter(|one| one.by == reader.by)
                .any(|one| fits(&one))
        })
    }

    /// Returns the chain of the request for one agent that a frame answers, if the `aid` of the frame names such a
    /// request.
    pub(super) fn answered_in(&self, text: &str) -> Option<Mid> {
        let aid = mid_in(text, "aid").filter(|_| ends(text))?;
        let mut chains = self.asked.iter();
        let chain = chains.find(|(_, asked)| asked.iter().any(|one| one.mid == aid));
        chain.map(|(chain, _)| chain.clone())
    }

    /// Returns the open request with this id.
    fn named(&self, mid: &Mid) -> Option<&Asked> {
        self.asked.values().flatten().find(|one| one.mid == *mid)
    }

    /// Returns whether a chain has unanswered requests for one agent.
    pub(super) fn asks_in(&self, chain: &Mid) -> bool {
        self.asked.contains_key(chain)
    }

    /// Returns whether the host chose the taker of a request that a frame would answer.
    pub(super) fn answers_a_chosen_one(&self, text: &str) -> bool {
        let named = mid_in(text, "aid").and_then(|aid| self.named(&aid));
        let in_chain = mid_in(text, "cid").and_then(|chain| self.asked.get(&chain));
        let mut all = named.into_iter().chain(in_chain.into_iter().flatten());
        all.any(|one| one.kind.is_some())
    }

    /// Returns the number of requests for one agent that wait in a chain.
    pub(super) fn waiting_in(&self, chain: &Mid) -> usize {
        self.asked.get(chain).map_or(0, Vec::len)
    }

    /// Records an accepted frame of a chain. `is_open` tells whether the chain was open before this frame.
    pub(super) fn apply(&mut self, entry: &Entry, chain: &Mid, is_open: bool) {
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
                    let given = self.given.entry(mid.clone()).or_default();
                    given.push((entry.position, to));
                    let one = Asked {
                        mid,
                        by,
                        to,
                        since: entry.position,
                        kind: kind_of(text),
                    };
                    self.asked.entry(chain.clone()).or_default().push(one);
                }
            }
            _ if ends(text) => {
                let is_starter = self.starters.get(chain) == Some(&sender);
                match mid_in(text, "aid") {
                    Some(aid) => {
                        let all = self.asked.values_mut();
                        all.for_each(|asked| asked.retain(|one| one.mid != aid));
                    }
                    None => {
                        if let Some(asked) = self.asked.get_mut(chain) {
                            asked.retain(|one| one.by == sender && !is_starter);
                        }
                    }
                }
                self.asked.retain(|_, asked| !asked.is_empty());
            }
            _ => {}
        }
    }
}
