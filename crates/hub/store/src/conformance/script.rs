//! Scripts of steps that a store has to play.

use std::collections::BTreeSet;
use std::sync::Arc;

use accp_registry::{ErrorCode, Hash};
use accp_session::{
    Batch, Cold, Due, Entry, EntryKind, LogKey, MemberId, Mid, OutboxChange, Outgoing, Snapshot,
    Time, Voucher,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::model::Model;
use crate::side::SideId;
use crate::store::Erasure;

/// The sides of the scripts: session, agent, and whether the side is the host's.
const SIDES: [(&str, &str, bool); 5] = [
    ("launch", "hub", true),
    ("launch", "dev", false),
    ("launch@dev", "hub", true),
    ("", "", false),
    ("Grüße, '%\"\u{0}/", "ü@\u{0}", false),
];
/// The keys of values.
pub(super) const KEYS: [&str; 5] = ["k101_1", "k101_2", "k102_1", "", "ü'\u{0}"];

#[derive(Debug, Clone)]
pub(super) struct Script {
    pub steps: Vec<Action>,
    /// The first position to read after each step, and the most entries to read.
    pub window: (u64, usize),
}

#[derive(Debug, Clone)]
pub(super) enum Action {
    Commit(Vec<(SideId, BatchPlan)>),
    Reopen,
    Retain { side: SideId, log_before: u64 },
    Erase(Vec<(SideId, Unwanted)>),
    Delete(SideId),
}

/// The parts of a batch that do not depend on the state of the store.
#[derive(Debug, Clone)]
pub(super) struct BatchPlan {
    /// True when the batch of a member says that it is a host's, or the other way round.
    wrong_host: bool,
    batch: Parts,
    /// For each entry, the distance of its position from the last position before it. The distance 0 makes a conflict.
    gaps: Vec<u64>,
    handled: Option<Handled>,
    lapsed: Option<Handled>,
    /// The distance of the new epoch from the last epoch. The distance 0 makes a conflict.
    epoch: Option<u32>,
    /// How far the snapshot is before the end of the log, and the text of the snapshot. A snapshot that is older than
    /// the last one makes a conflict.
    snapshot: Option<(u64, String)>,
}

/// An erasure. The position of its snapshot is computed later, from the end of the log.
#[derive(Debug, Clone)]
pub(super) struct Unwanted {
    positions: BTreeSet<u64>,
    keys: BTreeSet<&'static str>,
    /// How far the snapshot is before the end of the log, and the text of the snapshot.
    snapshot: Option<(u64, String)>,
    lapses: bool,
}

impl Unwanted {
    /// Makes the erasure for the current state of the side.
    pub(super) fn to_erasure(&self, model: &Model, side: &SideId) -> Erasure {
        let end = model.end(side);
        let snapshot = self.snapshot.as_ref().map(|(back, text)| Snapshot {
            position: end.saturating_sub(*back),
            text: text.clone(),
        });
        Erasure {
            positions: self.positions.clone(),
            keys: self.keys.iter().map(|key| (*key).to_owned()).collect(),
            snapshot,
            lapses: self.lapses,
        }
    }
}

#[derive(Debug, Clone)]
struct Parts {
    cold: Vec<Cold>,
    expired: Vec<&'static str>,
    entries: Vec<Entry>,
    outbox: Vec<OutboxChange>,
    outbox_sequence: Option<u64>,
    last_put: Option<u64>,
    key: Option<LogKey>,
    voucher: Option<Voucher>,
    inboxes: Vec<(MemberId, String)>,
    registry: Option<(Hash, String)>,
}

#[derive(Debug, Clone, Copy)]
enum Handled {
    Due,
    NotDue,
    Unknown,
}

impl BatchPlan {
    /// Makes the batch for the current state of the side.
    pub(super) fn to_batch(&self, model: &Model, side: &SideId) -> Batch {
        let parts = self.batch.clone();
        let mut end = model.end(side);
        let mut entries = parts.entries;
        for (entry, gap) in entries.iter_mut().zip(&self.gaps) {
            end += gap;
            entry.position = end;
        }
        let (due, not_due) = model.due(side);
        let marked = |mark| match mark {
            Some(Handled::Due) => due,
            Some(Handled::NotDue) => not_due,
            Some(Handled::Unknown) => Some(end + 1),
            None => None,
        };
        let snapshot = self.snapshot.as_ref().map(|(back, text)| Snapshot {
            position: end.saturating_sub(*back),
            text: text.clone(),
        });
        Batch::new(is_host(side) != self.wrong_host).with(|batch| {
            batch.cold = parts.cold;
            batch.expired = parts.expired.into_iter().map(Into::into).collect();
            batch.entries = entries;
            batch.handled = marked(self.handled).into_iter().collect();
            batch.lapsed = marked(self.lapsed).into_iter().collect();
            batch.outbox = parts.outbox;
            batch.outbox_sequence = parts.outbox_sequence;
            batch.last_put = parts.last_put;
            batch.key = parts.key;
            batch.voucher = parts.voucher;
            batch.inboxes = parts.inboxes;
            let ahead = |ahead| model.epoch(side).saturating_add(ahead);
            batch.epoch = self.epoch.map(ahead);
            batch.registries = parts.registry.into_iter().collect();
            batch.snapshot = snapshot;
        })
    }
}

pub(super) fn script() -> impl Strategy<Value = Script> {
    (vec(step(), 1..12), (0u64..12, 0usize..6)).prop_map(|(steps, window)| Script { steps, window })
}

fn step() -> impl Strategy<Value = Action> {
    prop_oneof![
        12 => vec((side(), plan()), 1..4).prop_map(Action::Commit),
        3 => Just(Action::Reopen),
        2 => (side(), prop_oneof![0u64..12, Just(u64::MAX)])
            .prop_map(|(side, log_before)| Action::Retain { side, log_before }),
        5 => vec((side(), unwanted()), 1..4).prop_map(Action::Erase),
        1 => side().prop_map(Action::Delete),
    ]
}

fn unwanted() -> impl Strategy<Value = Unwanted> {
    (
        prop::collection::btree_set(prop_oneof![20 => 1u64..9, 1 => any::<u64>()], 0..6),
        prop::collection::btree_set(prop::sample::select(&KEYS[..]), 0..3),
        prop::option::weighted(
            0.8,
            (prop_oneof![8 => Just(0u64), 1 => 1u64..9], snapshot_text()),
        ),
        any::<bool>(),
    )
        .prop_map(|(positions, keys, snapshot, lapses)| Unwanted {
            positions,
            keys,
            snapshot,
            lapses,
        })
}

/// Returns all sides that a script may use.
pub(super) fn sides() -> impl Iterator<Item = SideId> {
    SIDES
        .iter()
        .map(|(session, agent, _)| SideId::new(session, agent))
}

/// Returns all sessions that a script may use.
pub(super) fn sessions() -> BTreeSet<&'static str> {
    SIDES.iter().map(|(session, ..)| *session).collect()
}

