//! Transactions: requests with an idempotency key, each of which is handled once (draft section 10.3).

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::{ErrorCode, Hash};
use serde::{Deserialize, Serialize};

use crate::log::by_member::ByMember;
use crate::log::entry::{Entry, EntryKind};
use crate::log::mid::{MemberId, Mid};
use crate::state::chain::{Chains, of};
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_frame::{Intent, Registry, Value};

/// The greatest number of transactions of a member in a session, together with the requests of the
/// member that wait for an answer.
const TRANSACTIONS: usize = 65_536;
/// The greatest number of requests that wait for the answer to an earlier one.
const WAITING: usize = 16;

/// The transactions of a session: requests whose schema names an
/// [idempotency key](accp_registry::SchemaRules::idempotency).
///
/// A transaction is known by its sender, its schema and its key. A transaction ends with the answer to its request,
/// unless the answer says that the sender may try again. Only a host keeps transactions.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Transactions {
    known: BTreeMap<Hash, Transaction>,
    /// The chains of the transactions without an answer.
    open: BTreeSet<(Mid, Hash)>,
    /// The requests that still have to get a copy of an answer, by the position of the answer.
    owed: BTreeMap<u64, Vec<Asker>>,
    /// The number of transactions and of waiting requests of each member.
    made: ByMember<usize>,
    /// Positions of answers to read from the store.
    #[serde(skip)]
    wanted: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Transaction {
    sender: MemberId,
    /// The digest of the fields.
    fields: Hash,
    phase: Phase,
}

#[derive(Debug, Serialize, Deserialize)]
enum Phase {
    /// The first request waits for its answer, and so do the later ones.
    Open(Box<Asker>, Vec<Asker>),
    /// The answer has this position.
    Ended(u64),
}

/// A request that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asker {
    pub member: MemberId,
    pub mid: Mid,
    pub chain: Mid,
}

impl Asker {
    fn of(entry: &Entry, frame: &Scanned<'_>) -> Self {
        Self {
            member: entry.sender,
            mid: entry.mid.clone(),
            chain: of(frame).unwrap_or(&entry.mid).clone(),
        }
    }
}

/// The transaction in a request.
struct Request {
    key: Hash,
    fields: Hash,
}

impl Request {
    /// Reads a frame; `None` for a frame that is not the request of a transaction.
    fn of(
        registry: &Registry,
        from: MemberId,
        frame: &Scanned<'_>,
    ) -> Result<Option<Self>, Refusal> {
        let name = name_in(registry, frame).filter(|_| frame.intent == Intent::REQ);
        let message = name.and_then(|_| frame.message(registry));
        let (Some(name), Some(message)) = (name, message) else {
            return Ok(None);
        };
        let Some(Value::String(id)) = message.payload.get(name) else {
            let expected = format!("`{name}` in the frame itself: it names the transaction");
            return Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
        };
        // A value that goes by reference gets another key each time it is sent, so it is not
        // compared.
        let fields = message.payload.iter().filter(|(_, value)| !refers(value));
        let mut fields: Vec<_> = fields
            .map(|(name, value)| format!("{name}={}\n", value.to_json()))
            .collect();
        fields.sort_unstable();
        Ok(Some(Self {
            key: key(from, frame, id),
            fields: Hash::of(fields.concat().as_bytes()),
        }))
    }
}

/// Returns the name of the idempotency key in the frame's schema.
fn name_in<'r>(registry: &'r Registry, frame: &Scanned<'_>) -> Option<&'r str> {
    frame.schema_in(registry)?.rules.idempotency.as_deref()
}

fn key(from: MemberId, frame: &Scanned<'_>, id: &str) -> Hash {
    let schema = frame.schema.unwrap_or_default();
    Hash::of(format!("{from} {schema} {id}").as_bytes())
}

fn refers(value: &Value<'_>) -> bool {
    match value {
        Value::Ref(_) => true,
        Value::Array(items) => items.iter().any(refers),
        Value::Map(map) => map.iter().any(|(_, value)| refers(value)),
        _ => false,
    }
}

