//! The sessions of a gateway: which list goes on with which, and what is known of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accp_memory::{Memory, MessageList, Promise, Window};
use ring::{digest, hmac};

use crate::config::{Config, Keep, Policy};
use crate::headers::first_half;
use crate::ledger::{Ledger, LedgerError, StoredBranch};
use crate::prices::Prices;

/// The sessions that are held open; the others are read again when they come back.
const OPEN: usize = 64;
/// The branches that a session has at most. The one that was used longest ago is forgotten first.
const BRANCHES: usize = 16;
/// A window that no list fills: to cut a list, the model would need a tool that reads what is gone.
const NO_WINDOW: u64 = 1 << 40;

/// Eight bytes of a message's digest, without the last bit. They tell apart what one client sends, and nothing else relies on
/// them. The last bit says that the message keeps the text that it came with.
pub(crate) type Digest = [u8; 8];

/// The bit of a digest whose message keeps its text.
const KEPT: u8 = 1;

/// Returns whether a message keeps the text that it came with.
pub(crate) fn is_kept(digest: Digest) -> bool {
    digest[7] & KEPT != 0
}

/// Lets a message keep the text that it came with.
pub(crate) fn keep_text(digest: &mut Digest) {
    digest[7] |= KEPT;
}

fn is_same(one: Digest, other: Digest) -> bool {
    one[..7] == other[..7] && one[7] | KEPT == other[7] | KEPT
}

/// The sessions of a gateway.
pub(crate) struct Branches {
    keep: Keep,
    window: Window,
    holdout: f64,
    ledger: Arc<Ledger>,
    secret: hmac::Key,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    sessions: HashMap<String, (u64, Arc<Mutex<Session>>)>,
    uses: u64,
}

/// A session: the lists of one client that begin alike.
pub(crate) struct Session {
    pub(crate) id: String,
    /// New messages keep the text that they came with, from now on. What has another form already keeps that: a thought may be
    /// bound to it, and a cache has it.
    pub(crate) is_plain: bool,
    pub(crate) branches: Vec<Branch>,
    uses: i64,
}

/// A list as it grows.
pub(crate) struct Branch {
    pub(crate) number: i64,
    used: i64,
    pub(crate) digests: Vec<Digest>,
    pub(crate) memory: Memory,
    /// The tokens that its last list was shorter by.
    pub(crate) removed: u64,
}

impl Branches {
    pub(crate) fn new(config: &Config, ledger: Arc<Ledger>) -> Result<Self, String> {
        let window = Window::of(NO_WINDOW);
        Ok(Self {
            keep: config.keep,
            window: window.map_err(|error| error.to_string())?,
            holdout: config.holdout,
            secret: ledger.secret().map_err(|error| error.to_string())?,
            ledger,
            open: Mutex::default(),
        })
    }

    pub(crate) fn secret(&self) -> &hmac::Key {
        &self.secret
    }

