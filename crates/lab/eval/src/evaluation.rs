//! An evaluation of policies, and of prompts of other programs, over corpora.

use accp_context::view::View;
use accp_memory::policy::NamedPolicy;
use accp_tokens::Bpe;
use serde_json::Value as Json;

use crate::lists::Inside;
use crate::net::Prices;
use crate::pool::in_order;
use crate::prompts::{self, Rival, RivalError};
use crate::replay::{Instrument, Replay};
use crate::report::{Corpus, scene};
use crate::transcript::{Transcript, Transcripts};

/// The policies and rivals to measure, with the view and the counter.
#[derive(Debug)]
pub struct Evaluation {
    plans: Vec<NamedPolicy>,
    rivals: Vec<Rival>,
    view: View,
    counter: Bpe,
    prices: Prices,
    inside: Option<Inside>,
    /// The ids of the conversations whose prompts are kept; if the list is empty, those of the first [`FEW`] in each
    /// corpus. `None` keeps no prompts.
    shows: Option<Vec<String>>,
}

/// The number of conversations of a corpus whose prompts are kept if no ids are given.
const FEW: usize = 2;

impl Evaluation {
    /// Makes an evaluation of these policies, the [base](crate::BASE) first. Policies that use a
    /// registry show messages with `view`.
    pub fn new(plans: Vec<NamedPolicy>, view: View, counter: Bpe) -> Self {
        Self {
            plans,
            rivals: Vec::new(),
            view,
            counter,
            prices: Prices::default(),
            inside: None,
            shows: None,
        }
    }

    /// Keeps prompts for the [page](crate::Report::to_html): those of the conversations with these ids, or of the
    /// first two conversations of each corpus if the list is empty. `None` keeps none.
    pub fn showing(mut self, conversations: Option<Vec<String>>) -> Self {
        self.shows = conversations;
        self
    }

    /// Sets the prices.
    pub fn at(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// Measures prompts as lists inside a window, too.
    pub fn inside(mut self, inside: Option<Inside>) -> Self {
        self.inside = inside;
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
        self.check(corpus, transcripts)?;
        let mut corpus = self.corpus(corpus);
        let transcripts = transcripts.as_slice();
        self.measure_more(
            &mut corpus,
            transcripts,
            false,
            |_| Ok::<(), RivalError>(()),
        )?;
        Ok(corpus)
    }

    /// Checks that the prompts of rivals are for conversations of the corpus alone. Conversations that were
    /// [taken](Transcripts::take) from `transcripts` belong to the corpus too.
    ///
    /// # Errors
    /// The first conversation that the corpus does not have, with the place of its prompts.
    pub fn check(&self, corpus: &str, transcripts: &Transcripts) -> Result<(), RivalError> {
        let mut rivals = self.rivals.iter();
        rivals.try_for_each(|rival| rival.check(corpus, transcripts))
    }

    /// Begins a corpus of this name, without conversations.
    pub fn corpus(&self, name: &str) -> Corpus {
        Corpus::new(name, self.entries())
    }

    /// Measures more conversations of a corpus, so that not all of them have to be in memory. With `dumps`, it
    /// passes every prompt to `dump` as lines of JSON, in the order of the conversations.
    ///
    /// # Errors
    /// When the prompts of a rival do not fit the conversations, or `dump` fails.
    pub fn measure_more<E: From<RivalError> + Send>(
        &self,
        corpus: &mut Corpus,
        transcripts: &[Transcript],
        dumps: bool,
        mut dump: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let name = corpus.name.clone();
        let few = FEW.saturating_sub(corpus.scenes.len());
        let first = transcripts.iter().take(few);
        let chosen: Vec<&str> = match &self.shows {
            Some(ids) if !ids.is_empty() => ids.iter().map(String::as_str).collect(),
            Some(_) => first.map(|first| first.id.as_str()).collect(),
            None => Vec::new(),
        };
        in_order(
            transcripts,
            |transcript| {
                let shows = chosen.contains(&transcript.id.as_str());
                self.hold(&name, transcript, dumps, shows)
            },
            |held| {
                let held = held?;
                held.dump.iter().try_for_each(|lines| dump(lines))?;
                corpus.scenes.extend(held.scene);
                corpus.add(held.conversation, held.replays);
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

    /// Replays a conversation under each policy and rival.
    fn hold<'t>(
        &self,
        corpus: &str,
        transcript: &'t Transcript,
        dumps: bool,
        shows: bool,
    ) -> Result<Held<'t>, RivalError> {
        let view = self.view.clone();
        let (counter, prices) = (self.counter, self.prices);
        let mut instrument = Instrument::new(transcript, view, counter, prices, dumps || shows);
        instrument.inside = self.inside;
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
        let policies = self.entries().map(|(policy, _)| policy);
        let named: Vec<_> = policies.zip(&replays).collect();
        let scene = shows.then(|| scene(corpus, transcript, &instrument.analysis, &named));
        let mut dump = Vec::new();
        for (policy, replay) in named.iter().filter(|_| dumps) {
            let kept = replay.as_ref().and_then(|replay| replay.kept.as_ref());
            let place = [corpus, &transcript.id, policy];
            dump.extend(kept.map(|kept| prompts::dump(place, kept, &instrument.analysis)));
        }
        for replay in replays.iter_mut().flatten() {
            replay.kept = None;
        }
        Ok(Held {
            conversation: &transcript.id,
            replays,
            dump,
            scene,
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
    /// The prompts for the page, if it shows them.
    scene: Option<Json>,
}