fn is_host(side: &SideId) -> bool {
    let mut sides = SIDES.iter();
    sides.any(|(session, agent, host)| *host && (side.session(), side.agent()) == (session, agent))
}

/// Picks mostly the first side, so that its data builds up.
fn side() -> impl Strategy<Value = SideId> {
    prop_oneof![5 => Just(0), 4 => 1..SIDES.len()].prop_map(|index| {
        let (session, agent, _) = SIDES[index];
        SideId::new(session, agent)
    })
}

/// Makes the text of a snapshot that holds the ids of a host, or any other text.
fn snapshot_text() -> impl Strategy<Value = String> {
    (any::<bool>(), text()).prop_map(|(holds_ids, text)| {
        let start = if holds_ids { Snapshot::WITH_IDS } else { "" };
        format!("{start}{text}")
    })
}

fn plan() -> impl Strategy<Value = BatchPlan> {
    let marked = || {
        prop_oneof![
            8 => Just(Handled::Due),
            1 => Just(Handled::NotDue),
            1 => Just(Handled::Unknown),
        ]
    };
    let snapshot = (prop_oneof![4 => 0u64..2, 1 => 2u64..20], snapshot_text());
    (
        parts(),
        vec(
            prop_oneof![20 => Just(1u64), 10 => 2u64..4, 1 => Just(0)],
            4,
        ),
        sometimes(marked()),
        prop::option::weighted(0.1, marked()),
        sometimes(prop_oneof![9 => 1u32..4, 1 => Just(0)]),
        sometimes(snapshot),
        prop::bool::weighted(0.02),
    )
        .prop_map(
            |(batch, gaps, handled, lapsed, epoch, snapshot, wrong_host)| BatchPlan {
                wrong_host,
                batch,
                gaps,
                handled,
                lapsed,
                epoch,
                snapshot,
            },
        )
}

fn parts() -> impl Strategy<Value = Parts> {
    let registry = text().prop_map(|json| (Hash::of(json.as_bytes()), json));
    (
        vec(cold(), 0..3),
        vec(prop::sample::select(&KEYS[..]), 0..2),
        vec(entry(), 0..4),
        vec(change(), 0..3),
        sometimes(0u64..9),
        sometimes(0u64..9),
        sometimes(any::<[u8; 32]>().prop_map(LogKey::new)),
        sometimes(vec(any::<u8>(), 72).prop_filter_map("72 bytes", |b| Voucher::from_bytes(&b))),
        vec(inbox(), 0..4),
        sometimes(registry),
    )
        .prop_map(
            |(
                cold,
                expired,
                entries,
                outbox,
                outbox_sequence,
                last_put,
                key,
                voucher,
                inboxes,
                registry,
            )| Parts {
                cold,
                expired,
                entries,
                outbox,
                outbox_sequence,
                last_put,
                key,
                voucher,
                inboxes,
                registry,
            },
        )
}

