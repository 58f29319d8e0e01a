//! Erases data of a session from every side of it that a store has.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use accp_frame::AgentId;
use accp_session::{
    EntryKind, Erased, Erasing, MemberId, Mid, Options, RestoreError, Rules, Selection, Session,
    State, Stored, Time,
};

use crate::error::StoreError;
use crate::log::Log;
use crate::side::SideId;
use crate::store::{Erasure, Freed, Store, Summary};

/// The data of a session to erase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErasureRequest {
    /// All frames of this agent, and all values that it has put.
    pub from: Option<String>,
    /// The frames at these positions. Control frames are skipped.
    pub positions: Vec<RangeInclusive<u64>>,
    /// The values under these keys, without their tier: `k101_7`.
    pub keys: BTreeSet<String>,
    /// True to let frames lapse that wait for a handler. If false, such a frame makes the plan fail, and nothing
    /// is erased.
    pub lapses: bool,
}

/// An erasure that is ready to be carried out: what it deletes from each side of a session in a store.
///
/// With the frames, the plan erases what [`Erasing`] says: their parts and copies, their values, and the checkpoints
/// that may state facts of them. The plan makes a new fold of each side without the erased data. Texts by other agents
/// about this data stay. Copies in other places stay, too: in the stores of other agents, and in backups.
///
/// While a side is open, its session holds the data in memory. So close the side first, or let
/// [`Committer::interrupt`](crate::Committer::interrupt) close it.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::profiles::ChatReq;
/// use accp_runtime::session::{Options, Outbound, Rules, Time};
/// use accp_runtime::{AgentId, Registry};
/// use accp_store::{Driver, ErasurePlan, ErasureRequest, MemoryStore, Store};
///
/// let registry = Arc::new(Registry::standard());
/// let options = Options::new("launch", AgentId::new("hub")?, registry);
/// let (mut store, now) = (MemoryStore::new(), Time::from_secs(1_714_000_000));
/// let mut host = Driver::open_host(&mut store, Vec::new(), options.clone(), Rules::default(), now)?;
/// host.send(&Outbound::frame(&ChatReq::new("Buy the ring.")), now)?;
/// host.carry_out(now)?;
/// let (at, side) = (host.session().position(), host.side().clone());
/// drop(host);
///
/// let wanted = ErasureRequest { positions: vec![at..=at], ..ErasureRequest::default() };
/// let plan = ErasurePlan::make(&mut store, "launch", &wanted, &options, &Rules::default())?;
/// assert_eq!(plan.sides()[0].entries[0].position, at);
/// assert_eq!(plan.carry_out(&mut store)?.entries, 1);
/// assert_eq!(&*store.entry(&side, at)?.expect("its place stays").text, "");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ErasurePlan {
    sides: Vec<SideErasurePlan>,
}

/// What is erased from one side.
#[derive(Debug)]
pub struct SideErasurePlan {
    /// The side.
    pub side: SideId,
    /// True when the side is the host's.
    pub host: bool,
    /// The entries that lose their texts, ascending.
    pub entries: Vec<PlannedEntry>,
    /// The keys of the values that are erased.
    pub keys: BTreeSet<String>,
    erasure: Erasure,
}

/// An entry whose text is erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedEntry {
    /// The position.
    pub position: u64,
    /// The kind.
    pub kind: EntryKind,
    /// The member that sent the entry.
    pub sender: MemberId,
    /// The number of bytes of the text.
    pub bytes: u64,
}

/// Why nothing was erased.
#[derive(Debug)]
#[non_exhaustive]
pub enum EraseError {
    /// The store failed.
    Store(StoreError),
    /// The state of a side cannot be restored from the store.
    Restore(SideId, RestoreError),
    /// The agent in the name of a side is not a valid name of an agent.
    Name(SideId),
    /// The request names nothing to erase.
    Nothing,
    /// The store has no session of this name.
    Session(String),
    /// No agent of this name is in the session.
    Agent {
        /// The name.
        agent: String,
        /// The agents that are or were in the session.
        known: Vec<String>,
    },
    /// A position is beyond the log, or is 0.
    Position {
        /// The positions that were named.
        named: RangeInclusive<u64>,
        /// The last position of the log.
        last: u64,
    },
    /// No side has a value under this key.
    Key(String),
    /// A frame waits for its handler.
    Due(SideId, u64),
    /// The outbox of this side still has a frame that is to be erased: the sender has not sent it, or does not
    /// know yet that the host has taken it.
    Outbox(SideId),
}

impl ErasurePlan {
    /// Finds all that has to be erased from the sides of a session. Changes nothing.
    ///
    /// The plan covers every side that has the name of the session: also the copies of members, and sides of another
    /// log that has the same name. [`of_side`](Self::of_side) covers one side alone.
    ///
    /// `options` and `rules` are the options and rules of the running session, or the defaults. The plan replaces the
    /// names of session and agent in `options`.
    ///
    /// # Errors
    /// As [`EraseError`] says.
    pub fn make<S: Store + ?Sized>(
        store: &mut S,
        session: &str,
        wanted: &ErasureRequest,
        options: &Options,
        rules: &Rules,
    ) -> Result<Self, EraseError> {
        let all = store.sides(session)?;
        Self::of_all(store, session, &all, wanted, options, rules)
    }

