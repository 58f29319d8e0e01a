//! Two walks through the graph, side by side over the same text.
//!
//! The first walk goes through a part that a PEG tries. The second walk goes through another part, which the ABNF
//! means at this point, and through everything that can follow that other part. If the first walk can reach the end
//! of its part at a place where the second walk is not at the end of its own part, the PEG would take another text
//! than the ABNF means.

use std::collections::{HashMap, HashSet};

use super::charset::CharSet;
use super::graph::{Fragment, Graph, GraphNode, NodeId};

/// The most pairs of nodes that one walk looks at.
const PAIRS: usize = 200_000;

/// The most pairs of nodes that the walks of a grammar look at.
const ALL_PAIRS: usize = 4_000_000;

/// The number of a stack of open calls of rules. The stacks [`EXACT`] and [`UNKNOWN`] hold no known call.
type Stack = u32;

/// No call is open: the walk is in the rule of its fragment, and not in a called rule.
const EXACT: Stack = 0;

/// The open calls are not known: any caller of the rule may come next.
const UNKNOWN: Stack = 1;

/// A node, and the calls that are open there.
pub(super) type State = (NodeId, Stack);

/// Where a walk begins.
pub(super) fn start(part: Fragment) -> State {
    (part.from, EXACT)
}

/// A state, and a tag with what the walk knows about its fragment in this state.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TaggedState {
    node: NodeId,
    stack: Stack,
    tag: Tag,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Tag {
    /// In the first walk: the number of the set of characters that must not follow.
    Forbidden(usize),
    /// In the second walk: the part is not complete.
    Inside,
    /// In the second walk: the part ends exactly here.
    Here,
    /// In the second walk: the part ended before the last character.
    Earlier,
}

/// The states before the next character.
#[derive(Default)]
struct Reached {
    chars: Vec<TaggedState>,
    ends: Vec<Tag>,
}

/// The result of the walks.
pub(super) enum Outcome {
    /// A PEG that tries the first part fails, or consumes the same text as the ABNF.
    Safe,
    /// The PEG and the ABNF differ. The text is an example: the PEG would consume another part of it than the ABNF.
    Conflict(String),
    /// The walk was too long.
    TooLarge,
}

pub(super) struct Walker<'g> {
    graph: &'g Graph,
    stacks: Vec<(Vec<NodeId>, Stack)>,
    numbers: HashMap<(Vec<NodeId>, Stack), Stack>,
    sets: Vec<CharSet>,
    pairs: usize,
}

