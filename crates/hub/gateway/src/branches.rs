//! The sessions of a gateway. A session has branches, and each branch is a list that grows from request to request.
//! This file finds the branch that a list continues, and keeps what is known of the branch.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use accp_memory::{Form, Memory, Promise, Window};
use ring::hmac;
use tokio::sync::broadcast;

use crate::aside::Aside;
use crate::asides::Asides;
use crate::bill::Bill;
use crate::config::{Config, Keep, Policy};
use crate::digest::{Digest, Place, common, keep_text};
use crate::headers::first_half;
use crate::kept::{Kept, Written};
use crate::ledger::{Ledger, LedgerError};
use crate::lock::lock;
use crate::open::Open;
use crate::prices::Prices;
use crate::read::{Read, Reader};
use crate::session::{Branch, Session};

/// The most branches of a session that are held open. If there are more, the branch that was used longest ago goes to
/// rest on disk. It is not forgotten, because a thought may be bound to its forms.
const BRANCHES: usize = 16;
/// A window that no list fills.
const NO_WINDOW: u64 = 1 << 40;

/// The most events that wait for a slow reader. If there are more, the oldest are dropped.
const EVENTS: usize = 256;

/// The sessions of a gateway.
pub(crate) struct Branches {
    keep: Keep,
    /// The policy that is carried out, or predicted.
    pub(crate) effect: Policy,
    /// The window of lists that may get shorter; `no_window` is the window of lists that may not.
    window: Window,
    no_window: Window,
    events: broadcast::Sender<String>,
    holdout: f64,
    pub(crate) reader: Reader,
    ledger: Arc<Ledger>,
    secret: hmac::Key,
    /// The sessions that are held open. Other sessions are read from the ledger when a request of theirs comes.
    open: Mutex<Open<Mutex<Session>>>,
}

impl Branches {
    pub(crate) fn new(config: &Config, ledger: Arc<Ledger>) -> Result<Self, String> {
        let of = |tokens| Window::of(tokens).map_err(|error| format!("--window {tokens}: {error}"));
        Ok(Self {
            keep: config.keep,
            effect: config.effect(),
            window: of(config.window.unwrap_or(NO_WINDOW))?,
            no_window: of(NO_WINDOW)?,
            events: broadcast::Sender::new(EVENTS),
            holdout: config.holdout,
            reader: Reader::default(),
            secret: ledger.secret().map_err(|error| error.to_string())?,
            ledger,
            open: Mutex::default(),
        })
    }

    pub(crate) fn secret(&self) -> &hmac::Key {
        &self.secret
    }

    /// Returns the name of a session: a digest of its owner, with the client's hint or else the beginning of the
    /// list. Under [`Policy::Shadow`] the digest differs, so the session has another name: its forms are never sent.
    pub(crate) fn name(
        &self,
        policy: Policy,
        owner: [u8; 16],
        hint: Option<&str>,
        (form, list): (Form, &Read),
    ) -> String {
        let mut context = hmac::Context::with_key(&self.secret);
        if policy == Policy::Shadow {
            context.update(b"shadow");
        }
        context.update(&owner);
        context.update(form.name().as_bytes());
        if let Some(hint) = hint {
            context.update(b"hint");
            context.update(hint.as_bytes());
        } else {
            let mut items = list.items.iter();
            let first = items.position(|item| item.message.json()["role"] == "user");
            for item in list.items.iter().take(first.map_or(1, |first| first + 1)) {
                context.update(&item.digest);
            }
        }
        hex::encode(first_half(context.sign().as_ref()))
    }

    /// Returns whether the requests of a session stay as they are, for comparison.
    pub(crate) fn is_held_out(&self, id: &str) -> bool {
        let digits = id
            .get(..8)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        digits.is_some_and(|drawn| f64::from(drawn) < self.holdout * f64::from(u32::MAX))
    }

