//! An evaluation of policies, and of prompts of other programs, over corpora.

use accp_context::policy::Plan;
use accp_runtime::view::View;
use accp_tokens::Bpe;

use crate::net::Prices;
use crate::pool::in_order;
use crate::prompts::{Rival, RivalError};
use crate::replay::{Instrument, Replay};
use crate::report::Corpus;
use crate::transcript::Transcript;

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
    /// When a rival has prompts for some turns of a conversation only.
    pub fn measure(&self, corpus: &str, transcripts: &[Transcript]) -> Result<Corpus, RivalError> {
        let mut corpus = self.corpus(corpus);
        self.measure_more(
            &mut corpus,
            transcripts,
            false,
            |_| Ok::<(), RivalError>(()),
        )?;
        Ok(corpus)
    }

    /// Begins a corpus of this name, without conversations.
    pub fn corpus(&self, name: &str) -> Corpus {
        Corpus::new(name, self.entries())
    }

    /// Measures more conversations of a corpus, so that not all of them have to be in memory. If it
    /// `dumps`, it passes every prompt to `dump`: lines of JSON in the order of the conversations.
    ///
    /// # Errors
    /// When a rival has prompts for some turns of a conversation only, or `dump` fails.
    pub fn measure_more<E: From<RivalError> + Send>(
        &self,
        corpus: &mut Corpus,
        transcripts: &[Transcript],
        dumps: bool,
        mut dump: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let name = corpus.name.clone();
        in_order(
            transcripts,
            |transcript| {
                let replays = self.hold(&name, transcript, dumps);
                replays.map(|replays| (transcript, replays))
            },
            |held| {
                let (transcript, replays) = held?;
                for replay in replays.iter().flatten() {
                    dump(&replay.dump)?;
                }
                corpus.add(&transcript.id, replays);
                Ok(())
            },
        )
    }

    /// Returns names and descriptions in the order of the replays.
    fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        let plans = self.plans.iter().map(|plan| (&*plan.name, &*plan.doc));
        let rivals = self.rivals.iter();
        plans.chain(rivals.map(|rival| (&*rival.name, "prompts of another program")))
    }

    /// Replays a conversation under each policy and rival. A rival without prompts for the
    /// conversation gives `None`.
    fn hold(
        &self,
        corpus: &str,
        transcript: &Transcript,
        dumps: bool,
    ) -> Result<Vec<Option<Replay>>, RivalError> {
        let view = self.view.clone();
        let (counter, prices) = (self.counter, self.prices);
        let mut instrument = Instrument::new(corpus, transcript, view, counter, prices, dumps);
        let mut replays = Vec::new();
        for plan in &self.plans {
            let mut policy = plan.start(instrument.opening());
            replays.push(Some(instrument.replay(&plan.name, &mut *policy)));
        }
        for rival in &self.rivals {
            let replay = rival.of(corpus, transcript)?.map(|played| {
                let mut replay = instrument.replay(&rival.name, &mut played.playback());
                replay.measure.time = played.time;
                replay
            });
            replays.push(replay);
        }
        Ok(replays)
    }
}