impl<'g> Walker<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        let mut walker = Self {
            graph,
            stacks: Vec::new(),
            numbers: HashMap::new(),
            sets: vec![CharSet::default()],
            pairs: 0,
        };
        for bottom in [EXACT, UNKNOWN] {
            walker.stack(Vec::new(), bottom);
        }
        walker
    }

    /// Compares the texts that a PEG consumes for `tried` with the texts of `meant` and of all that can follow
    /// `meant`. `taken` holds the characters that the repetition before this point consumes whenever it can. So an
    /// optional first character of `meant` is never one of these characters.
    pub(super) fn compare(
        &mut self,
        tried: Fragment,
        meant: Fragment,
        taken: Option<&CharSet>,
    ) -> Outcome {
        let graph = self.graph;
        let tagged = |(node, stack), tag| TaggedState { node, stack, tag };
        let first = self.reach(tagged(start(tried), Tag::Forbidden(0)), tried.to);
        let second = self.reach(tagged(start(meant), Tag::Inside), meant.to);
        let (mut seen, mut texts) = (HashSet::new(), vec![(usize::MAX, ' ')]);
        let mut open = vec![(first, second, 0)];
        while let Some((first, second, text)) = open.pop() {
            if let Some(next) = self.differ(&first, &second) {
                return Outcome::Conflict(spell(&texts, text) + &next);
            }
            for one in &first.chars {
                for other in &second.chars {
                    if !seen.insert((*one, *other)) {
                        continue;
                    }
                    self.pairs += 1;
                    if seen.len() > PAIRS || self.pairs > ALL_PAIRS {
                        return Outcome::TooLarge;
                    }
                    let (
                        GraphNode::Char { set, next, .. },
                        GraphNode::Char {
                            set: also,
                            next: then,
                            yields,
                        },
                    ) = (&graph.nodes[one.node], &graph.nodes[other.node])
                    else {
                        continue;
                    };
                    let mut common = set.and(also).without(self.forbidden(one.tag));
                    if let Some(taken) = taken.filter(|_| *yields && text == 0) {
                        common = common.without(taken);
                    }
                    let Some(example) = common.example() else {
                        if text == 0 {
                            // At the start, the optional character does not count, so the pair has no common
                            // character. After some text it may have one. So the pair may be visited again.
                            seen.remove(&(*one, *other));
                        }
                        continue;
                    };
                    texts.push((text, example));
                    let tag = match other.tag {
                        Tag::Inside => Tag::Inside,
                        _ => Tag::Earlier,
                    };
                    let one = TaggedState {
                        node: *next,
                        tag: Tag::Forbidden(0),
                        ..*one
                    };
                    let other = TaggedState {
                        node: *then,
                        tag,
                        ..*other
                    };
                    let first = self.reach(one, tried.to);
                    let second = self.reach(other, meant.to);
                    open.push((first, second, texts.len() - 1));
                }
            }
        }
        Outcome::Safe
    }

    /// Returns a next character before which the tried part can be complete although the meant part is not; `None` if
    /// there is none.
    fn differ(&self, tries: &Reached, means: &Reached) -> Option<String> {
        for end in &tries.ends {
            for tagged in means.chars.iter().filter(|tagged| tagged.tag != Tag::Here) {
                if let GraphNode::Char { set, .. } = &self.graph.nodes[tagged.node]
                    && let Some(next) = set.without(self.forbidden(*end)).example()
                {
                    return Some(next.to_string());
                }
            }
            if means.ends.contains(&Tag::Earlier) {
                return Some(String::new());
            }
        }
        None
    }

    fn forbidden(&self, tag: Tag) -> &CharSet {
        match tag {
            Tag::Forbidden(number) => &self.sets[number],
            _ => &self.sets[0],
        }
    }

    /// Returns the states at the next characters of a fragment, and whether the fragment can end here. The walk
    /// follows the rules of ABNF, not of a PEG.
    pub(super) fn next(&mut self, from: &[State], end: NodeId) -> (Vec<State>, bool) {
        let (mut states, mut is_end) = (Vec::new(), false);
        for (node, stack) in from {
            let reached = self.reach(
                TaggedState {
                    node: *node,
                    stack: *stack,
                    tag: Tag::Forbidden(0),
                },
                end,
            );
            is_end |= !reached.ends.is_empty();
            states.extend(
                reached
                    .chars
                    .iter()
                    .map(|tagged| (tagged.node, tagged.stack)),
            );
        }
        states.sort_unstable();
        states.dedup();
        (states, is_end)
    }

    /// Goes on from a state to all characters that can be next, also to those after the mark `end`.
    fn reach(&mut self, from: TaggedState, end: NodeId) -> Reached {
        let graph = self.graph;
        let (mut reached, mut seen, mut open) = (Reached::default(), HashSet::new(), vec![from]);
        while let Some(tagged) = open.pop() {
            if !seen.insert(tagged) {
                continue;
            }
            let go = |node| TaggedState { node, ..tagged };
            if tagged.node == end && matches!(tagged.stack, EXACT | UNKNOWN) {
                match tagged.tag {
                    Tag::Forbidden(_) => reached.ends.push(tagged.tag),
                    Tag::Inside => open.push(TaggedState {
                        stack: UNKNOWN,
                        tag: Tag::Here,
                        ..tagged
                    }),
                    Tag::Here | Tag::Earlier => {}
                }
                let is_over = matches!(tagged.tag, Tag::Forbidden(_) | Tag::Inside);
                if is_over && tagged.stack == EXACT {
                    continue;
                }
            }
            match &graph.nodes[tagged.node] {
                GraphNode::Char { .. } => reached.chars.push(tagged),
                GraphNode::Split(ways) => open.extend(ways.iter().map(|way| go(*way))),
                GraphNode::Call { rule, next } => open.push(TaggedState {
                    node: graph.entries[*rule],
                    stack: self.push(*next, tagged.stack),
                    ..tagged
                }),
                GraphNode::NotBefore { set, next } => {
                    let tag = match tagged.tag {
                        Tag::Forbidden(number) => self.forbid(number, set),
                        tag => tag,
                    };
                    open.push(TaggedState {
                        node: *next,
                        tag,
                        ..tagged
                    });
                }
                GraphNode::End(rule) => match self.stacks[tagged.stack as usize].clone() {
                    (mut calls, bottom) if !calls.is_empty() => {
                        let node = calls.remove(0);
                        open.push(TaggedState {
                            node,
                            stack: self.stack(calls, bottom),
                            ..tagged
                        });
                    }
                    (_, UNKNOWN) => {
                        // Any rule may be at the end of the whole text.
                        if matches!(tagged.tag, Tag::Here | Tag::Earlier) {
                            reached.ends.push(tagged.tag);
                        }
                        open.extend(graph.callers[*rule].iter().map(|node| go(*node)));
                    }
                    _ => {}
                },
            }
        }
        reached
    }

    /// Opens a call. If the same call is open already, that call and all older calls are forgotten. This limits the
    /// number of stacks.
    fn push(&mut self, next: NodeId, stack: Stack) -> Stack {
        let (calls, bottom) = &self.stacks[stack as usize];
        let known = calls.iter().position(|call| *call == next);
        let mut open = vec![next];
        open.extend_from_slice(&calls[..known.unwrap_or(calls.len())]);
        let bottom = known.map_or(*bottom, |_| UNKNOWN);
        self.stack(open, bottom)
    }

    fn stack(&mut self, calls: Vec<NodeId>, bottom: Stack) -> Stack {
        let key = (calls, bottom);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = u32::try_from(self.stacks.len()).unwrap_or(UNKNOWN);
        self.stacks.push(key.clone());
        self.numbers.insert(key, number);
        number
    }

    fn forbid(&mut self, number: usize, set: &CharSet) -> Tag {
        let all = self.sets[number].or(set);
        let known = self.sets.iter().position(|known| *known == all);
        Tag::Forbidden(known.unwrap_or_else(|| {
            self.sets.push(all);
            self.sets.len() - 1
        }))
    }
}

/// Returns the text that leads to the pair with this index in `texts`.
fn spell(texts: &[(usize, char)], mut at: usize) -> String {
    let mut text = Vec::new();
    while at != 0 {
        text.push(texts[at].1);
        at = texts[at].0;
    }
    text.into_iter().rev().collect()
}
