//! What left a list is read back: the model asks for each mark of the last list.

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use crate::upstream::{Block, Upstream};

/// The marks of the last list, and those that did not come back.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Read {
    pub(crate) marks: u64,
    pub(crate) lost: u64,
}

/// All texts that a conversation had, as its client gave them and as they were sent.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashSet<String>);

impl Texts {
    /// Takes the texts of a request.
    pub(crate) fn add(&mut self, json: &Json) {
        match json {
            Json::String(text) => {
                self.0.insert(bare(text));
            }
            Json::Array(items) => items.iter().for_each(|item| self.add(item)),
            Json::Object(map) => map.values().for_each(|item| self.add(item)),
            _ => {}
        }
    }

    /// Returns whether one of them has these lines, one behind the other.
    fn has(&self, lines: &str) -> bool {
        let whole = bare(lines);
        self.0.iter().any(|text| text.contains(&whole))
    }
}

/// Returns a text between line feeds, without blanks before its lines: a form leaves out those before numbers of lines.
fn bare(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(str::trim_start).collect();
    format!("\n{}\n", lines.join("\n"))
}

/// Lines that a mark names: the result, from, to.
type Mark = (String, usize, usize);

/// Finds the marks of this kind in the texts of a value.
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

/// Reads all marks of the list that the provider got last. `ask` sends that list once more.
pub(crate) async fn all(upstream: &Upstream, texts: &Texts, ask: impl AsyncFn()) -> Read {
    let mut found = Vec::new();
    marks(&upstream.last().json(), " left out; ", &mut found);
    let mut read = Read::default();
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

/// Returns the lines of a mark. Those that stand whole in the list are named there in their turn, and read, too; and lines that are
/// too many at once are read in halves.
async fn shown(upstream: &Upstream, mark: &Mark, ask: &impl AsyncFn()) -> Option<String> {
    let mut open = vec![mark.clone()];
    let mut whole: Vec<String> = Vec::new();
    for _ in 0..999 {
        let Some(next) = open.pop() else {
            return Some(whole.join("\n"));
        };
        let text = once(upstream, &next, ask).await?;
        let (name, from, to) = next;
        let is_cut = text.contains(" left out; memory_read(");
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
    let list = got["messages"].as_array().or(got["input"].as_array())?;
    let result = list.last()?;
    let text = result["output"].as_str().or(result["content"].as_str());
    let text = text.or(result["content"][0]["content"].as_str());
    text.map(str::to_owned)
}
