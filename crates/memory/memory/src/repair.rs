//! Repairs lists: mends calls and results that do not pair, and details that a provider refuses.

mod answer;
mod blocks;
mod details;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use accp_recordings::replace_lone_surrogates;
use serde::Serialize;

use self::blocks::Blocks;
use crate::check::pairs::{Missing, Pairs, Stray, turns};
use crate::check::server::{self, ServerPairs};
use crate::finding::{Code, Finding};
use crate::form::Form;
use crate::list::MessageList;
use crate::message::{ListMessage, Role};

/// One change that [`repair`] made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// What was done.
    pub kind: RepairKind,
    /// The index of the message in the list that was given: the one with the result that was moved or dropped, with
    /// the call that was answered, or with the fault that was mended. 0 for a fault of the request.
    pub message: usize,
    /// The id of the call; empty where a result has none, or the fault is not about a call. For a lone surrogate the JSON
    /// pointer of its text.
    pub id: String,
    /// The rule that the message keeps now, if the kind is [`Mended`](RepairKind::Mended).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

/// What a repair does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RepairKind {
    /// A result that stood in the wrong place was moved to its call.
    Moved,
    /// A result that answers no call was dropped.
    Dropped,
    /// A call without a result got one, whose text says that no result was recorded.
    Answered,
    /// U+FFFD was put in the place of half of a surrogate pair.
    Replaced,
    /// A detail was changed, and nothing was lost: an id, a mark for the cache, the place of an image.
    Mended,
}

/// Makes calls and results pair: moves a result that stands in the wrong place to its call, drops results that answer
/// no call, and answers calls without a result. A call in flight stays as it is, and everything else keeps its bytes.
/// A message that becomes empty is removed.
///
/// Also mends the details that [`Rule::mended`](crate::Rule) names, if that loses nothing. For example, ids that do
/// not fit the form get new ones, on calls and results alike. If there are more marks for the cache than the provider
/// takes, the oldest are removed.
///
/// A result moves only if its call has no other result, and no other call has its id. Otherwise nobody can know which
/// call it answers, so it is dropped. Because results may be lost, no other function calls this one.
///
/// ```
/// use accp_memory::{MessageList, RepairKind, check, repair};
///
/// let broken = MessageList::read(r#"[
///     {"role":"user","content":"Rye?"},
///     {"role":"assistant","content":null,"tool_calls":[
///         {"id":"c1","type":"function","function":{"name":"stock","arguments":"{}"}}]},
///     {"role":"user","content":"Well?"},
///     {"role":"tool","tool_call_id":"c7","content":"4"},
///     {"role":"tool","tool_call_id":"c1","content":"12 bags"},
///     {"role":"assistant","content":null,"tool_calls":[
///         {"id":"c2","type":"function","function":{"name":"stock","arguments":"{}"}}]},
///     {"role":"user","content":"And now?"}]"#, None)?;
/// let (mended, repairs) = repair(&broken)?;
/// assert_eq!(check(&mended), []);
/// let kinds: Vec<_> = repairs.iter().map(|repair| (repair.message, repair.kind)).collect();
/// assert_eq!(kinds, [(3, RepairKind::Dropped), (4, RepairKind::Moved), (5, RepairKind::Answered)]);
/// let texts: Vec<_> = mended.messages().iter().map(|message| message.raw()).collect();
/// assert_eq!(texts[2], r#"{"role":"tool","tool_call_id":"c1","content":"12 bags"}"#);
/// assert_eq!(
///     texts[5],
///     r#"{"role":"tool","tool_call_id":"c2","content":"No result was recorded for this call."}"#
/// );
/// # Ok::<(), accp_memory::Finding>(())
/// ```
///
/// # Errors
/// `not-a-list`, when the text of a message cannot be changed.
pub fn repair(list: &MessageList) -> Result<(MessageList, Vec<Repair>), Finding> {
    let (list, mended) = details::mended(list)?;
    let list = &list;
    let mut changes = Changes {
        repairs: mended,
        ..Changes::default()
    };
    changes.pairs(list)?;
    if list.form() == Form::Anthropic {
        changes.server_tools(list);
        changes.results_first(list.messages());
        changes.keep_first(list.messages());
    }
    let mut raws = Vec::with_capacity(list.messages().len());
    // For each text, the index of the message in the given list that it comes from.
    let mut origins = Vec::with_capacity(list.messages().len());
    for (at, message) in list.messages().iter().enumerate() {
        raws.append(&mut changes.before.remove(&at).unwrap_or_default());
        if let Some(blocks) = changes.blocks.remove(&at) {
            raws.extend(blocks.applied(at, message)?);
        } else if !changes.dropped.contains(&at) {
            raws.push(message.raw().to_owned());
        }
        origins.resize(raws.len(), at);
    }
    for (at, message) in list.messages().iter().enumerate() {
        for place in message
            .lone()
            .places()
            .filter(|_| !changes.dropped.contains(&at))
        {
            changes.repairs.push(Repair {
                kind: RepairKind::Replaced,
                message: at,
                id: place.to_owned(),
                code: None,
            });
        }
    }
    let raws = raws.iter().enumerate();
    let messages = raws
        .map(|(index, raw)| ListMessage::read(list.form(), index, &replace_lone_surrogates(raw)));
    let list = list.with(messages.collect::<Result<_, _>>()?);
    // The repair may have made another message the last one, and special rules apply to the last
    // message.
    let (list, mended) = details::mended(&list)?;
    let mended = mended.into_iter().map(|repair| Repair {
        message: origins.get(repair.message).copied().unwrap_or_default(),
        ..repair
    });
    changes.repairs.extend(mended);
    changes.repairs.sort_by_key(|repair| repair.message);
    Ok((list, changes.repairs))
}

