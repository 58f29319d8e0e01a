//! Pairs the calls and results of tools that Anthropic runs itself. Both are blocks in turns of the assistant.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value as Json;

use crate::list::MessageList;
use crate::message::{ListMessage, Role};

use super::pairs::{Why, turns};

/// The place of a block: message and index in its content.
pub(crate) type At = (usize, usize);

/// The blocks of server tools that do not pair.
#[derive(Debug, Default)]
pub(crate) struct ServerPairs {
    /// Calls without a result, each with the first message that comes too late to have the result.
    pub(crate) missing: Vec<(At, usize)>,
    /// Results that answer no call.
    pub(crate) stray: Vec<(At, Why)>,
}

impl ServerPairs {
    /// Pairs the blocks of a list in Anthropic's form.
    pub(crate) fn of(list: &MessageList) -> Self {
        let mut pairs = Self::default();
        let messages = list.messages();
        let turns = turns(messages);
        let callers = callers(messages);
        // The open calls of the provider's own tools. A tool such as code execution may wait for results of the
        // program; its own result then comes in a later turn.
        let mut waiting: BTreeMap<&str, (At, bool)> = BTreeMap::new();
        for (number, turn) in turns.iter().enumerate() {
            if messages[turn.start].role != Role::Assistant {
                continue;
            }
            pairs.turn(messages, turn.clone(), &mut waiting);
            // The provider may still continue the last turn, so its open calls are not flaws.
            let Some(next) = turns.get(number + 1) else {
                break;
            };
            waiting.retain(|id, (call, answered)| {
                let is_over = !callers.contains(*id);
                if is_over && !*answered {
                    pairs.missing.push((*call, next.start));
                }
                !is_over
            });
        }
        pairs
    }

    fn turn<'l>(
        &mut self,
        messages: &'l [ListMessage],
        turn: Range<usize>,
        open: &mut BTreeMap<&'l str, (At, bool)>,
    ) {
        for at in turn.filter(|at| messages[*at].role == Role::Assistant) {
            for (index, block) in messages[at].blocks().iter().enumerate() {
                if let Some(id) = call(block) {
                    open.insert(id, ((at, index), false));
                } else if let Some(id) = result(block) {
                    match open.get_mut(id) {
                        Some((_, true)) => self.stray.push(((at, index), Why::Repeated)),
                        Some((_, answered)) => *answered = true,
                        None => self.stray.push(((at, index), Why::Orphan)),
                    }
                }
            }
        }
    }
}

/// Returns the id of a call of a server tool.
pub(crate) fn call(block: &Json) -> Option<&str> {
    let kind = block["type"].as_str()?;
    if !matches!(kind, "server_tool_use" | "mcp_tool_use") {
        return None;
    }
    block["id"].as_str()
}

/// Returns the id that a result of a server tool answers.
pub(crate) fn result(block: &Json) -> Option<&str> {
    let kind = block["type"].as_str()?;
    if kind == "tool_result" || !kind.ends_with("_tool_result") {
        return None;
    }
    block["tool_use_id"].as_str()
}

/// Returns the ids of server tools whose code calls tools of the program.
fn callers(messages: &[ListMessage]) -> BTreeSet<&str> {
    let blocks = messages.iter().flat_map(ListMessage::blocks);
    blocks
        .filter_map(|block| block["caller"]["tool_id"].as_str())
        .collect()
}
