//! The replay of a conversation under a policy, and its measures.

mod cache;

use std::sync::Arc;
use std::time::{Duration, Instant};

use accp_context::view::View;
use accp_memory::policy::{Agent, Kind, Message, Opening, Policy, Segment};
use accp_tokens::Bpe;

use crate::cost::Spent;
use crate::lists::{Inside, Intent};
use crate::measure::{FirstSight, Measure};
use crate::net::{Account, Analysis, NeedOutcome, Prices, Recovery, SegmentIndexes};
use crate::profile;
use crate::tokens::{ByKind, Pieces, by_kind};
use crate::transcript::Transcript;
use cache::{Caches, Seen};

/// The result of a replay of one conversation under one policy.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) measure: Measure,
    /// The tokens of each prompt.
    pub(crate) turns: Vec<u64>,
    /// The prompts, if the caller asked for them.
    pub(crate) kept: Option<Kept>,
}

/// The prompts of a replay, with the fates of their needs.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) outcomes: Vec<NeedOutcome>,
    /// Each message that the policy gave back at the end, with its index.
    pub(crate) originals: Vec<(usize, String)>,
}

/// A prompt of a replay.
#[derive(Debug)]
pub(crate) struct Prompt {
    /// The index of the message that answers the prompt.
    pub(crate) turn: usize,
    pub(crate) agent: Agent,
    /// Whether the segments are messages of a list.
    pub(crate) is_list: bool,
    pub(crate) segments: Vec<Segment>,
    pub(crate) counted: Counted,
}

/// What was counted of a prompt.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) tokens: u64,
    /// The tokens of the beginning that the cache has of the prompt, also below the minimum.
    pub(crate) begins: u64,
    pub(crate) recovery: Recovery,
}

/// Replays one conversation under policies, and measures them.
#[derive(Debug)]
pub(crate) struct Instrument<'t> {
    pub(crate) transcript: &'t Transcript,
    opening: Opening,
    prices: Prices,
    pub(crate) inside: Option<Inside>,
    intent: Intent,
    pub(crate) analysis: Analysis,
    segment_indexes: SegmentIndexes,
    pieces: Pieces,
    keeps: bool,
}

impl<'t> Instrument<'t> {
    /// Makes an instrument for a conversation. With `keeps`, replays include their prompts.
    pub(crate) fn new(
        transcript: &'t Transcript,
        view: View,
        counter: Bpe,
        prices: Prices,
        keeps: bool,
    ) -> Self {
        let opening = Opening {
            tools: transcript.tools.clone(),
            counter: Arc::new(counter),
            view,
        };
        Self {
            transcript,
            prices,
            inside: None,
            intent: Intent::of(transcript),
            analysis: Analysis::of(transcript, counter),
            segment_indexes: SegmentIndexes::default(),
            pieces: Pieces::new(counter),
            opening,
            keeps,
        }
    }

