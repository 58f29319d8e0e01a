//! What the turns of a conversation need, found once for all policies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use accp_memory::policy::{Kind, Message};
use accp_tokens::Bpe;

use super::finder::{Finder, Needle};
use super::memory::Memory;
use super::needs::{Candidate, Class, candidates};
use super::reading::Look;
use super::said::Said;
use super::sight::Required;
use crate::transcript::Transcript;

/// A conversation taken apart: what each turn needs, and what each message has to show.
#[derive(Debug)]
pub(crate) struct Study {
    pub(crate) said: Vec<Said>,
    pub(crate) required: Vec<Required>,
    pub(crate) finder: Finder,
    pub(crate) turns: BTreeMap<usize, Turn>,
    pub(crate) memory: Memory,
    /// Whether a text counts for a need or for the memory.
    is_asked: Vec<bool>,
}

/// A message of an agent.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) agent: Arc<str>,
    pub(crate) needs: Vec<Need>,
    /// The messages that are new to the agent since its own last turn.
    pub(crate) new: Vec<usize>,
}

/// A text of a turn that was said before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Need {
    pub(crate) needle: Needle,
    pub(crate) class: Class,
    /// The latest earlier message that holds the text.
    pub(crate) source: usize,
    /// The bytes of the text in the raw text of the source.
    pub(crate) place: Range<usize>,
    /// Whether an agent had to remember it.
    pub(crate) is_real: bool,
}

/// The first place of a text in a message.
#[derive(Debug, Clone)]
struct Place {
    message: usize,
    piece: usize,
    at: usize,
}

impl Study {
    pub(crate) fn of(transcript: &Transcript, counter: Bpe) -> Self {
        let messages = &transcript.messages;
        let said: Vec<Said> = messages
            .iter()
            .map(|message| Said::of(message, counter))
            .collect();
        let mut finder = Finder::default();
        let candidates = candidates(transcript, &said, &mut finder);
        let needs = finder.len();
        let required = said.iter().map(|said| Required::of(said, &mut finder));
        let required = required.collect();
        let memory = Memory::of(transcript, &said, &mut finder);
        finder.file();
        let mut study = Self {
            required,
            turns: BTreeMap::new(),
            is_asked: (0..finder.len()).map(|needle| needle < needs).collect(),
            memory,
            finder,
            said,
        };
        for text in study.memory.texts() {
            study.is_asked[text as usize] = true;
        }
        study.resolve(transcript, &candidates);
        study
    }

    /// Returns what a text of a prompt says.
    pub(crate) fn look(&self, reading: String) -> Look {
        let mut look = Look::at(reading, &self.finder);
        let asked = look
            .needles()
            .filter(|&needle| self.is_asked[needle as usize])
            .chain(self.memory.actions_in(&look))
            .collect();
        look.asked = asked;
        look
    }

    /// Returns how many texts and actions count.
    pub(crate) fn asked(&self) -> usize {
        self.memory.end()
    }

    /// Keeps the candidates that an earlier message holds and no system prompt of their agent.
    fn resolve(&mut self, transcript: &Transcript, candidates: &BTreeMap<usize, Vec<Candidate>>) {
        let wanted: BTreeSet<Needle> = candidates
            .values()
            .flatten()
            .map(|candidate| candidate.needle)
            .collect();
        let mut places: HashMap<Needle, Vec<Place>> = HashMap::new();
        for (message, said) in self.said.iter().enumerate() {
            for (piece, text) in said.pieces.iter().enumerate() {
                self.finder.each(&text.text.text, |needle, at| {
                    if !wanted.contains(&needle) {
                        return;
                    }
                    let places = places.entry(needle).or_default();
                    let place = Place { message, piece, at };
                    match places.last_mut() {
                        Some(last) if last.message == message => {
                            if (last.piece, last.at) > (piece, at) {
                                *last = place;
                            }
                        }
                        _ => places.push(place),
                    }
                });
            }
        }
        let mut last_turns: HashMap<Arc<str>, usize> = HashMap::new();
        for message in &transcript.messages {
            let Some(agent) = transcript.agent(message) else {
                continue;
            };
            let index = message.index;
            let from = last_turns.insert(Arc::clone(&agent.name), index);
            let from = from.map_or(0, |last| last + 1);
            let new = transcript.messages[from..index].iter();
            let new = new.filter(|message| message.is_for(&agent.name));
            let needs = candidates.get(&index).into_iter().flatten();
            let needs = needs.filter_map(|candidate| {
                let places = places.get(&candidate.needle)?;
                self.need(transcript, &agent.name, index, candidate, places)
            });
            let turn = Turn {
                needs: needs.collect(),
                new: new.map(|message| message.index).collect(),
                agent: agent.name,
            };
            self.turns.insert(index, turn);
        }
    }

    fn need(
        &self,
        transcript: &Transcript,
        agent: &str,
        turn: usize,
        candidate: &Candidate,
        places: &[Place],
    ) -> Option<Need> {
        let message = |place: &Place| &transcript.messages[place.message];
        let is_system = |message: &Message| message.kind == Kind::System;
        let earlier = &places[..places.partition_point(|place| place.message < turn)];
        let told = |place: &Place| is_system(message(place)) && message(place).is_for(agent);
        if earlier.iter().any(told) {
            return None;
        }
        let source = earlier
            .iter()
            .rev()
            .find(|place| !is_system(message(place)))?;
        let length = self.finder.text(candidate.needle).len();
        let own = transcript
            .agent(message(source))
            .is_some_and(|speaker| *speaker.name == *agent);
        Some(Need {
            needle: candidate.needle,
            class: candidate.class,
            source: source.message,
            place: self.said[source.message].place(source.piece, &(source.at..source.at + length)),
            is_real: candidate.is_command || (!candidate.is_observed && !own),
        })
    }
}