    /// Finds all that has to be erased from one side, as [`make`](Self::make) does from all sides of a session. The
    /// other sides keep the data.
    ///
    /// # Errors
    /// As [`EraseError`] says.
    pub fn of_side<S: Store + ?Sized>(
        store: &mut S,
        side: &SideId,
        wanted: &ErasureRequest,
        options: &Options,
        rules: &Rules,
    ) -> Result<Self, EraseError> {
        let all = Vec::from_iter(store.summary(side)?);
        Self::of_all(store, side.session(), &all, wanted, options, rules)
    }

    fn of_all<S: Store + ?Sized>(
        store: &mut S,
        session: &str,
        all: &[Summary],
        wanted: &ErasureRequest,
        options: &Options,
        rules: &Rules,
    ) -> Result<Self, EraseError> {
        if wanted.from.is_none() && wanted.positions.is_empty() && wanted.keys.is_empty() {
            return Err(EraseError::Nothing);
        }
        let last = all.iter().map(|summary| summary.last).max();
        let last = last.ok_or_else(|| EraseError::Session(session.to_owned()))?;
        let mut named = wanted.positions.iter();
        if let Some(named) =
            named.find(|named| *named.start() == 0 || *named.start() > last || named.is_empty())
        {
            let named = named.clone();
            return Err(EraseError::Position { named, last });
        }
        let mut plan = Self { sides: Vec::new() };
        let (mut known, mut is_known) = (BTreeSet::new(), wanted.from.is_none());
        let mut unknown = wanted.keys.clone();
        for summary in all {
            let side = &summary.side;
            let Some(stored) = store.load(side)? else {
                continue;
            };
            let mut fold = Fold::of(side, stored, options, rules)?;
            let mut selection = Selection {
                positions: wanted.positions.clone(),
                keys: wanted.keys.clone(),
                ..Selection::default()
            };
            if let Some(from) = &wanted.from {
                let state = fold.state()?;
                let mut members = state.members();
                let found = members.find(|(_, party)| party.agents.contains(from));
                if let Some((number, party)) = found {
                    selection.sender = Some(number);
                    selection.agents.clone_from(&party.agents);
                    is_known = true;
                }
                known.extend(state.members().flat_map(|(_, party)| party.agents.clone()));
            }
            let keys = store.cold_keys(side)?;
            let mut erasing = Erasing::new(selection);
            let (at, folded) = fold.folded(store)?;
            let mut folded = Some(folded);
            for entry in Log::new(&mut *store, side, 1) {
                let entry = entry?;
                if entry.position > at {
                    take(&mut erasing, &mut folded);
                }
                erasing.read(&entry);
            }
            take(&mut erasing, &mut folded);
            for key in &keys {
                unknown.remove(key);
                if let Some(text) = fetched(store, side, key)? {
                    erasing.fetched(key, &text);
                }
            }
            let erased = erasing.finish(&keys);
            fold.check(&erased, wanted)?;
            if let Some(part) = fold.part(erased, wanted)? {
                plan.sides.push(part);
            }
        }
        if let Some(agent) = wanted.from.clone().filter(|_| !is_known) {
            let known = known.into_iter().collect();
            return Err(EraseError::Agent { agent, known });
        }
        match unknown.pop_first() {
            Some(key) => Err(EraseError::Key(key)),
            None => Ok(plan),
        }
    }

    /// Returns what is erased from each side, without the sides from which nothing is erased.
    pub fn sides(&self) -> &[SideErasurePlan] {
        &self.sides
    }

    /// Erases everything, or nothing. Also carry out an empty plan: the store then scrubs its files if an earlier
    /// erasure was not completed.
    ///
    /// # Errors
    /// As [`Store::erase`].
    pub fn carry_out<S: Store + ?Sized>(&self, store: &mut S) -> Result<Freed, StoreError> {
        let group = self.sides.iter().map(|part| (&part.side, &part.erasure));
        store.erase(&group.collect::<Vec<_>>())
    }
}

/// Gives the frames of a fold to an erasure, once.
fn take(erasing: &mut Erasing, folded: &mut Option<Vec<(u64, String)>>) {
    for (position, text) in folded.take().into_iter().flatten() {
        erasing.folded(position, &text);
    }
}

/// Returns the text of a frame that a side has fetched, if the key is that of a frame.
fn fetched<S: Store + ?Sized>(
    store: &mut S,
    side: &SideId,
    key: &str,
) -> Result<Option<String>, StoreError> {
    if !key.starts_with('p') {
        return Ok(None);
    }
    let bytes = store.cold(side, key)?.and_then(|kept| kept.value.bytes);
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A side as its store has it.
struct Fold<'f> {
    side: &'f SideId,
    stored: Stored,
    options: Options,
    rules: &'f Rules,
}