    /// Returns the name of the session of an owner that a hint, or the beginning of a list, leads to.
    /// Under [`Policy::Shadow`] it is another one, because its forms are never sent.
    pub(crate) fn name(
        &self,
        policy: Policy,
        owner: [u8; 16],
        hint: Option<&str>,
        list: &MessageList,
    ) -> String {
        let mut context = hmac::Context::with_key(&self.secret);
        if policy == Policy::Shadow {
            context.update(b"shadow");
        }
        context.update(&owner);
        context.update(list.form().name().as_bytes());
        if let Some(hint) = hint {
            context.update(b"hint");
            context.update(hint.as_bytes());
        } else {
            let messages = list.messages().iter();
            let is_user = |json: &serde_json::Value| json["role"] == "user";
            let first = messages.clone().position(|message| is_user(message.json()));
            for message in messages.take(first.map_or(1, |first| first + 1)) {
                context.update(&digest_of(message.raw()));
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

    /// Opens a session.
    pub(crate) fn session(
        &self,
        id: &str,
        prices: &Prices,
    ) -> Result<Arc<Mutex<Session>>, LedgerError> {
        if let Some(session) = self.found(id) {
            return Ok(session);
        }
        let (is_plain, stored) = self.ledger.session(id)?;
        let mut session = Session {
            id: id.to_owned(),
            is_plain,
            branches: Vec::new(),
            uses: 0,
        };
        for stored in stored {
            // What cannot be read any more begins anew.
            let memory = self.memory(prices).recall(&stored.memory);
            session.uses += 1;
            let Ok(memory) = memory else { continue };
            session.branches.push(Branch {
                number: stored.number,
                used: session.uses,
                digests: stored.digests.as_chunks::<8>().0.to_vec(),
                memory,
                removed: stored.removed,
            });
        }
        let mut open = lock(&self.open);
        open.uses += 1;
        let uses = open.uses;
        let entry = open.sessions.entry(id.to_owned());
        let (_, session) = entry.or_insert_with(|| (uses, Arc::new(Mutex::new(session))));
        let session = Arc::clone(session);
        open.shrink();
        Ok(session)
    }

    /// Returns a session that is open.
    fn found(&self, id: &str) -> Option<Arc<Mutex<Session>>> {
        let mut open = lock(&self.open);
        open.uses += 1;
        let uses = open.uses;
        let entry = open.sessions.get_mut(id)?;
        entry.0 = uses;
        Some(Arc::clone(&entry.1))
    }

    /// Lets a session stay plain from now on, and forgets what it has sent.
    pub(crate) fn make_plain(&self, id: &str, now: i64) -> Result<(), LedgerError> {
        if let Some(session) = self.found(id) {
            let mut session = lock(&session);
            session.is_plain = true;
            for branch in std::mem::take(&mut session.branches) {
                self.ledger.drop_branch(id, branch.number)?;
            }
        }
        self.ledger.make_plain(id, now)
    }

    /// Takes that the provider has refused the messages of a branch behind the first ones. They count as new when they come again;
    /// if a thought binds the list, they then keep their text.
    pub(crate) fn take_back(
        &self,
        id: &str,
        number: i64,
        first: usize,
        is_bound: bool,
        now: i64,
    ) -> Result<(), LedgerError> {
        if let Some(session) = self.found(id) {
            let mut session = lock(&session);
            session.is_plain |= is_bound;
            let mut branches = session.branches.iter_mut();
            if let Some(branch) = branches.find(|branch| branch.number == number) {
                branch.digests.truncate(first);
                self.keep(id, branch)?;
            }
        }
        if is_bound {
            self.ledger.make_plain(id, now)?;
        }
        Ok(())
    }

    fn memory(&self, prices: &Prices) -> Memory {
        Memory::new(self.window.clone(), prices.for_memory(), Promise::Append)
    }

    /// Returns the branch that a list goes on with, and how many messages of the list it has. A list that goes on with the
    /// beginning of a branch gets a branch of its own, with the same forms.
    pub(crate) fn branch<'s>(
        &self,
        session: &'s mut Session,
        digests: &[Digest],
        prices: &Prices,
    ) -> Result<(&'s mut Branch, usize), LedgerError> {
        session.uses += 1;
        let common = |branch: &Branch| {
            let pairs = branch.digests.iter().zip(digests);
            pairs
                .take_while(|(one, other)| is_same(**one, **other))
                .count()
        };
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
                let memory = self.memory(prices);
                let forked = other
                    .filter(|(_, common, _)| *common > 0)
                    .and_then(|(at, ..)| {
                        let from = session.branches.get(at)?;
                        self.memory(prices).recall(&from.memory.remember()).ok()
                    });
                if session.branches.len() >= BRANCHES {
                    self.forget_oldest(session)?;
                }
                let highest = session.branches.iter().map(|branch| branch.number).max();
                session.branches.push(Branch {
                    number: highest.unwrap_or(0) + 1,
                    used: session.uses,
                    digests: Vec::new(),
                    memory: forked.unwrap_or(memory),
                    removed: 0,
                });
                session.branches.len() - 1
            }
        };
        let uses = session.uses;
        let branch = &mut session.branches[at];
        branch.used = uses;
        branch.digests = digests;
        Ok((branch, had))
    }

    fn forget_oldest(&self, session: &mut Session) -> Result<(), LedgerError> {
        let branches = session.branches.iter().enumerate();
        if let Some((at, _)) = branches.min_by_key(|(_, branch)| branch.used) {
            let gone = session.branches.swap_remove(at);
            self.ledger.drop_branch(&session.id, gone.number)?;
        }
        Ok(())
    }

    /// Keeps a branch on disk, if prompts may stand there.
    pub(crate) fn keep(&self, id: &str, branch: &Branch) -> Result<(), LedgerError> {
        if self.keep == Keep::None {
            return Ok(());
        }
        let stored = StoredBranch {
            number: branch.number,
            digests: branch.digests.concat(),
            removed: branch.removed,
            memory: branch.memory.remember(),
        };
        self.ledger.keep_branch(id, &stored, branch.used)
    }
}

impl Open {
    /// Lets go of the sessions that were used longest ago, if there are too many and nobody uses them now.
    fn shrink(&mut self) {
        while self.sessions.len() > OPEN {
            let idle = self.sessions.iter();
            let idle = idle.filter(|(_, (_, session))| Arc::strong_count(session) == 1);
            let Some(id) = idle
                .min_by_key(|(_, (used, _))| *used)
                .map(|(id, _)| id.clone())
            else {
                return;
            };
            self.sessions.remove(&id);
        }
    }
}

/// Returns the digest of a message.
pub(crate) fn digest_of(raw: &str) -> Digest {
    let whole = digest::digest(&digest::SHA256, raw.as_bytes());
    let mut first: Digest = whole.as_ref().first_chunk().copied().unwrap_or_default();
    first[7] &= !KEPT;
    first
}

/// Locks what a thread may have left behind when it panicked: its parts are whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
