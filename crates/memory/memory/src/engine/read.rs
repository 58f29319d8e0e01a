//! Reads the lines that a mark names, and searches results and messages by words.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Memory;
use super::mark::MESSAGE;
use crate::media::Way;
use crate::ranked::{Searched, search};

/// Lines that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The name of the result or of the message, as [`Memory::read`] takes it.
    pub name: String,
    /// The first and the last line, from 1. If the list has the result in another form than the given one, these are
    /// the first and the last line of the whole result.
    pub lines: (usize, usize),
    /// The text that was found, as it was given: at most 30 lines, and only a part of a line that is over 8 KiB.
    pub text: String,
}

impl Memory {
    /// Returns lines of the result or the message that a mark names, as the list has them or would have them uncut.
    /// `from` and `to` count from 1, and both lines are included. If `to` is behind the last line, it means the last
    /// line. Returns `None` if nothing has this name, or there are no such lines. After a restart, the memory needs
    /// the list once before ([`to_send`](Self::to_send)).
    ///
    /// ```
    /// # use accp_memory::{Memory, MessageList, Prices, Promise, Window};
    /// # let list = MessageList::read(r#"[{"role":"user","content":"Rye?"},{"role":"assistant","tool_calls":[{"id":"c1","type":
    /// #     "function","function":{"name":"stock","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"rye\n4"}]"#, None)?;
    /// # let mut memory = Memory::new(Window::of(8_000)?, Prices::default(), Promise::Append);
    /// # memory.to_send(&list, time::OffsetDateTime::UNIX_EPOCH);
    /// assert_eq!(memory.read("c1", 2, 2).as_deref(), Some("4"));
    /// assert_eq!(memory.read("c1", 3, 9), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, name: &str, from: usize, to: usize) -> Option<String> {
        let text = self.text(name)?;
        let lines: Vec<&str> = text.split('\n').collect();
        let to = to.min(lines.len());
        let lines = lines.get(from.checked_sub(1)?..to)?;
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Finds the parts of results and messages that fit a query best, the best first: at most 30 lines each. The
    /// ranking is that of the index on disk: words near each other, identifiers such as `ORD-12345` and names of
    /// tools count more, and newer parts count a little more. System messages are not searched. After a restart, the
    /// memory needs the list once before ([`to_send`](Self::to_send)).
    ///
    /// ```
    /// # use accp_memory::{Memory, MessageList, Prices, Promise, Window};
    /// # let list = MessageList::read(r#"[{"role":"user","content":"Rye?"},{"role":"assistant","tool_calls":[{"id":"c1","type":
    /// #     "function","function":{"name":"stock","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"oats: 9\nrye: 4"}]"#, None)?;
    /// # let mut memory = Memory::new(Window::of(8_000)?, Prices::default(), Promise::Append);
    /// # memory.to_send(&list, time::OffsetDateTime::UNIX_EPOCH);
    /// let found = memory.search("stock of oats", 3);
    /// assert_eq!((&*found[0].name, found[0].lines), ("c1", (1, 2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn search(&self, query: &str, most: usize) -> Vec<Found> {
        let mut tools: HashMap<&str, &str> = HashMap::new();
        let mut formed: HashMap<String, usize> = HashMap::new();
        let mut named: Vec<(String, String, Cow<'_, str>)> = Vec::new();
        for (at, known) in self.state.messages.iter().enumerate() {
            let Some(given) = known.given.as_ref().filter(|_| !known.is_system) else {
                continue;
            };
            let calls = given.calls.iter();
            tools.extend(calls.map(|call| (&*call.id, &*call.tool)));
            let about = |id: &str| tools.get(id).copied().unwrap_or_default().to_owned();
            if known.results.is_empty() {
                let called: Vec<&str> = given.calls.iter().map(|call| &*call.tool).collect();
                let name = format!("{MESSAGE}{at}");
                let text = self.message(&name).unwrap_or_default();
                named.push((name, called.join(" "), text.into()));
            }
            for result in &known.results {
                let tool = about(result.call());
                // A form may refer to keys and lines of earlier results, so the text is searched as it was given.
                named.push((result.name.clone(), tool, result.given().into()));
                if result.has_own_lines() {
                    let lines = result.to_read().unwrap_or_default();
                    let lines = lines.split('\n').count();
                    formed.insert(result.name.clone(), lines);
                }
            }
        }
        let texts = named.iter().map(|(_, tools, text)| Searched {
            tools: tools.clone(),
            text,
        });
        let texts: Vec<_> = texts.collect();
        let found = search(&texts, query, most).into_iter().map(|section| {
            let (name, _, text) = &named[section.text];
            let (first, last) = section.lines;
            let lines = formed.get(name).map(|lines| (1, *lines));
            Found {
                name: name.clone(),
                lines: lines.unwrap_or((first + 1, last + 1)),
                text: text[section.bytes].to_owned(),
            }
        });
        found.collect()
    }

    /// Returns the text of the result or the message with this name. Marks count the lines of this text. `None` if
    /// nothing has this name.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let results = self.state.messages.iter().flat_map(|known| &known.results);
        let mut named = results.filter(|known| known.name == name);
        Some(match named.next() {
            Some(result) => result.to_read()?.into(),
            None => self.message(name)?.into(),
        })
    }

    /// Returns what a model reads of the message with this name; `None` if there is no such message.
    pub(super) fn message(&self, name: &str) -> Option<String> {
        let at: usize = name.strip_prefix(MESSAGE)?.parse().ok()?;
        let known = self.state.messages.get(at)?;
        let given = known.given.as_ref()?;
        let text = given.billed(self.form?).text;
        // The tool answers with texts, so a line says what else the message has.
        let media = given.media.iter();
        let media = media.map(|found| found.line_of(Way::Asking, at));
        let words = Some(text.clone()).filter(|text| !text.trim().is_empty());
        let lines: Vec<String> = words.into_iter().chain(media).collect();
        let has_lines = !given.media.is_empty();
        Some(if has_lines { lines.join("\n") } else { text })
    }
}
