//! The tool with which a model reads again what its prompt leaves out.

use std::ops::Range;
use std::sync::LazyLock;

use accp_frame::{AgentId, DynamicFrame, TokenCounter, ToolCallError, Value};
use accp_registry::Registry;
use accp_registry::export::{Export, Options, ToolForm};
use serde_json::Value as Json;

use super::{Entry, Memory};
use crate::policy::Kind;
use accp_context::search::{Query, Ranking, best_line};

/// The most tokens of an answer.
const WINDOW: usize = 800;

/// The tool as a frame. This registry has the definition of the tool and of its arguments. The tool has only one
/// argument, because each prompt pays for the definition.
const FRAME: &str = r#"{ "schemas": { "expand": {
    "code": "EX",
    "fields": ["at"],
    "types": { "at": "string" },
    "docs": { "at": "p12, p12:40-80, or words" },
    "frames": [{
        "intent": "req", "operation": "expand", "required": ["at"],
        "doc": "Show what was left out."
    }]
} } }"#;

static REGISTRY: LazyLock<Option<Registry>> = LazyLock::new(|| Registry::from_json(FRAME).ok());

impl Memory {
    /// The name of the tool of [`expand`](Self::expand).
    pub const TOOL: &str = "expand";

    /// Returns the definition of the tool [`expand`](Self::expand) for a provider, as a JSON array.
    /// It stands in a prompt before the first message that may lose lines.
    ///
    /// ```
    /// use accp_memory::policies::Memory;
    /// use accp_registry::export::ToolForm;
    ///
    /// assert!(Memory::tool(ToolForm::Mcp).contains(r#""name":"expand""#));
    /// ```
    pub fn tool(form: ToolForm) -> String {
        let export = REGISTRY
            .as_ref()
            .and_then(|registry| Export::of(registry, &Options::default()).ok());
        export.map_or_else(String::new, |export| export.tools(form))
    }

    /// Answers a model that calls the tool `expand`. The answer is a message (`p12`), lines of a message
    /// (`p12:40-80`), or the lines around some words in a message (`p12 def union`). If the call names no message, or
    /// the number does not exist, the answer is the message that fits the words best ([`Ranking`]). An answer names
    /// its message, and has at most 800 tokens, but at least one line.
    ///
    /// # Errors
    /// When the arguments do not fit the tool. The error is written for the model.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use accp_context::Recorded;
    /// use accp_memory::policies::{Layout, Memory};
    /// use accp_memory::policy::{Message, Opening, Policy};
    /// # use accp_runtime::view::View;
    /// # use accp_runtime::{Registry, TokenCounter};
    /// use serde_json::json;
    ///
    /// # #[derive(Debug)]
    /// # struct Quarters;
    /// # impl TokenCounter for Quarters {
    /// #     fn name(&self) -> &str { "quarters" }
    /// #     fn count(&self, text: &str) -> usize { text.len().div_ceil(4) }
    /// # }
    /// # let opening = Opening {
    /// #     tools: None,
    /// #     counter: Arc::new(Quarters),
    /// #     view: View::new(Arc::new(Registry::standard())),
    /// # };
    /// let mut memory = Memory::new(&opening, Layout::Shared);
    /// let stock = json!({ "role": "tool", "name": "stock", "content": "rye: 4\nspelt: 2\noats: 7" });
    /// memory.push(&Message::new(0, Recorded::of(&stock)).expect("it has a role"));
    /// let lines = memory.expand(&json!({ "at": "p0:2-3" }))?;
    /// assert_eq!(lines, "p0 stock, lines 2-3 of 3:\nspelt: 2\noats: 7\n");
    /// let found = memory.expand(&json!({ "at": "bags of spelt" }))?;
    /// assert!(found.starts_with("p0 stock, lines 1-3 of 3:\n"));
    /// # Ok::<(), accp_runtime::ToolCallError>(())
    /// ```
    pub fn expand(&self, arguments: &Json) -> Result<String, ToolCallError> {
        let asked = Asked::read(arguments)?;
        let named = asked.message.and_then(|at| self.shown(at));
        let Some(entry) = named.or_else(|| self.most_like(&asked.words)) else {
            return Ok(self.nothing(&asked));
        };
        let lines = &entry.lines;
        let range = asked
            .lines
            .filter(|range| named.is_some() && range.start < lines.len());
        let window = match (range, best(lines, &asked.words)) {
            (Some(range), _) => first(lines, range, &*self.counter),
            (None, Some(line)) => around(lines, line, &*self.counter),
            (None, None) => first(lines, 0..lines.len(), &*self.counter),
        };
        let (from, to) = (window.start + 1, window.end);
        let (index, all) = (entry.message.index, lines.len());
        let speaker = entry.message.speaker();
        let text = lines[window].join("\n");
        Ok(format!(
            "p{index} {speaker}, lines {from}-{to} of {all}:\n{text}\n"
        ))
    }

