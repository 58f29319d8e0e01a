//! Decides what the provider answers: the next turn of a queue, or else a call by a rule, or else a short text.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value as Json;

use super::list::Asked;

/// A block of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    Thinking(String),
    Text(String),
    Call {
        id: String,
        name: String,
        input: Json,
    },
}

impl Block {
    /// Returns the text of the block.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Thinking(text) | Self::Text(text) => text.clone(),
            Self::Call { name, input, .. } => format!("{name} {input}"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) queue: VecDeque<Vec<Block>>,
    pub(super) rules: Vec<Rule>,
}

/// A rule: the provider calls a tool while a request offers it and its list has fewer than `times` results. With
/// `every`, the provider calls the tool only if the number of results is a multiple of `every`. `{n}` in texts of the
/// input stands for the number of results so far.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Rule {
    tool: String,
    input: Json,
    times: usize,
    every: Option<usize>,
}

impl Rule {
    pub(super) fn new(tool: &str, input: Json, times: usize) -> Self {
        Self {
            tool: tool.to_owned(),
            input,
            times,
            every: None,
        }
    }

    fn is_due(&self, results: usize) -> bool {
        let every = self.every.unwrap_or(1).max(1);
        results < self.times && results.is_multiple_of(every)
    }
}

impl Script {
    /// Returns the blocks of the next answer.
    pub(super) fn turn(&mut self, asked: &Asked) -> Vec<Block> {
        if let Some(blocks) = self.queue.pop_front() {
            return blocks;
        }
        let results = asked.results();
        let mut blocks = Vec::new();
        if asked.thinks() {
            blocks.push(Block::Thinking(format!(
                "There are {results} results so far. What is the next step?"
            )));
        }
        let mut rules = self.rules.iter();
        let rule = rules.find(|rule| rule.is_due(results) && asked.offers(&rule.tool));
        if let Some(rule) = rule {
            blocks.push(Block::Text(format!("I look at page {results}.")));
            let mut input = rule.input.clone();
            fill(&mut input, results);
            blocks.push(Block::Call {
                id: format!("toolu_{}_{results}", rule.tool),
                name: rule.tool.clone(),
                input,
            });
        } else {
            blocks.push(Block::Text(
                "Noted, and nothing is left to look at.".to_owned(),
            ));
        }
        blocks
    }
}

fn fill(json: &mut Json, results: usize) {
    match json {
        Json::String(text) => *text = text.replace("{n}", &results.to_string()),
        Json::Array(items) => items.iter_mut().for_each(|item| fill(item, results)),
        Json::Object(map) => map.values_mut().for_each(|item| fill(item, results)),
        _ => {}
    }
}

/// Returns a text in the pieces in which a stream gives it.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(12)
        .map(|piece| piece.iter().collect())
        .collect()
}
