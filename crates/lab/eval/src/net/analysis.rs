//! What the turns of a conversation need, found once for all policies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use accp_memory::policy::{Kind, Message};
use accp_tokens::Bpe;

use super::candidates::{Candidate, NeedClass, candidates};
use super::coverage::RequiredText;
use super::matcher::{Matcher, Needle};
use super::memory::Memory;
use super::message_text::MessageText;
use super::segment_index::SegmentIndex;
use crate::transcript::Transcript;

/// A conversation taken apart: what each turn needs, and what each message has to show.
#[derive(Debug)]
pub(crate) struct Analysis {
    pub(crate) message_texts: Vec<MessageText>,
    pub(crate) required: Vec<RequiredText>,
    pub(crate) matcher: Matcher,
    pub(crate) turns: BTreeMap<usize, Turn>,
    pub(crate) memory: Memory,
    /// For each text, whether it counts for a need or for the memory.
    is_counted: Vec<bool>,
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
    pub(crate) class: NeedClass,
    /// The latest earlier message that holds the text.
    pub(crate) source: usize,
    /// The bytes of the text in the raw text of the source.
    pub(crate) place: Range<usize>,
    /// Whether the agent had to remember the text.
    pub(crate) is_real: bool,
}

/// The first place of a text in a message.
#[derive(Debug, Clone)]
struct Place {
    message: usize,
    piece: usize,
    at: usize,
}

impl Analysis {
    pub(crate) fn of(transcript: &Transcript, counter: Bpe) -> Self {
        let messages = &transcript.messages;
        let message_texts: Vec<MessageText> = messages
            .iter()
            .map(|message| MessageText::of(message, counter))
            .collect();
        let mut matcher = Matcher::default();
        let candidates = candidates(transcript, &message_texts, &mut matcher);
        let candidates_end = matcher.len();
        let required = message_texts
            .iter()
            .map(|message_text| RequiredText::of(message_text, &mut matcher));
        let required = required.collect();
        let memory = Memory::of(transcript, &message_texts, &mut matcher);
        matcher.file();
        let mut analysis = Self {
            required,
            turns: BTreeMap::new(),
            is_counted: (0..matcher.len())
                .map(|needle| needle < candidates_end)
                .collect(),
            memory,
            matcher,
            message_texts,
        };
        for text in analysis.memory.texts() {
            analysis.is_counted[text as usize] = true;
        }
        analysis.resolve(transcript, &candidates);
        analysis
    }

    /// Returns what a text of a prompt says.
    pub(crate) fn segment_index(&self, text: String) -> SegmentIndex {
        let mut segment_index = SegmentIndex::at(text, &self.matcher);
        let counted = segment_index
            .needles()
            .filter(|&needle| self.is_counted[needle as usize])
            .chain(self.memory.actions_in(&segment_index))
            .collect();
        segment_index.counted = counted;
        segment_index
    }

    /// Returns the number of all texts and actions, which is one more than the highest of their numbers.
    pub(crate) fn counted(&self) -> usize {
        self.memory.end()
    }

    /// Keeps the candidates whose text is in an earlier message, but in no system prompt of the agent.
    fn resolve(&mut self, transcript: &Transcript, candidates: &BTreeMap<usize, Vec<Candidate>>) {
        let wanted: BTreeSet<Needle> = candidates
            .values()
            .flatten()
            .map(|candidate| candidate.needle)
            .collect();
        let mut places: HashMap<Needle, Vec<Place>> = HashMap::new();
        for (message, message_text) in self.message_texts.iter().enumerate() {
            for (piece, text) in message_text.pieces.iter().enumerate() {
                self.matcher.each(&text.text.text, |needle, at| {
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
        let in_system_prompt =
            |place: &Place| is_system(message(place)) && message(place).is_for(agent);
        if earlier.iter().any(in_system_prompt) {
            return None;
        }
        let source = earlier
            .iter()
            .rev()
            .find(|place| !is_system(message(place)))?;
        let length = self.matcher.text(candidate.needle).len();
        let own = transcript
            .agent(message(source))
            .is_some_and(|speaker| *speaker.name == *agent);
        Some(Need {
            needle: candidate.needle,
            class: candidate.class,
            source: source.message,
            place: self.message_texts[source.message]
                .place(source.piece, &(source.at..source.at + length)),
            is_real: candidate.is_command || (!candidate.is_observed && !own),
        })
    }
}