    /// Returns a session. If it is not held open, it is read from the ledger.
    pub(crate) fn session(
        &self,
        id: &str,
        prices: &Prices,
    ) -> Result<Arc<Mutex<Session>>, LedgerError> {
        if let Some(session) = self.found(id) {
            return Ok(session);
        }
        let kept = self.ledger.session(id, BRANCHES)?;
        let (cost, plain) = self.ledger.spent(id)?;
        let mut session = Session {
            id: id.to_owned(),
            is_plain: kept.is_plain,
            is_unkept: false,
            branches: Vec::new(),
            resting: HashMap::new(),
            highest: 0,
            asides: Asides::default(),
            cost,
            plain,
            uses: 0,
        };
        for (place, text) in self.ledger.asides(id)? {
            if let (Ok(place), Ok(aside)) = (place.try_into(), serde_json::from_str(&text)) {
                for gone in session.asides.put(place, aside, text.len()) {
                    self.ledger.drop_aside(id, &gone)?;
                }
            }
        }
        for (number, digests) in kept.resting {
            session.rest(number, digests.as_chunks::<8>().0);
        }
        for (kept, written) in kept.branches {
            self.take_up(&mut session, &kept, Some(written), prices);
        }
        Ok(lock(&self.open).hold(id, Mutex::new(session)))
    }

    /// Returns a session, if it is held open.
    fn found(&self, id: &str) -> Option<Arc<Mutex<Session>>> {
        lock(&self.open).found(id)
    }

    /// Records how many bytes the list of a session has, together with its asides.
    pub(crate) fn weigh(&self, id: &str, bytes: usize) {
        lock(&self.open).weigh(id, bytes);
    }

    /// Makes a session plain from now on, after the provider has taken the original list of a branch and not the
    /// changed one. This branch's list stays as the client sends it. The other lists of the session keep their forms,
    /// because thoughts may be bound to these forms.
    pub(crate) fn make_plain(
        &self,
        id: &str,
        number: i64,
        prices: &Prices,
        now: i64,
    ) -> Result<(), LedgerError> {
        let session = self.session(id, prices)?;
        let mut session = lock(&session);
        self.stays_plain(&mut session, now)?;
        if let Some(branch) = self.opened(&mut session, number, prices)? {
            if let Some(given) = branch.held.first() {
                branch.digests = given.digests();
            }
            self.go_back(branch, prices);
            self.keep(id, branch)?;
        }
        Ok(())
    }

    /// Lets new messages of a session keep their text from now on.
    pub(crate) fn stays_plain(&self, session: &mut Session, now: i64) -> Result<(), LedgerError> {
        session.is_plain = true;
        self.ledger.make_plain(&session.id, now)
    }

    /// Lets all messages that a branch has had keep the text that they came with.
    pub(crate) fn go_back(&self, branch: &mut Branch, prices: &Prices) {
        branch.promise = Promise::Append;
        branch.memory = self.memory(prices, branch.promise);
        branch.digests.iter_mut().for_each(keep_text);
    }

