//! The resolution of one request through the tiers. It does no IO and has no clock: a driver passes the time to
//! it, calls the model, and waits.

use std::time::Duration;

use accp_registry::Hash;

use super::answer;
use super::claim::{Claim, ClaimDecision, ClaimRequest};
use super::entry::{Entry, EntryKey, packet};
use super::model::{ModelError, ModelErrorKind};
use super::pattern::{self, Fit};
use super::reading::Reading;
use super::registry::{Claimed, Registry};
use super::request::{Answer, FallbackError, Request, Route, Source};
use super::rule::{self, Ruled};
use crate::error::WriteError;
use crate::owned::PacketBuf;
use crate::vocabulary::Vocabulary;
use crate::workflow::Workflow;

/// How many entries are read at once.
const PAGE: usize = 256;

/// The shortest and the longest time between two checks of another caller's call, in milliseconds.
const PAUSES: [u64; 2] = [4, 64];

/// How much longer a lease is than the deadline of the model: the time to store an answer.
const SLACK: Duration = Duration::from_secs(15);

/// The options of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options<'v> {
    /// The part of the keywords that an instruction has to share with a stored one, from 0 to 1.
    pub threshold: f64,
    /// How long a request waits for another caller's call. It waits at least as long as its own lease would be.
    pub patience: Duration,
    /// The order of the fields, and the version of the packets.
    pub vocabulary: &'v Vocabulary,
    /// The workflows whose hops answer without a model.
    pub workflows: &'v [Workflow],
}

impl Default for Options<'static> {
    /// A threshold of 0.75, two minutes of patience, the standard vocabulary and workflows.
    fn default() -> Self {
        Self {
            threshold: 0.75,
            patience: Duration::from_secs(120),
            vocabulary: Vocabulary::standard(),
            workflows: Workflow::standard(),
        }
    }
}

/// What the driver of a [`Resolution`] has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum ResolutionStep {
    /// Call the model once, and give its answer to [`Resolution::answered`].
    Call,
    /// Wait for this time, then call [`Resolution::step`] again.
    Wait(Duration),
    /// Nothing: this is the answer.
    Done(Box<Answer>),
}

/// The resolution of one request.
///
/// The driver calls [`step`](Self::step) with the time, in milliseconds since 1970, and does what the step says,
/// until the resolution is done or fails. After [`ResolutionStep::Call`] the driver calls
/// [`answered`](Self::answered), which ends the resolution. `holder` is a random number that no other resolution has.
#[derive(Debug)]
pub struct Resolution<'c> {
    request: &'c Request,
    options: Options<'c>,
    holder: u64,
    /// The deadline of the model; `None` if there is no model.
    deadline: Option<Duration>,
    state: State,
}

#[derive(Debug)]
enum State {
    New,
    Waiting { number: u64, since: u64, pause: u64 },
    Calling(Claim),
}

impl<'c> Resolution<'c> {
    /// Begins the resolution of a request. `deadline` is the deadline of the model; `None` if there is no model.
    pub fn new(
        request: &'c Request,
        options: Options<'c>,
        holder: u64,
        deadline: Option<Duration>,
    ) -> Self {
        Self {
            request,
            options,
            holder,
            deadline,
            state: State::New,
        }
    }

    /// Continues until the resolution needs the model, has to wait, or is done.
    ///
    /// # Errors
    /// The failure of the registry, or of the call that this request has waited for; also if no tier answers.
    pub fn step(
        &mut self,
        registry: &mut impl Registry,
        now: u64,
    ) -> Result<ResolutionStep, FallbackError> {
        if let State::New = self.state {
            if let Some(entry) = registry.hit(&self.request.key())? {
                return self.hash(&entry);
            }
            if let Some(answer) = self.pattern(registry)? {
                return Ok(ResolutionStep::Done(Box::new(answer)));
            }
        }
        let Some(deadline) = self.deadline else {
            return Err(FallbackError::NoMatch);
        };
        let lease = deadline.saturating_add(SLACK).as_millis();
        let ask = ClaimRequest {
            holder: self.holder,
            waited: match self.state {
                State::Waiting { number, .. } => Some(number),
                _ => None,
            },
            now,
            lease: u64::try_from(lease).unwrap_or(u64::MAX),
        };
        match registry.claim(&self.request.key(), &ask)? {
            Claimed::Entry(entry) => self.hash(&entry),
            Claimed::Decided(ClaimDecision::Call(claim)) => {
                self.state = State::Calling(claim);
                Ok(ResolutionStep::Call)
            }
            Claimed::Decided(ClaimDecision::Failed(failure)) => Err(failure.into()),
            Claimed::Decided(ClaimDecision::Wait { number, until }) => {
                self.wait(number, until, now)
            }
        }
    }