/// The changes to make, and their places.
#[derive(Default)]
struct Changes {
    /// The messages to remove.
    dropped: BTreeSet<usize>,
    /// Messages whose blocks change.
    blocks: BTreeMap<usize, Blocks>,
    /// New messages, each under the index of the message before which it is inserted.
    before: BTreeMap<usize, Vec<String>>,
    repairs: Vec<Repair>,
}

impl Changes {
    fn note(&mut self, kind: RepairKind, message: usize, id: &str) {
        self.repairs.push(Repair {
            kind,
            message,
            id: id.to_owned(),
            code: None,
        });
    }

    fn pairs(&mut self, list: &MessageList) -> Result<(), Finding> {
        let messages = list.messages();
        let pairs = Pairs::of(list);
        let misplaced = pairs.misplaced(list);
        let moved = misplaced
            .values()
            .map(|stray| (stray.message, stray.answer));
        let moved: BTreeSet<_> = moved.collect();
        for stray in pairs.stray {
            let kind = if moved.contains(&(stray.message, stray.answer)) {
                RepairKind::Moved
            } else {
                RepairKind::Dropped
            };
            self.take_out(list, stray, kind);
        }
        let mut results = Vec::with_capacity(pairs.missing.len());
        for missing in pairs.missing {
            let message = &messages[missing.message];
            let call = &message.calls[missing.call];
            let result = if let Some(stray) = misplaced.get(&(missing.message, missing.call)) {
                text_of(list, *stray)?.to_owned()
            } else {
                self.note(RepairKind::Answered, missing.message, &call.id);
                match list.form() {
                    Form::OpenAi => answer::message(call),
                    Form::Anthropic => answer::block(&call.id),
                    Form::Responses => answer::item(message, call),
                }
            };
            results.push((missing, result));
        }
        if list.form() == Form::Anthropic {
            self.answer_in_turns(messages, results);
            return Ok(());
        }
        for (missing, result) in results {
            self.before.entry(missing.before).or_default().push(result);
        }
        Ok(())
    }

    /// Takes a result out of its place.
    fn take_out(&mut self, list: &MessageList, stray: Stray, kind: RepairKind) {
        let message = &list.messages()[stray.message];
        self.note(kind, stray.message, &message.answers[stray.answer].id);
        if list.form() == Form::Anthropic {
            let blocks = self.blocks.entry(stray.message).or_default();
            let mut results = blocks::results(message);
            blocks.dropped.extend(results.nth(stray.answer));
        } else {
            self.dropped.insert(stray.message);
        }
    }