    /// Returns a branch of a session. A branch that rests is opened.
    fn opened<'s>(
        &self,
        session: &'s mut Session,
        number: i64,
        prices: &Prices,
    ) -> Result<Option<&'s mut Branch>, LedgerError> {
        let is_open = |branch: &Branch| branch.number == number;
        if !session.branches.iter().any(is_open) {
            let found = self.ledger.branch(&session.id, number)?;
            if found.is_some() {
                self.make_room(session)?;
            }
            session.resting.remove(&number);
            if let Some((kept, written)) = found {
                self.take_up(session, &kept, Some(written), prices);
            }
        }
        let mut branches = session.branches.iter_mut();
        Ok(branches.find(|branch| branch.number == number))
    }

    /// Keeps the aside of an answer, in the session and in the ledger.
    pub(crate) fn put_aside(
        &self,
        session: &Mutex<Session>,
        place: Place,
        aside: Aside,
    ) -> Result<(), LedgerError> {
        // An aside always becomes JSON, because it has only names, numbers and texts.
        let text = serde_json::to_string(&aside).unwrap_or_default();
        let mut session = lock(session);
        let gone = session.asides.put(place, aside, text.len());
        self.ledger.keep_aside(&session.id, &place, &text)?;
        let mut gone = gone.iter();
        gone.try_for_each(|place| self.ledger.drop_aside(&session.id, place))
    }

    /// Adds the bill of a request to its session, if the session is held open.
    pub(crate) fn billed(&self, id: &str, bill: Bill) {
        if let Some(session) = self.found(id) {
            let mut session = lock(&session);
            session.cost += bill.cost;
            session.plain += bill.plain;
        }
    }

    /// Sends an event about a list to those who listen, before the list goes out.
    pub(crate) fn tell(&self, event: String) {
        // The result does not matter: it only says whether somebody listens.
        let _ = self.events.send(event);
    }

    /// Returns a receiver of all events from now on.
    pub(crate) fn events(&self) -> broadcast::Receiver<String> {
        self.events.subscribe()
    }

    /// Notes that the provider has refused the messages of a branch after the first `first` ones. These messages
    /// count as new when they come again. If a thought binds the list, they then keep their text.
    pub(crate) fn take_back(
        &self,
        id: &str,
        (number, first, is_bound): (i64, usize, bool),
        prices: &Prices,
        now: i64,
    ) -> Result<(), LedgerError> {
        let session = self.session(id, prices)?;
        let mut session = lock(&session);
        if is_bound {
            self.stays_plain(&mut session, now)?;
        }
        if let Some(branch) = self.opened(&mut session, number, prices)? {
            branch.digests.truncate(first);
            self.keep(id, branch)?;
        }
        Ok(())
    }

    fn memory(&self, prices: &Prices, promise: Promise) -> Memory {
        let (window, prices) = match promise {
            Promise::Append => (&self.no_window, prices.for_memory()),
            Promise::Save | Promise::Window => (&self.window, prices.with_tier()),
        };
        Memory::new(window.clone(), prices, promise)
    }

    /// Returns the branch that a list continues, and how many messages of the list the branch had. The branch gets
    /// this promise. A list that continues only the beginning of a branch gets a new branch with the same forms.
    pub(crate) fn branch<'s>(
        &self,
        session: &'s mut Session,
        digests: &[Digest],
        (prices, promise): (&Prices, Promise),
    ) -> Result<(&'s mut Branch, usize), LedgerError> {
        session.uses += 1;
        self.wake(session, digests, prices)?;
        let common = |branch: &Branch| common(&branch.digests, digests);
        let goes_on = |branch: &Branch| common(branch) == branch.digests.len();
        let branches = session.branches.iter().enumerate();
        let best =
            branches.max_by_key(|(_, branch)| (common(branch), goes_on(branch), branch.used));
        let best = best.map(|(at, branch)| (at, common(branch), goes_on(branch)));
        let had = best.map_or(0, |(_, common, _)| common);
        let mut digests = digests.to_vec();
        if let Some(from) = best.and_then(|(at, ..)| session.branches.get(at)) {
            digests.splice(..had, from.digests.iter().take(had).copied());
        }
        let at = match best {
            Some((at, _, true)) => at,
            other => {
                let memory = self.memory(prices, promise);
                let forked = other
                    .filter(|(_, common, _)| *common > 0)
                    .and_then(|(at, ..)| {
                        let from = session.branches.get(at)?;
                        let memory = self.memory(prices, promise);
                        Some((memory.recall(&from.memory.remember()).ok()?, from.last))
                    });
                let (memory, last) = forked.unwrap_or((memory, 0));
                self.make_room(session)?;
                session.highest += 1;
                session.branches.push(Branch {
                    number: session.highest,
                    used: session.uses,
                    digests: Vec::new(),
                    memory,
                    held: Vec::new(),
                    written: None,
                    promise,
                    last,
                    given: 0,
                    in_use: Arc::default(),
                });
                session.branches.len() - 1
            }
        };
        let uses = session.uses;
        let branch = &mut session.branches[at];
        if branch.promise != promise {
            let text = branch.memory.remember();
            // A memory can read the text that it has just written, so this does not fail.
            if let Ok(memory) = self.memory(prices, promise).recall(&text) {
                branch.memory = memory;
                branch.promise = promise;
            }
        }
        branch.used = uses;
        branch.digests = digests;
        Ok((branch, had))
    }

    /// Takes up a copy of a branch of another session, if thoughts bind the first `bound` messages of a list, and no
    /// branch of this session has these messages. A client may go on with a list under another name of its session, or
    /// with another key, and the provider refuses its thoughts behind other forms.
    pub(crate) fn take_over(
        &self,
        session: &mut Session,
        (digests, bound): (&[Digest], usize),
        prices: &Prices,
    ) -> Result<(), LedgerError> {
        let Some(most) = bound.checked_sub(1) else {
            return Ok(());
        };
        let has_them = |branch: &Branch| common(&branch.digests, digests) > most;
        if session.branches.iter().any(has_them) || session.resting_with(digests, most).is_some() {
            return Ok(());
        }
        let own = self.ledger.again();
        let ledger = own.as_ref().unwrap_or(&self.ledger);
        let Some((id, number)) = ledger.branch_with(digests, bound)? else {
            return Ok(());
        };
        if let Some((mut kept, _)) = self.ledger.branch(&id, number)? {
            self.make_room(session)?;
            session.uses += 1;
            kept.number = session.highest + 1;
            kept.used = session.uses;
            self.take_up(session, &kept, None, prices);
        }
        Ok(())
    }

    /// Opens a branch that was read from the ledger. `written` is what the ledger has of it in this session.
    fn take_up(
        &self,
        session: &mut Session,
        kept: &Kept,
        written: Option<Written>,
        prices: &Prices,
    ) {
        session.uses = session.uses.max(kept.used);
        session.highest = session.highest.max(kept.number);
        let memory = self.memory(prices, Promise::Append);
        // If the memory cannot be read any more, no branch is opened, and the list begins a new branch.
        if let Ok(memory) = memory.recall(&kept.memory) {
            session.branches.push(Branch {
                number: kept.number,
                used: kept.used,
                digests: kept.digests.as_chunks::<8>().0.to_vec(),
                memory,
                held: Vec::new(),
                written,
                promise: Promise::Append,
                last: kept.last,
                given: 0,
                in_use: Arc::default(),
            });
        }
    }

    /// Opens the resting branch that has the longest beginning of a list, if no open branch has as much of the list.
    fn wake(
        &self,
        session: &mut Session,
        digests: &[Digest],
        prices: &Prices,
    ) -> Result<(), LedgerError> {
        if session.resting.is_empty() {
            return Ok(());
        }
        let branches = session.branches.iter();
        let open = branches.map(|branch| common(&branch.digests, digests));
        let open = open.max().unwrap_or(0);
        if let Some(number) = session.resting_with(digests, open) {
            self.opened(session, number, prices)?;
        }
        Ok(())
    }

    /// If too many branches are open, moves the branch that was used longest ago to rest on disk. A branch whose
    /// answer is under way stays open, because only the list of its request has the lines that the model may read.
    fn make_room(&self, session: &mut Session) -> Result<(), LedgerError> {
        if session.branches.len() < BRANCHES {
            return Ok(());
        }
        let branches = session.branches.iter().enumerate();
        let free = branches.filter(|(_, branch)| Arc::strong_count(&branch.in_use) == 1);
        let Some((at, _)) = free.min_by_key(|(_, branch)| branch.used) else {
            return Ok(());
        };
        let gone = session.branches.swap_remove(at);
        if let Some(number) = session.rest(gone.number, &gone.digests) {
            self.ledger.drop_branch(&session.id, number)?;
        }
        Ok(())
    }

    /// Writes a branch to the ledger, unless the ledger may not hold parts of prompts.
    pub(crate) fn keep(&self, id: &str, branch: &mut Branch) -> Result<(), LedgerError> {
        if self.keep == Keep::None {
            return Ok(());
        }
        let kept = Kept {
            number: branch.number,
            used: branch.used,
            last: branch.last,
            digests: branch.digests.concat(),
            memory: branch.memory.remember(),
        };
        let before = branch.written.take();
        branch.written = Some(self.ledger.keep_branch(id, kept, before)?);
        Ok(())
    }
}