    pub(crate) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Replays the conversation from its beginning under a newly started policy.
    pub(crate) fn replay(&mut self, policy: &mut dyn Policy) -> Replay {
        let mut replay = Replay::default();
        let mut caches = Caches::new(self.prices);
        let is_list = policy.is_list();
        let profiles = profile::shown(self.prices.window);
        let mut account = Account::new(&self.analysis, self.prices, &profiles, self.keeps);
        let mut kept = self.keeps.then(Kept::default);
        let mut time = Duration::ZERO;
        let mut seen = 0;
        for message in &self.transcript.messages {
            if let Some(agent) = self.transcript.agent(message) {
                let begun = Instant::now();
                let prompt = policy.prompt(&agent);
                time += begun.elapsed();
                let list_of = is_list.then_some(&*agent.name);
                let pieces = self.pieces.of(&prompt, list_of);
                let tokens_by_kind = by_kind(&pieces);
                let now = self.transcript.time_before(message.index);
                let seen_by_caches = caches.take(&self.pieces, &agent.name, pieces, now);
                let Seen {
                    found,
                    kept: kept_tokens,
                    changed,
                } = seen_by_caches;
                replay.measure.changes.count(changed.is_some());
                let is_kept = found.usual >= self.prices.minimum;
                let spent = Spent {
                    tokens: tokens_by_kind,
                    cached: if is_kept {
                        kept_tokens
                    } else {
                        ByKind::default()
                    },
                };
                let begins = found.usual;
                let Self {
                    analysis,
                    segment_indexes,
                    ..
                } = self;
                let tokens = spent.total();
                let place = (message.index, &*prompt);
                let recovery = account.prompt(analysis, segment_indexes, place, found);
                replay.turns.push(spent.total());
                replay.measure.spent.add(&spent);
                replay.measure.prompts += 1;
                self.list((&agent.name, &prompt, tokens), message.index, &mut replay);
                if is_list {
                    let breaks = changed.is_some_and(|change| change.breaks_bound);
                    let refused = breaks || refuses(&agent.name, &prompt);
                    replay.measure.refused.count(refused);
                }
                let new = &self.transcript.messages[seen..message.index];
                self.first_sight((&prompt, is_list), new, &mut replay.measure.results);
                seen = message.index;
                if let Some(kept) = &mut kept {
                    kept.prompts.push(Prompt {
                        turn: message.index,
                        agent,
                        is_list,
                        segments: prompt,
                        counted: Counted {
                            tokens,
                            begins,
                            recovery,
                        },
                    });
                }
            }
            let begun = Instant::now();
            policy.push(message);
            time += begun.elapsed();
        }
        // The measure counts the bytes of the recording, not what a reader made of them.
        let content = &self.transcript.content;
        replay.measure.bytes.wanted += content.bytes();
        for message in &self.transcript.messages {
            let Some(back) = policy.recover(message.index) else {
                continue;
            };
            if back == message.original() {
                replay.measure.bytes.found += content.of_message(message.index);
            }
            if let Some(kept) = &mut kept {
                kept.originals.push((message.index, back.into_owned()));
            }
        }
        let (net, outcomes) = account.into_net();
        replay.measure.net = net;
        if let Some(kept) = &mut kept {
            kept.outcomes = outcomes;
        }
        replay.kept = kept;
        replay.measure.conversations = 1;
        replay.measure.time = time;
        replay
    }

    /// Counts the tokens with which the prompt shows the results among the new messages.
    fn first_sight(
        &mut self,
        (prompt, is_list): (&[Segment], bool),
        new: &[Message],
        sight: &mut FirstSight,
    ) {
        for result in new.iter().filter(|message| message.kind == Kind::Result) {
            let mut shown = prompt
                .iter()
                .filter(|segment| segment.message == Some(result.index))
                .peekable();
            if shown.peek().is_some() {
                let tokens = shown.map(|segment| {
                    if is_list {
                        self.pieces.billed_tokens(&segment.text)
                    } else {
                        self.pieces.tokens(&segment.text)
                    }
                });
                sight.tokens += tokens.sum::<usize>() as u64;
                sight.base += self.pieces.billed_tokens(&result.text) as u64;
                sight.shown += 1;
            }
        }
    }

    /// If a window is set, checks the prompt as a list for this window, and counts the results.
    fn list(&mut self, prompt: (&str, &[Segment], u64), turn: usize, replay: &mut Replay) {
        if let Some(inside) = self.inside {
            let Self {
                analysis,
                segment_indexes,
                intent,
                ..
            } = self;
            let stands = intent.stands(turn, |text| segment_indexes.has(analysis, prompt.1, text));
            replay.measure.lists.count(inside, prompt, stands);
        }
    }
}

/// Returns whether a provider refuses a list.
fn refuses(agent: &str, prompt: &[Segment]) -> bool {
    let list = prompt.iter().filter(|segment| segment.kind != Kind::Tools);
    let texts = list.map(|segment| &*segment.text);
    accp_memory::policies::ctx::refuses(agent, texts) == Some(true)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "nothing is added where nothing lacks")]
mod tests;

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "nothing is added where nothing lacks")]
mod bills;