impl<'f> Fold<'f> {
    fn of(
        side: &'f SideId,
        stored: Stored,
        options: &Options,
        rules: &'f Rules,
    ) -> Result<Self, EraseError> {
        let agent = AgentId::new(side.agent().to_owned());
        let options = Options {
            session: side.session().to_owned(),
            agent: agent.map_err(|_| EraseError::Name(side.clone()))?,
            ..options.clone()
        };
        Ok(Self {
            side,
            stored,
            options,
            rules,
        })
    }

    fn restore_error(&self) -> impl Fn(RestoreError) -> EraseError + '_ {
        |error| EraseError::Restore(self.side.clone(), error)
    }

    fn state(&mut self) -> Result<State, EraseError> {
        let (options, now) = (self.options.clone(), Time::default());
        let restored = if self.stored.host {
            Session::restore_host(options, self.rules.clone(), &self.stored, now)
        } else {
            Session::restore_member(options, &self.stored, now)
        };
        let session = restored.map_err(self.restore_error())?;
        Ok(session.state().clone())
    }

    /// Returns the position of the snapshot, and the frames that were hot there and that the log lacks.
    fn folded<S: Store + ?Sized>(
        &self,
        store: &mut S,
    ) -> Result<(u64, Vec<(u64, String)>), EraseError> {
        let Some(snapshot) = &self.stored.snapshot else {
            return Ok((0, Vec::new()));
        };
        let mut lacking = Vec::new();
        for (position, text) in snapshot.hot().map_err(self.restore_error())? {
            let entry = store.entry(self.side, position)?;
            if entry.is_none_or(|entry| entry.text.is_empty()) {
                lacking.push((position, text));
            }
        }
        Ok((snapshot.position, lacking))
    }

    /// Checks that no outbox and no handler still needs the data.
    fn check(&self, erased: &Erased, wanted: &ErasureRequest) -> Result<(), EraseError> {
        let outbox = &self.stored.outbox;
        let is_own = wanted.from.as_deref() == Some(self.side.agent());
        let mut mids = erased.entries.iter().map(|entry| &entry.mid);
        let stands = |mid: &Mid| outbox.iter().any(|frame| frame.mid == *mid);
        if is_own && !outbox.is_empty() || mids.any(stands) {
            return Err(EraseError::Outbox(self.side.clone()));
        }
        let mut entries = erased.entries.iter();
        match entries.find(|entry| entry.is_due() && !wanted.lapses) {
            Some(due) => Err(EraseError::Due(self.side.clone(), due.position)),
            None => Ok(()),
        }
    }

    fn part(
        self,
        erased: Erased,
        wanted: &ErasureRequest,
    ) -> Result<Option<SideErasurePlan>, EraseError> {
        if erased.is_empty() {
            return Ok(None);
        }
        let (options, rules) = (self.options.clone(), self.rules.clone());
        let snapshot = Session::fold_without(options, rules, &self.stored, &erased);
        let snapshot = snapshot.map_err(self.restore_error())?;
        let entries = erased.entries.iter().map(|entry| PlannedEntry {
            position: entry.position,
            kind: entry.kind,
            sender: entry.sender,
            bytes: entry.text.len() as u64,
        });
        let entries: Vec<_> = entries.collect();
        let erasure = Erasure {
            positions: entries.iter().map(|entry| entry.position).collect(),
            keys: erased.keys.clone(),
            snapshot: Some(snapshot),
            lapses: wanted.lapses,
        };
        Ok(Some(SideErasurePlan {
            side: self.side.clone(),
            host: self.stored.host,
            entries,
            keys: erased.keys,
            erasure,
        }))
    }
}

impl From<StoreError> for EraseError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for EraseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "{error}"),
            Self::Restore(side, error) => write!(f, "side `{side}`: {error}"),
            Self::Name(side) => write!(f, "side `{side}` is not named after an agent"),
            Self::Nothing => f.write_str("name an agent, positions or keys to erase"),
            Self::Session(session) => write!(f, "there is no session `{session}`"),
            Self::Agent { agent, known } => write!(
                f,
                "no agent `{agent}` is or was in the session: it has {}",
                known.join(", ")
            ),
            Self::Position { named, last } => write!(
                f,
                "{}..{} are not positions of the log: they go from 1 to {last}, the first before the \
                 last",
                named.start(),
                named.end()
            ),
            Self::Key(key) => write!(
                f,
                "there is no value under `{key}`: a key is written without its tier, as k101_7"
            ),
            Self::Due(side, position) => write!(
                f,
                "position {position} waits for a handler of `{side}`: have it handled, or let it lapse"
            ),
            Self::Outbox(side) => write!(
                f,
                "`{side}` has frames in its outbox whose fate it does not know yet: let it speak with \
                 its host first, or delete the side"
            ),
        }
    }
}

impl std::error::Error for EraseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Restore(_, error) => Some(error),
            _ => None,
        }
    }
}
