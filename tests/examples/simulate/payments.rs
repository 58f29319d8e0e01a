//! The transactions of a session, according to an observer that only reads the log (draft section 10.3).

use std::collections::BTreeMap;

use accp_runtime::session::{MemberId, Mid};
use accp_runtime::{DynamicFrame, ErrorCode, Value};
use accp_session::{Entry, EntryKind};

use super::chains::{Chains, chain_of};
use super::node::{REGISTRY, Result, said};
use super::plan::RunPlan;
use super::text::{head, intent, mid_in};

/// The most characters of a value that stays in its frame.
const SHORT: usize = 50;
const DEFAULTS: [(&str, &str); 3] = [
    ("currency", "USD"),
    ("retryable", "false"),
    ("status", "pending"),
];
/// Requests that may wait for one answer (docs/limits.md).
const WAITING: usize = 16;

/// The transactions of a log, by their sender and their key.
#[derive(Debug, Default)]
pub(super) struct Payments {
    known: BTreeMap<(MemberId, String), Payment>,
    /// The requests that must get a copy of an answer, by their ids.
    pub(super) owed: BTreeMap<Mid, Owed>,
    /// Whether stores may have discarded the text of an answer.
    may_be_gone: bool,
}

#[derive(Debug)]
struct Payment {
    /// The fields of the request, except for values by reference.
    fields: BTreeMap<String, String>,
    phase: Phase,
}

impl Payment {
    /// If the request that handlers got is in this chain and still waits for its answer, returns the id of this
    /// request.
    fn first_in(&self, chain: Option<&Mid>) -> Option<&Mid> {
        match &self.phase {
            Phase::Open((mid, of), _) => Some(mid).filter(|_| Some(of) == chain),
            Phase::Ended(_) => None,
        }
    }
}

#[derive(Debug)]
enum Phase {
    /// The id and the chain of the request that handlers got, and those of the other requests that wait for the
    /// same answer.
    Open((Mid, Mid), Vec<(Mid, Mid)>),
    /// The words of the answer.
    Ended(String),
}

#[derive(Debug)]
pub(super) struct Owed {
    member: MemberId,
    chain: Mid,
    pub(super) words: String,
}

/// Returns the key and the fields of a request for a transaction; `None` for any other message.
fn request_of(message: &DynamicFrame<'_>) -> Option<(String, BTreeMap<String, String>)> {
    let is_one = message.intent.as_str() == "req" && message.schema.as_deref() == Some("TX");
    let id = message.payload.get("transaction_id").filter(|_| is_one)?;
    let fields = message.payload.iter();
    let fields = fields.filter(|(_, value)| !matches!(value, Value::Ref(_)));
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_string()));
    // A message gets its defaults only when it is sent, and sending replaces its long values by references. So
    // neither defaults nor long values are compared.
    let is_default = |name: &str, value: &str| DEFAULTS.contains(&(name, value));
    let fields = fields.filter(|(name, value)| value.len() <= SHORT && !is_default(name, value));
    Some((id.to_string(), fields.collect()))
}

fn read(entry: &Entry) -> Result<DynamicFrame<'_>> {
    DynamicFrame::decode(&entry.text, &REGISTRY).map_err(said)
}

/// Returns the text of a frame in a chain, for checks that ask whether the chain was cancelled.
fn of_chain(chain: &Mid) -> String {
    format!("@a>req:help{{}}[mid:0,cid:{chain}]")
}

impl Payments {
    pub(super) fn new(plan: &RunPlan) -> Self {
        Self {
            may_be_gone: plan.discards > 0,
            ..Self::default()
        }
    }

    /// Returns the code with which a host must refuse a request: the same key had other fields before, or too many
    /// requests wait.
    pub(super) fn reason(
        &self,
        from: MemberId,
        message: &DynamicFrame<'_>,
        is_cancelled: impl Fn(&str) -> bool,
    ) -> Option<ErrorCode> {
        let (id, fields) = request_of(message)?;
        let known = self.known.get(&(from, id))?;
        if matches!(&known.phase, Phase::Open((_, chain), _) if is_cancelled(&of_chain(chain))) {
            return None;
        }
        let waiting = match &known.phase {
            Phase::Open(_, waiting) => waiting.len(),
            Phase::Ended(words) => {
                let owed = self.owed.values();
                owed.filter(|owed| owed.words == *words).count()
            }
        };
        if known.fields != fields {
            return Some(ErrorCode::INVALID_TYPE);
        }
        (waiting >= WAITING).then_some(ErrorCode::BUDGET_EXCEEDED)
    }

