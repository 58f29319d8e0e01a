//! Checks that the model can read back what left a list: it asks for each mark of the last list.

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use crate::upstream::{Block, Upstream};

/// The number of marks of the last list, and of those whose lines did not come back.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Read {
    pub(crate) marks: u64,
    pub(crate) lost: u64,
}

/// All texts of a conversation, as the client gave them and as the gateway sent them.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    all: HashSet<String>,
    /// The last list of the client.
    list: Vec<Json>,
}

/// Returns the list of a request.
fn list_of(request: &Json) -> &[Json] {
    let list = request["messages"]
        .as_array()
        .or(request["input"].as_array());
    list.map(Vec::as_slice).unwrap_or_default()
}

/// Finds the texts of a message: its words, the arguments of calls, and the results of tools.
fn words(json: &Json, found: &mut Vec<String>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| words(item, found)),
        Json::Object(map) => {
            for (key, value) in map {
                match value {
                    Json::String(text) if ["text", "content", "output"].contains(&&**key) => {
                        found.push(text.clone());
                    }
                    other => words(other, found),
                }
            }
        }
        _ => {}
    }
}

impl Texts {
    /// Adds the texts of a request.
    pub(crate) fn add(&mut self, json: &Json) {
        match json {
            Json::String(text) => {
                self.all.insert(bare(text));
            }
            Json::Array(items) => items.iter().for_each(|item| self.add(item)),
            Json::Object(map) => map.values().for_each(|item| self.add(item)),
            _ => {}
        }
    }

    /// Adds the texts of the client's last request, and keeps its list.
    pub(crate) fn end(&mut self, request: &Json) {
        self.add(request);
        self.list = list_of(request).to_vec();
    }

    /// Returns the messages that have left the list of a request, each with its words.
    fn left(&self, request: &Json) -> Vec<(usize, Vec<String>)> {
        let text = request.to_string();
        let last = text.split("[messages ").skip(1).find_map(|rest| {
            let (numbers, _) = rest.split_once(" left out; ")?;
            numbers.split(' ').nth(2)?.parse::<usize>().ok()
        });
        let Some(last) = last else {
            return Vec::new();
        };
        let left = self.list.iter().enumerate().take(last + 1);
        let left = left.filter(|(_, message)| message["role"] != "system");
        left.map(|(at, message)| {
            let mut found = Vec::new();
            words(message, &mut found);
            (at, found)
        })
        .collect()
    }

    /// Returns whether one of the texts has these lines, one directly after the other.
    fn has(&self, lines: &str) -> bool {
        let whole = bare(lines);
        self.all.iter().any(|text| text.contains(&whole))
    }
}

/// Returns a text between line feeds, without the blanks at the start of its lines: a cheaper form leaves out blanks
/// before line numbers.
fn bare(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(str::trim_start).collect();
    format!("\n{}\n", lines.join("\n"))
}

/// The lines that a mark names: the name of the result, the first line, and the last line.
type Mark = (String, usize, usize);

/// Finds the marks in the texts of a value. Only marks with the text `end` after the name of the result count.
fn marks(json: &Json, end: &str, found: &mut Vec<Mark>) {
    match json {
        Json::String(text) => found.extend(text.lines().filter_map(|line| mark(line, end))),
        Json::Array(items) => items.iter().for_each(|item| marks(item, end, found)),
        Json::Object(map) => map.values().for_each(|item| marks(item, end, found)),
        _ => {}
    }
}

fn mark(line: &str, end: &str) -> Option<Mark> {
    let line = line.trim().strip_prefix('[')?;
    let (numbers, rest) = match line.strip_prefix("lines ") {
        Some(rest) => rest.split_once(" of result ")?,
        None => line.strip_prefix("line ")?.split_once(" of result ")?,
    };
    let (from, to) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let (name, _) = rest.split_once(end)?;
    Some((name.to_owned(), from.parse().ok()?, to.parse().ok()?))
}

/// Reads all marks of the last list that the provider got. `ask` sends the client's last list once more.
pub(crate) async fn all(upstream: &Upstream, texts: &Texts, ask: impl AsyncFn()) -> Read {
    let mut found = Vec::new();
    marks(&upstream.last().json(), " left out; ", &mut found);
    let mut read = Read::default();
    for (at, expected) in texts.left(&upstream.last().json()) {
        read.marks += 1;
        let lines = expected.iter().map(|text| text.lines().count());
        let mark = (format!("message {at}"), 1, lines.sum::<usize>() + 9);
        let shown = shown(upstream, &mark, &ask).await;
        let shown = bare(&shown.unwrap_or_default());
        if !expected
            .iter()
            .all(|text| shown.contains(bare(text).trim()))
        {
            eprintln!("message {at} did not come back");
            read.lost += 1;
        }
    }
    for mark in found {
        read.marks += 1;
        let (name, from, to) = &mark;
        let shown = shown(upstream, &mark, &ask).await;
        if !shown.as_ref().is_some_and(|shown| texts.has(shown)) {
            eprintln!("lines {from} to {to} of {name} did not come back");
            read.lost += 1;
        }
    }
    read
}

/// Returns the lines of a mark. If the answer refers to lines that are in the list already, these lines are read,
/// too. Lines that are too many for one answer are read in halves.
async fn shown(upstream: &Upstream, mark: &Mark, ask: &impl AsyncFn()) -> Option<String> {
    let mut open = vec![mark.clone()];
    let mut whole: Vec<String> = Vec::new();
    for _ in 0..999 {
        let Some(next) = open.pop() else {
            return Some(whole.join("\n"));
        };
        let text = once(upstream, &next, ask).await?;
        let (name, from, to) = next;
        let is_behind = text.starts_with("no lines ") || text.contains(", and none from ");
        if from > 1 && is_behind {
            // The lines begin after the end of the message, so there is nothing to read.
            continue;
        }
        let marks = [" left out; memory_read(", " at once; memory_read("];
        let is_cut = marks.iter().any(|mark| text.contains(mark));
        if is_cut && from < to {
            let middle = from.midpoint(to);
            open.push((name.clone(), middle + 1, to));
            open.push((name, from, middle));
            continue;
        }
        let mut lines = Vec::new();
        for line in text.split('\n') {
            match self::mark(line, " again, from ") {
                Some(again) => lines.push(once(upstream, &again, ask).await?),
                None => lines.push(line.to_owned()),
            }
        }
        whole.push(lines.join("\n"));
    }
    None
}

async fn once(
    upstream: &Upstream,
    (name, from, to): &Mark,
    ask: &impl AsyncFn(),
) -> Option<String> {
    upstream.says([vec![Block::Call {
        id: format!("toolu_{name}_{from}_{to}").replace(' ', "_"),
        name: "memory_read".into(),
        input: json!({"result": name, "from": from, "to": to}),
    }]]);
    ask().await;
    if let Some(refused) = upstream.last().refused {
        eprintln!("{name} {from} {to}: {refused}");
    }
    let got = upstream.last().json();
    let result = list_of(&got).last()?;
    let text = result["output"].as_str().or(result["content"].as_str());
    let text = text.or(result["content"][0]["content"].as_str());
    text.map(str::to_owned)
}