impl Transactions {
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.owed.is_empty()
    }

    /// Returns whether a frame repeats the request of a transaction that is under way or has ended. No handler may
    /// get such a frame.
    ///
    /// # Errors
    /// E1004 for a key that an earlier request used with other fields, and for a key by reference. E2003 when the
    /// sender has made too many transactions, or has repeated this request too often.
    pub(crate) fn is_repeat(
        &self,
        registry: &Registry,
        chains: &Chains,
        from: MemberId,
        frame: &Scanned<'_>,
    ) -> Result<bool, Refusal> {
        let Some(request) = Request::of(registry, from, frame)? else {
            return Ok(false);
        };
        let known = self.known.get(&request.key);
        let Some(known) = known.filter(|known| !known.is_cancelled(chains)) else {
            return self.has_room(from).map(|()| false);
        };
        if known.fields != request.fields {
            let expected = "the fields of the first request of this transaction, or another \
                transaction";
            return Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
        }
        let waiting = match &known.phase {
            Phase::Open(_, waiting) => Some(waiting),
            Phase::Ended(at) => self.owed.get(at),
        };
        if waiting.is_some_and(|waiting| waiting.len() >= WAITING) {
            let expected = format!("at most {WAITING} requests that wait for one answer");
            return Err(Refusal::new(ErrorCode::BUDGET_EXCEEDED, expected));
        }
        self.has_room(from).map(|()| true)
    }

    fn has_room(&self, from: MemberId) -> Result<(), Refusal> {
        let made = self.made.get(from).copied().unwrap_or_default();
        if made < TRANSACTIONS {
            return Ok(());
        }
        let expected = format!("at most {TRANSACTIONS} transactions of a member in a session");
        Err(Refusal::new(ErrorCode::BUDGET_EXCEEDED, expected))
    }

    fn count(&mut self, member: MemberId, made: usize, gone: usize) {
        let count = self.made.or_insert_with(member, || 0);
        *count = (*count + made).saturating_sub(gone);
    }

    /// Returns the digest by which the transaction of a request is known.
    pub(crate) fn key_of(registry: &Registry, from: MemberId, frame: &Scanned<'_>) -> Option<Hash> {
        let request = Request::of(registry, from, frame).ok().flatten()?;
        Some(request.key)
    }

    /// Takes an entry of the log into account.
    pub(crate) fn fold(&mut self, registry: &Registry, entry: &Entry, frame: &Scanned<'_>) {
        match (entry.kind, frame.intent) {
            // A request that was handed on to another taker belongs to the transaction that it
            // began before.
            (EntryKind::Repeat, _) if entry.to.is_some() => {}
            (EntryKind::Frame, Intent::REQ) => self.begin(registry, entry, frame),
            (EntryKind::Repeat, Intent::REQ) => self.ask_again(registry, entry, frame),
            (EntryKind::Repeat, _) => self.paid(frame),
            (EntryKind::Frame, Intent::DONE | Intent::FAIL) if !self.open.is_empty() => {
                self.end(registry, entry, frame);
            }
            (EntryKind::Frame, Intent::CANCEL) if !self.open.is_empty() => {
                for key in self.open_in(of(frame)) {
                    self.forget(&key);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, registry: &Registry, entry: &Entry, frame: &Scanned<'_>) {
        let Ok(Some(request)) = Request::of(registry, entry.sender, frame) else {
            return;
        };
        self.forget(&request.key);
        self.count(entry.sender, 1, 0);
        let first = Asker::of(entry, frame);
        self.open.insert((first.chain.clone(), request.key));
        let transaction = Transaction {
            sender: entry.sender,
            fields: request.fields,
            phase: Phase::Open(Box::new(first), Vec::new()),
        };
        self.known.insert(request.key, transaction);
    }

    fn ask_again(&mut self, registry: &Registry, entry: &Entry, frame: &Scanned<'_>) {
        let Some(key) = Self::key_of(registry, entry.sender, frame) else {
            return;
        };
        let asker = Asker::of(entry, frame);
        match self.known.get_mut(&key).map(|known| &mut known.phase) {
            // The answer to the first request goes into this chain anyway, so no copy of it is
            // owed.
            Some(Phase::Open(first, _)) if first.chain == asker.chain => return,
            Some(Phase::Open(_, waiting)) => waiting.push(asker),
            Some(Phase::Ended(at)) => {
                let at = *at;
                self.owe(at, vec![asker]);
            }
            None => return,
        }
        self.count(entry.sender, 1, 0);
    }

    /// Ends the transactions that a frame answers: the transaction that the frame names, or else the one whose
    /// request it names, or else all open transactions in its chain.
    fn end(&mut self, registry: &Registry, entry: &Entry, frame: &Scanned<'_>) {
        let open = self.open_in(of(frame));
        if open.is_empty() {
            return;
        }
        let message = frame.message(registry);
        let field = |name| message.as_ref()?.payload.get(name);
        let named = match name_in(registry, frame).and_then(field) {
            Some(Value::String(id)) => Some(id),
            _ => None,
        };
        let aid = frame.aid();
        let is_cause = |key: &Hash| {
            let known = self.known.get(key).map(|known| &known.phase);
            matches!(known, Some(Phase::Open(first, _)) if Some(&first.mid) == aid.as_ref())
        };
        let caused = open.iter().any(is_cause);
        let is_answered = |key: &Hash| match named {
            Some(id) => {
                let sender = self.known.get(key).map(|known| known.sender);
                sender.is_some_and(|sender| self::key(sender, frame, id) == *key)
            }
            None => !caused || is_cause(key),
        };
        let answered: Vec<_> = open.into_iter().filter(is_answered).collect();
        // The profiles of the draft use both names for this field.
        let is_true = |name| field(name) == Some(&Value::Boolean(true));
        let may_be_tried_again = is_true("retry") || is_true("retryable");
        for key in answered {
            let Some(known) = self.known.get_mut(&key) else {
                continue;
            };
            let before = std::mem::replace(&mut known.phase, Phase::Ended(entry.position));
            if let Phase::Open(first, waiting) = before {
                self.open.remove(&(first.chain, key));
                self.owe(entry.position, waiting);
            }
            if may_be_tried_again {
                self.forget(&key);
            }
        }
    }

    fn owe(&mut self, at: u64, askers: Vec<Asker>) {
        if !askers.is_empty() {
            self.owed.entry(at).or_default().extend(askers);
            self.wanted.push(at);
        }
    }

    /// Notes that a request has got its copy of an answer.
    fn paid(&mut self, copy: &Scanned<'_>) {
        let aid = copy.aid();
        let is_it = |asker: &mut Asker| Some(&asker.mid) == aid.as_ref();
        let askers = self.owed.values_mut();
        let paid: Vec<_> = askers
            .flat_map(|askers| askers.extract_if(.., is_it))
            .collect();
        for asker in paid {
            self.count(asker.member, 0, 1);
        }
        self.owed.retain(|_, askers| !askers.is_empty());
    }

    fn open_in(&self, chain: Option<&Mid>) -> Vec<Hash> {
        let Some(chain) = chain else {
            return Vec::new();
        };
        let (first, last) = (Hash::from([0; 32]), Hash::from([u8::MAX; 32]));
        let open = self
            .open
            .range((chain.clone(), first)..=(chain.clone(), last));
        open.map(|(_, key)| *key).collect()
    }

    fn forget(&mut self, key: &Hash) {
        let Some(known) = self.known.remove(key) else {
            return;
        };
        let mut gone = 1;
        if let Phase::Open(first, waiting) = known.phase {
            self.open.remove(&(first.chain, *key));
            gone += waiting.len();
        }
        self.count(known.sender, 0, gone);
    }

    /// Returns the requests that still have to get a copy of the answer at this position.
    pub(crate) fn owed(&self, at: u64) -> &[Asker] {
        self.owed.get(&at).map_or(&[], Vec::as_slice)
    }

    /// Returns the positions of the answers to read, each once.
    pub(crate) fn take_wanted(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.wanted)
    }

    /// Asks the store again for all answers that members wait for.
    pub(crate) fn want_all(&mut self) {
        self.wanted = self.owed.keys().copied().collect();
    }
}

impl Transaction {
    fn is_cancelled(&self, chains: &Chains) -> bool {
        matches!(&self.phase, Phase::Open(first, _) if chains.reaches(&first.chain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::entry::Due;
    use accp_context::Time;

    fn fold(all: &mut Transactions, kind: EntryKind, position: u64, text: &str) {
        let frame = Scanned::of_entry(text).unwrap();
        let entry = Entry {
            position,
            at: Time::from_secs(0),
            kind,
            sender: MemberId::LAST,
            to: None,
            mid: frame.mid().unwrap().clone(),
            sequence: 1,
            tokens: 0,
            cut: false,
            due: Due::No,
            text: text.into(),
            hash: None,
        };
        all.fold(Registry::shared(), &entry, &frame);
    }

    fn judge(all: &Transactions, text: &str) -> Result<bool, ErrorCode> {
        let frame = Scanned::of_entry(text).unwrap();
        let (registry, chains) = (Registry::shared(), Chains::default());
        let judged = all.is_repeat(registry, &chains, MemberId::LAST, &frame);
        judged.map_err(|refusal| refusal.code)
    }

    /// A transaction counts against the limit of its member until it ends in a way that allows
    /// another attempt.
    #[test]
    fn a_member_makes_many() {
        let ask = |n: usize, id: usize| {
            format!("@a>req:transaction{{txn:t{id}|amt:1.0|schema:TX}}[mid:m{n},seq:1]")
        };
        let mut all = Transactions::default();
        fold(&mut all, EntryKind::Frame, 1, &ask(1, 1));
        fold(&mut all, EntryKind::Repeat, 2, &ask(2, 1));
        assert_eq!(all.made.get(MemberId::LAST), Some(&2));
        let most = TRANSACTIONS - 2;
        all.count(MemberId::LAST, most, 0);
        for (n, id) in [(3, 1), (3, 2)] {
            assert_eq!(judge(&all, &ask(n, id)), Err(ErrorCode::BUDGET_EXCEEDED));
        }
        let later = "@b>fail:error{code:E3001|msg:later|retry:true|schema:ER}[mid:m4,seq:1,cid:m1]";
        fold(&mut all, EntryKind::Frame, 4, later);
        assert_eq!(judge(&all, &ask(5, 1)), Ok(false));
        assert_eq!(all.made.get(MemberId::LAST), Some(&(most + 1)));
        assert_eq!(all.owed(4).len(), 1);
        let copy =
            "@b>fail:error{code:E3001|msg:later|retry:true|schema:ER}[mid:m6,seq:1,cid:m2,aid:m2]";
        fold(&mut all, EntryKind::Repeat, 6, copy);
        assert_eq!(
            (all.made.get(MemberId::LAST), all.owed(4)),
            (Some(&most), &[][..])
        );
    }

    /// Where a chain has several requests, an answer ends only the transaction that it names.
    #[test]
    fn an_answer_ends_the_transaction_that_it_names() {
        let ask = |n: u32| {
            format!("@a>req:transaction{{txn:t{n}|amt:1.0|schema:TX}}[mid:m{n},seq:1,cid:c]")
        };
        let answers = [
            (
                "@b>done:transaction{txn:t2|stat:ok|schema:TX}[mid:m9,seq:1,cid:c]",
                [true, false, true],
            ),
            (
                "@b>fail:error{code:E4003|msg:no|retry:false|schema:ER}[mid:m9,seq:1,cid:c,aid:m3]",
                [true, true, false],
            ),
            (
                "@b>fail:error{code:E4003|msg:no|retry:false|schema:ER}[mid:m9,seq:1,cid:c]",
                [false; 3],
            ),
            ("@b>done:other{}[mid:m9,seq:1,cid:c,aid:m7]", [false; 3]),
            ("@b>done:other{}[mid:m9,seq:1,cid:d]", [true; 3]),
        ];
        for (answer, open) in answers {
            let mut all = Transactions::default();
            for n in 1..=3 {
                fold(&mut all, EntryKind::Frame, n.into(), &ask(n));
            }
            fold(&mut all, EntryKind::Frame, 9, answer);
            let known = |n: u32| {
                let text = ask(n);
                let frame = Scanned::of_entry(&text).unwrap();
                let key = Transactions::key_of(Registry::shared(), MemberId::LAST, &frame).unwrap();
                matches!(all.known[&key].phase, Phase::Open(..))
            };
            assert_eq!([1, 2, 3].map(known), open, "{answer}");
        }
    }
}