    /// Takes the model's answer, and ends the resolution. A request whose answer is refused is not stored.
    ///
    /// # Errors
    /// The failure of the call, and an answer that is not one packet: [`ModelErrorKind::Refused`].
    pub fn answered(
        self,
        registry: &mut impl Registry,
        answer: Result<String, ModelError>,
    ) -> Result<Answer, FallbackError> {
        let Self {
            request, options, ..
        } = &self;
        let State::Calling(claim) = &self.state else {
            return Err(FallbackError::Waited);
        };
        let found = answer.and_then(|text| {
            let instruction = request.instruction().clone();
            let read = answer::read(&text, instruction, request.dom(), options.vocabulary);
            let refused = |refusal: answer::Refusal| {
                ModelError::new(ModelErrorKind::Refused, refusal.to_string())
            };
            read.map_err(refused)
        });
        let key = request.key();
        match (registry.settle(&key, claim, found.as_ref())?, found) {
            (Some(entry), _) => self.found(&entry, Source::Llm),
            (None, Err(failure)) => Err(failure.into()),
            (None, Ok(entry)) => self.found(&entry, Source::Llm),
        }
    }

    /// Returns which tier would answer, and changes nothing.
    ///
    /// # Errors
    /// The failure of the registry.
    pub fn route(&self, registry: &mut impl Registry) -> Result<Route, FallbackError> {
        let Self {
            request, options, ..
        } = self;
        let mut route = Route {
            source: self.deadline.map(|_| Source::Llm),
            packet: None,
            entry: None,
            rule: None,
            times_seen: None,
            score: None,
        };
        if let Some(entry) = registry.find(&request.key())? {
            let [receiver, priority] = request.head();
            route.source = Some(Source::Hash);
            route.packet = Some(entry.packet(receiver, priority, options.vocabulary)?);
            route.entry = Some(entry.key().id);
            route.times_seen = Some(entry.times_seen);
            route.score = Some(1.0);
            return Ok(route);
        }
        match self.match_pattern(registry)? {
            Some(Match::Entry(entry, fit, packet)) => {
                route.source = Some(Source::Pattern);
                route.packet = Some(packet);
                route.entry = Some(entry.key().id);
                route.times_seen = Some(entry.times_seen);
                route.score = Some(fit.score);
            }
            Some(Match::Rule(ruled)) => {
                route.source = Some(Source::Rule);
                route.packet = Some(ruled.packet);
                route.rule = Some(ruled.name);
                route.score = Some(1.0);
            }
            None => {}
        }
        Ok(route)
    }

    fn wait(&mut self, number: u64, until: u64, now: u64) -> Result<ResolutionStep, FallbackError> {
        let [shortest, longest] = PAUSES;
        let (since, pause) = match self.state {
            State::Waiting {
                number: before,
                since,
                pause,
            } if before == number => (since, (pause * 2).min(longest)),
            _ => (now, shortest),
        };
        let waited = Duration::from_millis(now.saturating_sub(since));
        // Another caller is asking the model, and gets as much time as this request would.
        let lease = self.deadline.unwrap_or_default().saturating_add(SLACK);
        if waited > self.options.patience.max(lease) {
            return Err(FallbackError::Waited);
        }
        self.state = State::Waiting {
            number,
            since,
            pause,
        };
        let left = until.saturating_sub(now).max(1);
        Ok(ResolutionStep::Wait(Duration::from_millis(pause.min(left))))
    }

