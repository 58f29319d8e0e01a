//! An evaluation of policies, and of prompts of other programs, over corpora.

use accp_context::policy::Plan;
use accp_runtime::view::View;
use accp_tokens::Bpe;

use crate::net::Prices;
use crate::pool::in_order;
use crate::prompts::{self, Rival, RivalError};
use crate::replay::{Instrument, Replay};
use crate::report::Corpus;
use crate::transcript::{Transcript, Transcripts};

/// The policies and rivals to measure, with the view and the counter.
#[derive(Debug)]
pub struct Evaluation {
    plans: Vec<Plan>,
    rivals: Vec<Rival>,
    view: View,
    counter: Bpe,
    prices: Prices,
}

impl Evaluation {
    /// Makes an evaluation of these policies, the [base](crate::BASE) first. Policies that use a
    /// registry show messages with `view`.
    pub fn new(plans: Vec<Plan>, view: View, counter: Bpe) -> Self {
        Self {
            plans,
            rivals: Vec::new(),
            view,
            counter,
            prices: Prices::default(),
        }
    }

    /// Sets the prices.
    pub fn at(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// Adds prompts of other programs to the evaluation.
    pub fn against(mut self, rivals: Vec<Rival>) -> Self {
        self.rivals.extend(rivals);
        self
    }

    /// Replays the conversations of a corpus under each policy, on all processors.
    ///
    /// # Errors
    /// When the prompts of a rival do not fit the conversations.
    pub fn measure(&self, corpus: &str, transcripts: &Transcripts) -> Result<Corpus, RivalError> {
        self.replay(corpus, transcripts, false, |_| Ok(()))
    }

    /// Measures like [`Evaluation::measure`], and passes every prompt to `dump`: lines of JSON in
    /// the order of the conversations.
    ///
    /// # Errors
    /// When the prompts of a rival do not fit the conversations, or `dump` fails.
    pub fn measure_and_dump<E: From<RivalError> + Send>(
        &self,
        corpus: &str,
        transcripts: &Transcripts,
        dump: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<Corpus, E> {
        self.replay(corpus, transcripts, true, dump)
    }

    fn replay<E: From<RivalError> + Send>(
        &self,
        name: &str,
        transcripts: &Transcripts,
        dumps: bool,
        mut dump: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<Corpus, E> {
        for rival in &self.rivals {
            rival.check(name, transcripts)?;
        }
        let mut corpus = Corpus::new(name, self.entries());
        in_order(
            transcripts.as_slice(),
            |transcript| self.hold(name, transcript, dumps),
            |held| {
                let held = held?;
                held.dump.iter().try_for_each(|lines| dump(lines))?;
                corpus.add(held.conversation, held.replays);
                Ok::<(), E>(())
            },
        )?;
        Ok(corpus)
    }

    /// Returns names and descriptions in the order of the replays.
    fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        let plans = self.plans.iter().map(|plan| (&*plan.name, &*plan.doc));
        let rivals = self.rivals.iter();
        plans.chain(rivals.map(|rival| (&*rival.name, "prompts of another program")))
    }

    /// Replays a conversation under each policy and rival.
    fn hold<'t>(
        &self,
        corpus: &str,
        transcript: &'t Transcript,
        dumps: bool,
    ) -> Result<Held<'t>, RivalError> {
        let view = self.view.clone();
        let (counter, prices) = (self.counter, self.prices);
        let mut instrument = Instrument::new(transcript, view, counter, prices, dumps);
        let mut replays = Vec::new();
        for plan in &self.plans {
            let mut policy = plan.start(instrument.opening());
            replays.push(Some(instrument.replay(&mut *policy)));
        }
        for rival in &self.rivals {
            let replay = rival.of(corpus, transcript)?.map(|played| {
                let mut replay = instrument.replay(&mut played.playback());
                replay.measure.time = played.time;
                replay
            });
            replays.push(replay);
        }
        let mut dump = Vec::new();
        for ((policy, _), replay) in self.entries().zip(&mut replays) {
            let kept = replay.as_mut().and_then(|replay| replay.kept.take());
            dump.extend(kept.map(|kept| {
                prompts::dump([corpus, &transcript.id, policy], &kept, &instrument.study)
            }));
        }
        Ok(Held {
            conversation: &transcript.id,
            replays,
            dump,
        })
    }
}

/// A conversation under each policy and rival.
struct Held<'t> {
    conversation: &'t str,
    /// `None` for a rival without prompts for the conversation.
    replays: Vec<Option<Replay>>,
    /// Lines of the dump, by policy.
    dump: Vec<String>,
}