    /// Returns the message of this number. System prompts are never left out.
    fn shown(&self, at: usize) -> Option<&Entry> {
        let entry = self.entries.get(at)?;
        (entry.message.kind != Kind::System).then_some(entry)
    }

    /// Returns the message that fits these words best. If no message has one of them as a whole word, parts of words
    /// count, and the newest of equal messages is returned.
    fn most_like(&self, query: &Query) -> Option<&Entry> {
        let entries = (0..self.entries.len()).filter_map(|at| self.shown(at));
        let mut ranking = Ranking::new(query);
        for entry in entries.clone() {
            ranking.add(entry, entry.lines.iter().map(String::as_str));
        }
        if let Some(best) = ranking.best(1).pop() {
            return Some(best);
        }
        let counted = entries.map(|entry| {
            let counts = entry.lines.iter().map(|line| count(line, query));
            (counts.max().unwrap_or_default(), entry)
        });
        let most = counted.max_by_key(|(count, _)| *count);
        most.filter(|(count, _)| *count > 0).map(|(_, entry)| entry)
    }

    fn nothing(&self, asked: &Asked) -> String {
        let last = self.entries.len().saturating_sub(1);
        format!(
            "No message has any of these words: {}. Name a message, p0 to p{last}, or other words.\n",
            asked.words.words().join(", ")
        )
    }
}

/// What a call asks for.
#[derive(Debug, Default)]
struct Asked {
    message: Option<usize>,
    /// The lines of the message, from 0.
    lines: Option<Range<usize>>,
    words: Query,
}

impl Asked {
    fn read(arguments: &Json) -> Result<Self, ToolCallError> {
        let (Some(registry), Ok(agent)) = (&*REGISTRY, AgentId::new("model")) else {
            return Ok(Self::default());
        };
        let frame = DynamicFrame::from_tool_call(registry, &agent, Memory::TOOL, arguments)?;
        let at = frame.payload.get("at").and_then(Value::as_str);
        let at = at.unwrap_or_default().trim();
        let (head, rest) = at.split_once(char::is_whitespace).unwrap_or((at, ""));
        let (message, lines) = head.split_once(':').unwrap_or((head, ""));
        let message = message
            .strip_prefix('p')
            .and_then(|number| number.parse().ok());
        let words = if message.is_some() { rest } else { at };
        Ok(Self {
            message,
            lines: range(lines),
            words: Query::new(words),
        })
    }
}

/// Reads `40` or `40-80` as a range of lines from 0.
fn range(lines: &str) -> Option<Range<usize>> {
    let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
    let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
    (0 < from && from <= to).then(|| from - 1..to)
}

/// Returns how many of the words stand in a line, also as pieces of words.
fn count(line: &str, query: &Query) -> usize {
    let line = line.to_lowercase();
    let words = query.words().iter();
    words.filter(|word| line.contains(*word)).count()
}

/// Returns the index of the line that has most of the words; `None` if no line has any of them.
fn best(lines: &[String], query: &Query) -> Option<usize> {
    best_line(lines, query).or_else(|| {
        let counted = lines.iter().map(|line| count(line, query)).enumerate();
        let best = counted.rev().max_by_key(|(_, count)| *count)?;
        (best.1 > 0).then_some(best.0)
    })
}

/// Returns as many lines of a range as an answer may have, and one at least.
fn first(lines: &[String], range: Range<usize>, counter: &dyn TokenCounter) -> Range<usize> {
    let end = range.end.min(lines.len());
    let mut room = WINDOW;
    let fits = lines[range.start..end].iter().take_while(|line| {
        let tokens = counter.count(&format!("{line}\n"));
        let fits = tokens <= room;
        room = room.saturating_sub(tokens);
        fits
    });
    range.start..range.start + fits.count().max(1)
}

