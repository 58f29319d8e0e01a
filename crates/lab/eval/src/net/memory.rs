//! What a prompt should still say of the conversation: the task, other words of users, the agent's
//! own actions and decisions.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use accp_memory::policy::{Kind, Message};

use super::matcher::{Matcher, Needle};
use super::message_text::MessageText;
use super::phrases::{beginning, is_action, is_decision, sentences};
use super::segment_index::SegmentIndex;
use super::text::{collapse, scalars};
use crate::share::Recall;
use crate::transcript::Transcript;

/// The arguments of a call have to begin within this many characters of the tool's name, plus three times their own
/// length.
const REACH: usize = 200;

/// What was said, with the index of the message that said it. Texts and actions in text have the number of a
/// needle. Calls have the numbers after those of all needles.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    task: Vec<(usize, Needle)>,
    later: Vec<(usize, Needle)>,
    /// The actions of each agent.
    did: BTreeMap<Arc<str>, Vec<(usize, Needle)>>,
    decided: BTreeMap<Arc<str>, Vec<(usize, Needle)>>,
    calls: Vec<Call>,
    /// The number of the first call.
    first_call: Needle,
}

/// A call: the name of the tool, and the beginnings of its arguments, which a prompt has to show near that name.
#[derive(Debug)]
struct Call {
    tool: Needle,
    arguments: Vec<Needle>,
    /// All arguments have to begin within this many characters from the beginning of the tool's name.
    reach: usize,
}

/// Shares of what was said that prompts still say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remembered {
    /// Sentences of the first message of a user.
    pub task: Recall,
    /// Sentences of other messages of users.
    pub later: Recall,
    /// The agent's own earlier actions.
    pub did: Recall,
    /// The agent's own sentences that state a decision, a finding or an obligation.
    pub decided: Recall,
}

impl Remembered {
    pub(crate) fn add(&mut self, other: &Self) {
        self.task.add(other.task);
        self.later.add(other.later);
        self.did.add(other.did);
        self.decided.add(other.decided);
    }
}

impl Memory {
    pub(crate) fn of(
        transcript: &Transcript,
        message_texts: &[MessageText],
        matcher: &mut Matcher,
    ) -> Self {
        let mut memory = Self::default();
        let messages = &transcript.messages;
        let is_user = |message: &&Message| message.kind == Kind::User;
        let has_words = |message: &&Message| message.kind != Kind::System;
        let task = messages.iter().find(is_user);
        let task = task.or_else(|| messages.iter().find(has_words));
        let task = task.map(|message| message.index);
        let mut known = HashSet::new();
        let mut known_by: BTreeMap<Arc<str>, [HashSet<Needle>; 2]> = BTreeMap::new();
        let mut calls = Vec::new();
        for (message, message_text) in messages.iter().zip(message_texts) {
            let index = message.index;
            if Some(index) == task || message.kind == Kind::User {
                let list = if Some(index) == task {
                    &mut memory.task
                } else {
                    &mut memory.later
                };
                for sentence in sentences(&message_text.raw) {
                    let needle = matcher.add(&collapse(sentence));
                    list.extend(
                        needle
                            .filter(|needle| known.insert(*needle))
                            .map(|n| (index, n)),
                    );
                }
            }
            let Some(agent) = transcript.agent(message) else {
                continue;
            };
            let [done, known] = known_by.entry(Arc::clone(&agent.name)).or_default();
            let did = memory.did.entry(Arc::clone(&agent.name)).or_default();
            let blocks = message_text.code_blocks().map(collapse);
            let words: Vec<&str> = message_text
                .words()
                .into_iter()
                .flat_map(sentences)
                .collect();
            let actions = words.iter().filter(|sentence| is_action(sentence));
            let actions: Vec<String> = blocks
                .chain(actions.map(|sentence| collapse(sentence)))
                .collect();
            for action in &actions {
                let needle = matcher.add(beginning(action));
                did.extend(
                    needle
                        .filter(|needle| done.insert(*needle))
                        .map(|n| (index, n)),
                );
            }
            calls.extend(
                called(message, matcher).map(|call| (Arc::clone(&agent.name), index, call)),
            );
            let decided = memory.decided.entry(agent.name).or_default();
            for sentence in words.iter().filter(|sentence| is_decision(sentence)) {
                let needle = matcher.add(&collapse(sentence));
                decided.extend(
                    needle
                        .filter(|needle| known.insert(*needle))
                        .map(|n| (index, n)),
                );
            }
        }
        memory.first_call = matcher.len() as Needle;
        for (agent, index, call) in calls {
            let number = memory.first_call + memory.calls.len() as Needle;
            memory.did.entry(agent).or_default().push((index, number));
            memory.calls.push(call);
        }
        for did in memory.did.values_mut() {
            did.sort_by_key(|(index, _)| *index);
        }
        memory
    }