    /// Puts results into the turns of the user that have to answer the calls.
    fn answer_in_turns(&mut self, messages: &[ListMessage], results: Vec<(Missing, String)>) {
        let turns = turns(messages);
        let mut new: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (missing, result) in results {
            let next = turns.partition_point(|turn| turn.start <= missing.message);
            let place = turns.get(next).map_or(missing.before, |turn| turn.start);
            let leading = messages.get(place).map_or(0, blocks::leading);
            if leading > 0 && messages[place].role == Role::User {
                let blocks = self.blocks.entry(place).or_default();
                blocks.added.push((leading, result));
            } else {
                new.entry(place).or_default().push(result);
            }
        }
        // Neighbouring messages of one role are one turn, so a new message before this one joins its turn.
        for (place, results) in new {
            let message = answer::turn(&results);
            self.before.entry(place).or_default().push(message);
        }
    }

    fn server_tools(&mut self, list: &MessageList) {
        let messages = list.messages();
        let pairs = ServerPairs::of(list);
        for ((at, index), _) in pairs.stray {
            let id = server::result(&messages[at].blocks()[index]).unwrap_or_default();
            self.note(RepairKind::Dropped, at, id);
            self.blocks.entry(at).or_default().dropped.insert(index);
        }
        for ((at, index), _) in pairs.missing {
            let call = &messages[at].blocks()[index];
            self.note(
                RepairKind::Answered,
                at,
                server::call(call).unwrap_or_default(),
            );
            let added = (index + 1, answer::server_block(call));
            self.blocks.entry(at).or_default().added.push(added);
        }
    }

    /// Moves the results of each turn of the user before everything else in it.
    fn results_first(&mut self, messages: &[ListMessage]) {
        let user = |turn: &Range<usize>| messages[turn.start].role == Role::User;
        for turn in turns(messages).into_iter().filter(user) {
            let mut other = false;
            let mut late = Vec::new();
            let counts = |at: &usize| messages[*at].role != Role::System;
            for at in turn.clone().filter(counts) {
                // A content that is plain text has no blocks. It counts as something other than a
                // result.
                other |= messages[at].blocks().is_empty();
                for (index, block) in messages[at].blocks().iter().enumerate() {
                    let is_result = block["type"] == "tool_result";
                    let stays = !self
                        .blocks
                        .get(&at)
                        .is_some_and(|blocks| blocks.dropped.contains(&index));
                    if other && is_result && stays {
                        late.push((at, index));
                    }
                    other |= !is_result;
                }
            }
            let first = turn.start;
            let leading = blocks::leading(&messages[first]);
            // If the first message of the turn cannot change, a new message before it takes the
            // results and joins its turn.
            let apart = leading == 0 && !late.iter().any(|(at, _)| *at == first);
            let mut results = Vec::with_capacity(late.len());
            for (at, index) in late {
                let Some(text) = blocks::text(&messages[at], index) else {
                    continue;
                };
                let id = messages[at].blocks()[index]["tool_use_id"].as_str();
                self.repairs.push(Repair {
                    kind: RepairKind::Mended,
                    message: at,
                    id: id.unwrap_or_default().to_owned(),
                    code: Some(Code::ResultsNotFirst),
                });
                self.blocks.entry(at).or_default().dropped.insert(index);
                results.push(text.to_owned());
            }
            if results.is_empty() {
                continue;
            }
            if apart {
                let message = answer::turn(&results);
                self.before.entry(first).or_default().push(message);
            } else {
                let added = results.into_iter().map(|text| (leading, text));
                self.blocks.entry(first).or_default().added.extend(added);
            }
        }
    }

    /// Makes sure that the list still begins with a message of the user: the first one gets a text if it would become
    /// empty.
    fn keep_first(&mut self, messages: &[ListMessage]) {
        let turns = turns(messages);
        let [first, _, ..] = turns.as_slice() else {
            return;
        };
        let empty = |at: usize| {
            let blocks = self.blocks.get(&at);
            blocks.is_some_and(|blocks| blocks.leave_nothing(&messages[at]))
        };
        let goes = first
            .clone()
            .filter(|at| messages[*at].role != Role::System)
            .all(empty);
        if goes && let Some(blocks) = self.blocks.get_mut(&first.start) {
            blocks.added.push((0, answer::no_call()));
        }
    }
}

/// Returns the text of a result: of its message, or of its block.
fn text_of(list: &MessageList, stray: Stray) -> Result<&str, Finding> {
    let message = &list.messages()[stray.message];
    if list.form() != Form::Anthropic {
        return Ok(message.raw());
    }
    let block = blocks::results(message).nth(stray.answer);
    let text = block.and_then(|block| blocks::text(message, block));
    text.ok_or_else(|| blocks::unreadable(stray.message))
}