/// Returns a line, and as many lines around it as an answer may have.
fn around(lines: &[String], line: usize, counter: &dyn TokenCounter) -> Range<usize> {
    let tokens = |at: usize| counter.count(&format!("{}\n", lines[at]));
    let mut window = line..line + 1;
    let mut room = WINDOW.saturating_sub(tokens(line));
    loop {
        let before = window.start.checked_sub(1);
        let before = before.filter(|&at| tokens(at) <= room);
        if let Some(at) = before {
            room -= tokens(at);
            window.start = at;
        }
        let after = Some(window.end).filter(|&at| at < lines.len() && tokens(at) <= room);
        if let Some(at) = after {
            room -= tokens(at);
            window.end = at + 1;
        }
        if before.is_none() && after.is_none() {
            return window;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::counters::WORDS;
    use crate::policies::Layout;
    use crate::policy::{Message, Opening, Policy as _};
    use accp_context::{Recorded, view::View};

    fn memory() -> Memory {
        let opening = Opening {
            tools: None,
            counter: std::sync::Arc::new(WORDS),
            view: View::new(std::sync::Arc::new(Registry::standard())),
        };
        let mut memory = Memory::new(&opening, Layout::Shared);
        let log: Vec<String> = (1..=2000).map(|n| format!("step {n} done")).collect();
        let said = [
            json!({ "role": "system", "content": "the step 7 is secret" }),
            json!({ "role": "tool", "name": "run", "content": log.join("\n") }),
            json!({ "role": "assistant", "content": "Größe: all steps\nare done" }),
        ];
        for (index, json) in said.iter().enumerate() {
            memory.push(&Message::new(index, Recorded::of(json)).unwrap());
        }
        memory
    }

    fn head(at: &str) -> String {
        let answer = memory().expand(&json!({ "at": at })).unwrap();
        answer.lines().next().unwrap().to_owned()
    }

    #[test]
    fn a_message_is_shown_by_lines_or_words_within_the_window() {
        // A line has three tokens, so 266 lines fit into the 800 tokens of an answer.
        assert_eq!(head("p1"), "p1 run, lines 1-266 of 2000:");
        assert_eq!(head("p1:1990-9999"), "p1 run, lines 1990-2000 of 2000:");
        assert_eq!(head("p1:7"), "p1 run, lines 7-7 of 2000:");
        assert_eq!(head("p1 step 1000"), "p1 run, lines 867-1132 of 2000:");
        for odd in ["p1:0-4", "p1:9-4", "p1:x", "p1:9999"] {
            assert_eq!(head(odd), "p1 run, lines 1-266 of 2000:", "{odd}");
        }
    }

    #[test]
    fn what_is_not_known_is_looked_for_and_no_system_prompt_is_told() {
        assert_eq!(head("GRÖSSE größe"), "p2 assistant, lines 1-2 of 2:");
        assert_eq!(head("p99 are"), "p2 assistant, lines 1-2 of 2:");
        // A rare word counts more than a common one. A part of a word counts if no whole word matches.
        assert_eq!(head("all of step 7"), "p1 run, lines 1-266 of 2000:");
        assert_eq!(head("größ"), "p2 assistant, lines 1-2 of 2:");
        assert_eq!(head("secret step 1999"), "p1 run, lines 1735-2000 of 2000:");
        for at in ["p0", "secret", "", "p999999999999999999999", "p0:1-2"] {
            let answer = head(at);
            assert!(
                answer.starts_with("No message has any of these words"),
                "{answer}"
            );
        }
    }

    #[test]
    fn other_arguments_are_told_to_the_model() {
        let error = memory()
            .expand(&json!({ "of": "p1", "at": 7 }))
            .unwrap_err();
        let [other, wrong] = error.problems() else {
            panic!("{error}");
        };
        assert!(
            other.starts_with("of: there is no such argument"),
            "{other}"
        );
        assert_eq!(wrong, "at: expected a string");
    }

    #[test]
    fn the_definition_is_short() {
        let definition = r#"[
{"type":"function","function":{"name":"expand","description":"Show what was left out.","strict":true,"parameters":{"type":"object","properties":{"at":{"type":"string","description":"p12, p12:40-80, or words"}},"required":["at"],"additionalProperties":false}}}
]
"#;
        assert_eq!(Memory::tool(ToolForm::OpenAi), definition);
    }
}