    /// Returns the needles of all texts in the memory, but no numbers of calls.
    pub(crate) fn texts(&self) -> impl Iterator<Item = Needle> + '_ {
        let by_agent = self.did.values().chain(self.decided.values());
        let lists = [&self.task, &self.later].into_iter().chain(by_agent);
        let needles = lists.flatten().map(|(_, needle)| *needle);
        needles.filter(|needle| *needle < self.first_call)
    }

    /// Returns the number after all needles and calls.
    pub(crate) fn end(&self) -> usize {
        self.first_call as usize + self.calls.len()
    }

    /// Returns the numbers of the calls that a text shows.
    pub(crate) fn actions_in<'l>(
        &'l self,
        segment_index: &'l SegmentIndex,
    ) -> impl Iterator<Item = Needle> + 'l {
        let calls = (self.first_call..).zip(&self.calls);
        calls
            .filter(|(_, call)| call.stands(segment_index))
            .map(|(number, _)| number)
    }

    /// Counts what was said before this turn, and how much of that the prompt still says.
    pub(crate) fn count(
        &self,
        turn: usize,
        agent: &str,
        shown: impl Fn(Needle) -> bool,
        remembered: &mut Remembered,
    ) {
        let count = |list: Option<&Vec<(usize, Needle)>>, recall: &mut Recall| {
            let before = list
                .into_iter()
                .flatten()
                .take_while(|(index, _)| *index < turn);
            before.for_each(|(_, needle)| recall.count(shown(*needle)));
        };
        count(Some(&self.task), &mut remembered.task);
        count(Some(&self.later), &mut remembered.later);
        count(self.did.get(agent), &mut remembered.did);
        count(self.decided.get(agent), &mut remembered.decided);
    }
}

/// Returns the calls of a message.
fn called(message: &Message, matcher: &mut Matcher) -> impl Iterator<Item = Call> {
    let calls = message.recorded().calls();
    let calls: Vec<Call> = calls
        .filter_map(|call| {
            let tool = matcher.add(&collapse(call.tool()?))?;
            let arguments = call.arguments().map(|arguments| scalars(&arguments));
            let arguments = arguments.unwrap_or_default();
            let words = ["true", "false", "null"];
            let texts = arguments
                .iter()
                .filter(|text| !words.contains(&text.as_str()));
            let needles = texts.filter_map(|text| {
                let line = text.lines().find(|line| !line.trim().is_empty())?;
                matcher.add(beginning(&collapse(line)))
            });
            let needles: BTreeSet<Needle> = needles.collect();
            let length: usize = arguments.iter().map(|text| text.chars().count()).sum();
            Some(Call {
                tool,
                arguments: needles.into_iter().collect(),
                reach: REACH + 3 * length,
            })
        })
        .collect();
    calls.into_iter()
}

impl Call {
    /// Returns whether a text has the tool's name, with all arguments soon after it.
    fn stands(&self, segment_index: &SegmentIndex) -> bool {
        segment_index.places(self.tool).iter().any(|&(_, at)| {
            let at = at as usize;
            let behind = segment_index.text[at..].char_indices().nth(self.reach);
            let end = behind.map_or(segment_index.text.len(), |(bytes, _)| at + bytes);
            let near = at as u32..u32::try_from(end).unwrap_or(u32::MAX);
            self.arguments.iter().all(|&argument| {
                let places = segment_index.places(argument);
                let first = places.partition_point(|&(_, place)| place < near.start);
                places
                    .get(first)
                    .is_some_and(|(_, place)| near.contains(place))
            })
        })
    }
}