    /// Checks an entry of the log. A transaction may go to handlers again only if its last attempt has failed and
    /// may be repeated. Each request for it gets one answer.
    pub(super) fn take(&mut self, entry: &Entry, chains: &Chains, is_flooded: bool) -> Result {
        let mid = &entry.mid;
        match (entry.kind, intent(&entry.text)) {
            (EntryKind::Frame | EntryKind::Repeat, "req") if entry.text.contains("schema:TX}") => {
                let message = read(entry)?;
                let Some((id, fields)) = request_of(&message) else {
                    return Ok(());
                };
                self.asks(entry, id, fields, chains, is_flooded)
            }
            (EntryKind::Repeat, "req") => Err(format!("{mid} asks again for no transaction")),
            (EntryKind::Repeat, _) => self.paid(entry),
            (EntryKind::Frame, "done" | "fail") => self.ends(entry),
            (EntryKind::Frame, "cancel") => {
                let chain = chain_of(&entry.text);
                self.known
                    .retain(|_, known| known.first_in(chain.as_ref()).is_none());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn asks(
        &mut self,
        entry: &Entry,
        id: String,
        fields: BTreeMap<String, String>,
        chains: &Chains,
        is_flooded: bool,
    ) -> Result {
        let mid = &entry.mid;
        let asker = (mid.clone(), chain_of(&entry.text).unwrap_or(mid.clone()));
        let key = (entry.sender, id);
        let known = self.known.get_mut(&key);
        let first = known.as_ref().and_then(|known| match &known.phase {
            Phase::Open((_, chain), _) => Some(of_chain(chain)),
            Phase::Ended(_) => None,
        });
        if entry.kind == EntryKind::Frame {
            let may_be_over = first.is_some_and(|first| chains.may_be_cancelled(&first));
            if known.is_some() && !may_be_over {
                return Err(format!("{mid} is handled, as {key:?} was before"));
            }
            let phase = Phase::Open(asker, Vec::new());
            self.known.insert(key, Payment { fields, phase });
            return Ok(());
        }
        let is_over = |first: &str| chains.is_cancelled(first, entry.position, false);
        let is_over = !is_flooded && first.as_deref().is_some_and(is_over);
        let Some(known) = known.filter(|_| !is_over) else {
            return Err(format!("{mid} is not handled, and {key:?} was not"));
        };
        if known.fields != fields {
            return Err(format!("{mid} asks for {key:?} with other fields"));
        }
        match &mut known.phase {
            // The request is in the chain of the first request, so the answer to the first request also answers
            // this request.
            Phase::Open(first, _) if first.1 == asker.1 => {}
            Phase::Open(_, waiting) => waiting.push(asker),
            Phase::Ended(words) => {
                let words = words.clone();
                self.owe(entry.sender, asker, words);
            }
        }
        Ok(())
    }

    /// Ends the transactions that an answer names. If the answer names none, ends the transactions of the request
    /// that is the cause of the answer, or else all transactions of the answer's chain.
    fn ends(&mut self, entry: &Entry) -> Result {
        let chain = chain_of(&entry.text);
        let known = self.known.iter();
        let meant = known.filter_map(|(key, known)| {
            let first = known.first_in(chain.as_ref())?;
            Some((key.clone(), first.clone()))
        });
        let mut meant: Vec<_> = meant.collect();
        if meant.is_empty() {
            return Ok(());
        }
        let answer = read(entry)?;
        let named = answer.payload.get("transaction_id");
        let cause = mid_in(&entry.text, "aid");
        if let Some(id) = named.filter(|_| answer.schema.as_deref() == Some("TX")) {
            meant.retain(|((_, other), _)| *other == id.to_string());
        } else if meant.iter().any(|(_, mid)| Some(mid) == cause.as_ref()) {
            meant.retain(|(_, mid)| Some(mid) == cause.as_ref());
        }
        let says = |name| answer.payload.get(name) == Some(&Value::Boolean(true));
        let may_be_repeated = says("retry") || says("retryable");
        let words = head(&entry.text).to_owned();
        for (key, _) in meant {
            let Some(mut known) = self.known.remove(&key) else {
                continue;
            };
            let phase = std::mem::replace(&mut known.phase, Phase::Ended(words.clone()));
            if let Phase::Open(_, waiting) = phase {
                for asker in waiting {
                    self.owe(key.0, asker, words.clone());
                }
            }
            if !may_be_repeated {
                self.known.insert(key, known);
            }
        }
        Ok(())
    }

    fn owe(&mut self, member: MemberId, (mid, chain): (Mid, Mid), words: String) {
        let owed = Owed {
            member,
            chain,
            words,
        };
        self.owed.insert(mid, owed);
    }

    /// Checks that a copy of an answer has the right words, and that somebody waits for it.
    fn paid(&mut self, copy: &Entry) -> Result {
        let (text, words) = (&copy.text, head(&copy.text));
        let owed = mid_in(text, "aid").and_then(|aid| self.owed.remove(&aid));
        let Some(owed) = owed.filter(|owed| owed.member == copy.sender) else {
            return Err(format!("nobody waits for {text}"));
        };
        let is_gone = self.may_be_gone && words.contains("code:E2002|");
        if owed.words != words && !is_gone || chain_of(text) != Some(owed.chain) {
            return Err(format!("{text} is not {}", owed.words));
        }
        Ok(())
    }
}