/// Gives each key one value, in most cases. Rarely the value is another one, or has a wrong length or digest.
fn cold() -> impl Strategy<Value = Cold> {
    let values = ["", "one", "one", "a value\u{0}", "ü"];
    let flaw = prop_oneof![
        20 => Just(None),
        1 => Just(Some("other bytes")),
        1 => Just(Some("length")),
        1 => Just(Some("digest")),
    ];
    (0..KEYS.len(), any::<bool>(), flaw).prop_map(move |(index, has_bytes, flaw)| {
        let mut bytes = values[index]
            .as_bytes()
            .repeat(if index == 3 { 1000 } else { 1 });
        if flaw == Some("other bytes") {
            bytes.push(b'!');
        }
        Cold {
            key: KEYS[index].into(),
            digest: Hash::of(if flaw == Some("digest") { b"x" } else { &bytes }),
            length: bytes.len() as u64 + u64::from(flaw == Some("length")),
            bytes: has_bytes.then(|| Arc::from(bytes)),
        }
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let kind = prop_oneof![
        Just(EntryKind::Frame),
        Just(EntryKind::Control),
        Just(EntryKind::Part),
        Just(EntryKind::Repeat),
        Just(EntryKind::Dropped),
        Just(EntryKind::Lost),
        (0u16..=9999)
            .prop_filter_map("a code", ErrorCode::new)
            .prop_map(EntryKind::Refused),
    ];
    let sequence = prop_oneof![2 => Just(0), 3 => 1u64..9, 1 => Just(i64::MAX as u64)];
    let sender = prop_oneof![100..=899u16, 9000..=9999u16];
    let sender = sender.prop_filter_map("a member", MemberId::new);
    let to = prop::option::weighted(0.3, prop_oneof![100..=899u16, 9000..=9999u16]);
    let at = prop_oneof![0i64..9, any::<i64>()].prop_map(Time::from_millis);
    (
        at,
        kind,
        sender,
        mid(),
        sequence,
        any::<u32>(),
        (any::<bool>(), to),
        prop::sample::select(&[Due::No, Due::Yes, Due::Lapsed][..]),
        frame(),
        any::<Option<[u8; 32]>>(),
    )
        .prop_map(
            |(at, kind, sender, mid, sequence, tokens, (cut, to), due, text, hash)| {
                // Position 0 is a placeholder. The script's plan sets the position.
                Entry::new(0, at, mid, text).with(|entry| {
                    entry.kind = kind;
                    entry.sender = sender;
                    entry.to = to.and_then(MemberId::new);
                    entry.sequence = sequence;
                    entry.tokens = tokens;
                    entry.cut = cut;
                    entry.due = due;
                    entry.hash = hash.map(Hash::from);
                })
            },
        )
}

fn change() -> impl Strategy<Value = OutboxChange> {
    let put = (1u64..9, mid(), text(), text()).prop_map(|(order, mid, head, tail)| Outgoing {
        order,
        mid,
        head,
        tail,
    });
    prop_oneof![
        2 => put.prop_map(OutboxChange::Put),
        1 => mid().prop_map(OutboxChange::Remove),
    ]
}

/// Makes the text of an inbox. There are few members, so most texts replace an earlier text. Some texts are empty, and
/// so remove the inbox.
fn inbox() -> impl Strategy<Value = (MemberId, String)> {
    let member = prop_oneof![Just(100_u16), Just(101), Just(9999)];
    let member = member.prop_filter_map("a member", MemberId::new);
    (member, prop_oneof![1 => Just(String::new()), 3 => text()])
}

/// Words that are looked for.
pub(super) const SEARCHES: [&str; 5] = ["rye", "ONE of_Spelt", "ü value", "k101 1", " %"];

/// A text of an entry: often any text, often a frame with words and references to values, and rarely an empty
/// text.
fn frame() -> impl Strategy<Value = String> {
    let frame = "@a>req:x\\{c:(Rye|oats|%C3%BC){1,2}_of__(spelt|rye)\
        \\|(v:\\$cold\\.k101_1\\|)?(w:\\$cold\\.k102_1\\|)?\\}";
    let any = text().prop_map(|text| if text.is_empty() { "-".into() } else { text });
    prop_oneof![60 => any, 30 => frame, 1 => Just(String::new())]
}

/// Picks from many ids, so that most are new.
fn mid() -> impl Strategy<Value = Mid> {
    prop_oneof![
        8 => (0u64..400).prop_map(|bits| Mid::parse(&format!("{bits:012x}"))),
        1 => Just(Mid::parse("FFFFFFFFFFFF")),
        3 => "[m0]{0,3}".prop_map(|name| Mid::parse(&name)),
        1 => Just(Mid::parse("ü\u{0}'")),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[ -~]{0,40}",
        1 => Just("a\u{0}b".to_owned()),
        1 => (0usize..9000).prop_map(|length| "ü".repeat(length)),
    ]
}

fn sometimes<T: std::fmt::Debug + Clone>(
    strategy: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.3, strategy)
}
