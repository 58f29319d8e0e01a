//! What a list shows of a message.

use accp_memory::MessageList;
use serde_json::Value as Json;

/// Returns the texts of a message.
fn texts(message: &Json) -> Vec<String> {
    match &message["content"] {
        Json::String(text) => vec![text.clone()],
        Json::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns a text as a summary quotes it.
pub(crate) fn quoted(text: &str) -> String {
    let lines = text.trim_matches('\n').split('\n');
    let lines = lines.map(|line| format!("> {line}"));
    lines.collect::<Vec<_>>().join("\n").replace("> \n", ">\n")
}

/// A list to look for texts in.
pub(crate) struct Shown {
    /// The section with the requests; empty without a summary.
    pub(crate) intent: String,
    texts: Vec<String>,
}

impl Shown {
    pub(crate) fn of(list: &MessageList) -> Self {
        let messages = list.messages().iter();
        let texts: Vec<_> = messages.flat_map(|message| texts(message.json())).collect();
        let summaries = texts
            .iter()
            .filter(|text| text.starts_with("## Session Summary\n**"));
        let summaries: Vec<_> = summaries.collect();
        assert!(summaries.len() <= 1);
        let section = |text: &&String| {
            let (_, rest) = text.split_once("\n### Session Intent\n").unwrap();
            rest.split("\n\n### Artifacts Created\n")
                .next()
                .unwrap()
                .to_owned()
        };
        Self {
            intent: summaries.first().map(section).unwrap_or_default(),
            texts,
        }
    }

    /// Returns where a text stands whole: in the section of a summary, or as a message behind it.
    pub(crate) fn place(&self, text: &str) -> Option<(usize, usize)> {
        // A quotation ends at the end of a line, so this finds no part of a longer text.
        let wanted = format!("\n{}\n", quoted(text));
        let quotation = format!("\n{}\n", self.intent).find(&wanted);
        let quotation = quotation.or_else(|| self.line(text));
        let message = || self.texts.iter().position(|one| one == text);
        quotation
            .map(|at| (0, at))
            .or_else(|| message().map(|at| (1, at)))
    }

    /// Returns where a later request of one line stands behind the number of its message.
    fn line(&self, text: &str) -> Option<usize> {
        let mut at = 0;
        let mut lines = self.intent.split('\n').map(|line| (line.len() + 1, line));
        lines.find_map(|(length, line)| {
            let start = at;
            at += length;
            is_request(line, text).then_some(start)
        })
    }

    /// Returns whether a text stands whole in any message, or is quoted there.
    pub(crate) fn stands(&self, text: &str) -> bool {
        let wanted = format!("\n{}\n", quoted(text));
        let mut texts = self.texts.iter();
        let mut lines = self.texts.iter().flat_map(|one| one.split('\n'));
        texts.any(|one| one == text || format!("\n{one}\n").contains(&wanted))
            || lines.any(|line| is_request(line, text))
    }
}

/// Returns whether a line has a later request, whole: the number of its message, perhaps notes in brackets, and this text.
fn is_request(line: &str, text: &str) -> bool {
    let text = text.trim_matches('\n');
    let heading = line
        .strip_suffix(text)
        .and_then(|rest| rest.strip_suffix(": "));
    let Some(heading) = heading else { return false };
    let (number, notes) = heading.split_once(' ').unwrap_or((heading, "()"));
    number.parse::<usize>().is_ok() && notes.starts_with('(') && notes.ends_with(')')
}