    fn hash(&self, entry: &Entry) -> Result<ResolutionStep, FallbackError> {
        Ok(ResolutionStep::Done(Box::new(
            self.found(entry, Source::Hash)?,
        )))
    }

    /// Makes the answer from the entry of the instruction itself.
    fn found(&self, entry: &Entry, source: Source) -> Result<Answer, FallbackError> {
        let [receiver, priority] = self.request.head();
        let is_call = source == Source::Llm;
        Ok(Answer {
            packet: entry.packet(receiver, priority, self.options.vocabulary)?,
            source,
            id: self.request.instruction().id(),
            entry: Some(entry.key().id),
            rule: None,
            times_seen: Some(entry.times_seen),
            score: (!is_call).then_some(1.0),
            llm_calls: u32::from(is_call),
        })
    }

    /// Answers from the entry of another instruction, which counts the request, or from a hop. Returns `None` if
    /// nothing fits, or the entry has changed meanwhile; then the model is asked.
    fn pattern(&self, registry: &mut impl Registry) -> Result<Option<Answer>, FallbackError> {
        let id = self.request.instruction().id();
        let (entry, fit, packet) = match self.match_pattern(registry)? {
            None => return Ok(None),
            Some(Match::Rule(ruled)) => {
                return Ok(Some(Answer {
                    packet: ruled.packet,
                    source: Source::Rule,
                    id,
                    entry: None,
                    rule: Some(ruled.name),
                    times_seen: None,
                    score: Some(1.0),
                    llm_calls: 0,
                }));
            }
            Some(Match::Entry(entry, fit, packet)) => (entry, fit, packet),
        };
        let key: EntryKey = entry.key();
        let counted = registry.hit(&key)?;
        let is_same = |now: &Entry| (now.task(), now.fields()) == (entry.task(), entry.fields());
        // If another process has removed or changed the entry, the model is asked.
        let Some(counted) = counted.filter(is_same) else {
            return Ok(None);
        };
        Ok(Some(Answer {
            packet,
            source: Source::Pattern,
            id,
            entry: Some(key.id),
            rule: None,
            times_seen: Some(counted.times_seen),
            score: Some(fit.score),
            llm_calls: 0,
        }))
    }

    fn written(&self, entry: &Entry, fit: &Fit) -> Result<PacketBuf, WriteError> {
        let head = [entry.task(), self.request.dom()];
        let vocabulary = self.options.vocabulary;
        packet(head, self.request.head(), &fit.fields, vocabulary)
    }

    /// Finds the entry or the hop that the instruction fits best. If two entries fit equally well and give
    /// different packets, none is chosen.
    fn match_pattern(&self, registry: &mut impl Registry) -> Result<Option<Match>, FallbackError> {
        let Self {
            request, options, ..
        } = self;
        let asked = Reading::of(request.instruction().text());
        let mut best: Option<(Entry, Fit)> = None;
        let mut is_tie = false;
        let mut after: Option<Hash> = None;
        loop {
            let page = registry.page(request.dom(), after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = Some(last.key().id);
            for entry in page {
                let Some(fit) = pattern::fit(&entry, &asked, options.threshold) else {
                    continue;
                };
                let says = |(one, of): &(Entry, Fit)| {
                    one.task() == entry.task() && of.fields == fit.fields
                };
                match &best {
                    Some(before) if before.1.score > fit.score => {}
                    Some(before) if before.1.score >= fit.score => is_tie |= !says(before),
                    _ => {
                        is_tie = false;
                        best = Some((entry, fit));
                    }
                }
            }
        }
        // If no packet can hold a value, the model has to find another way to write it.
        if let Some((entry, fit)) = best.filter(|_| !is_tie)
            && let Ok(packet) = self.written(&entry, &fit)
        {
            return Ok(Some(Match::Entry(entry, fit, packet)));
        }
        let head = request.head();
        let ruled = rule::find(options.workflows, &asked, request.dom(), head);
        Ok(ruled.map(Match::Rule))
    }
}

/// What tier 2 found.
enum Match {
    Entry(Entry, Fit, PacketBuf),
    Rule(Ruled),
}
