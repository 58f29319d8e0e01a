//! Bugs as data: each is a text file that describes the bug and the change of the code.
//!
//! ```text
//! The host does not look whether an id was consumed before.
//!
//! --- accp-session Judge::first_checks
//! -self.seen.get(&mid)
//! +self.seen.get(&mid).filter(|_| false)
//! ```
//!
//! The line with `---` names a place: the crate, and the end of the path of a function or a constant in any file of
//! the crate. Lines with `-` must be there and are removed. Lines with a space must be there and stay. Lines with `+`
//! are added. All lines without `+`, in order, are the pattern. The program compares the tokens of the pattern,
//! so formatting and comments do not count. The pattern must have its brackets in pairs. Brackets with only `..`
//! between them match brackets with anything inside. The pattern must match exactly once. Each further place begins
//! with its own `---`.

use std::fmt::Display;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::sources::Source;
use super::tokens::{self, Token};

/// A mistake that a programmer could make.
#[derive(Debug)]
pub(crate) struct Bug {
    /// The name of the file, without its extension.
    pub(crate) name: String,
    /// The mistake, in one sentence.
    pub(crate) what: String,
    pub(crate) edits: Vec<Edit>,
}

/// A change in one place.
#[derive(Debug)]
pub(crate) struct Edit {
    /// The name of the crate, which is also the name of its folder.
    pub(crate) of: String,
    /// The end of the path of an item: `Judge::fold`.
    pub(crate) item: String,
    pub(crate) old: Vec<Token>,
    pub(crate) new: String,
}

impl Bug {
    /// Reads all bugs of a folder and of the folders in it, sorted by name.
    ///
    /// # Errors
    /// Returns the name of the file, and the fault in it.
    pub(crate) fn read_all(folder: &Path) -> Result<Vec<Self>, String> {
        let files =
            fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut bugs = Vec::new();
        for file in files {
            let path = file.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                bugs.extend(Self::read_all(&path)?);
                continue;
            }
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
            bugs.push(Self::parse(&name, &text).map_err(|error| format!("{name}: {error}"))?);
        }
        bugs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(bugs)
    }

    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut blocks = text.split("\n--- ");
        let what = blocks.next().unwrap_or_default().trim().replace('\n', " ");
        let edits: Vec<_> = blocks.map(Edit::parse).collect::<Result<_, _>>()?;
        if what.is_empty() || edits.is_empty() {
            return Err("expected a sentence, and places that begin with `--- CRATE ITEM`".into());
        }
        Ok(Self {
            name: name.into(),
            what,
            edits,
        })
    }
}

impl Edit {
    fn parse(block: &str) -> Result<Self, String> {
        let mut lines = block.lines();
        let place = lines.next().unwrap_or_default().trim();
        let (of, item) = place
            .split_once(' ')
            .ok_or_else(|| format!("expected `--- CRATE ITEM`, found `--- {place}`"))?;
        let (mut old, mut new) = (String::new(), String::new());
        for line in lines.filter(|line| !line.is_empty()) {
            let (mark, line) = line.split_at(1);
            if matches!(mark, "-" | " ") {
                old = old + line + "\n";
            }
            if matches!(mark, "+" | " ") {
                new = new + line + "\n";
            }
            if !matches!(mark, "-" | "+" | " ") {
                return Err(format!("expected `-`, `+` or a space before {mark}{line}"));
            }
        }
        let failed = |error: String| format!("{place}: {error}");
        let old = tokens::read(&old).map_err(failed)?;
        if old.is_empty() || texts(&old) == texts(&tokens::read(&new).map_err(failed)?) {
            return Err(format!("nothing is changed in {place}"));
        }
        Ok(Self {
            of: of.into(),
            item: item.into(),
            old,
            new: new.trim_end().into(),
        })
    }

    /// Returns the changed file of the crate, and its text with the bug.
    ///
    /// # Errors
    /// As [`Self::place`].
    pub(crate) fn plant(&self, sources: &[Source]) -> Result<(PathBuf, String), String> {
        let (source, at) = self.place(sources)?;
        let mut text = source.text.clone();
        text.replace_range(at, &self.new);
        Ok((source.path.clone(), text))
    }

    /// Returns the file of the crate in which the pattern matches, and the bytes that it matches.
    ///
    /// # Errors
    /// If the pattern does not match exactly once. The error shows the most similar place.
    pub(crate) fn place<'s>(
        &self,
        sources: &'s [Source],
    ) -> Result<(&'s Source, Range<usize>), String> {
        let mut found = Vec::new();
        let mut items = 0;
        for source in sources {
            for item in source.items.iter().filter(|item| self.is_meant(&item.path)) {
                items += 1;
                let tokens = &source.tokens[item.tokens.clone()];
                let start = item.tokens.start;
                for place in tokens::find(&self.old, tokens) {
                    found.push((source, start + place.start..start + place.end));
                }
            }
        }
        let what = |problem: &dyn Display| {
            let (of, item, old) = (&self.of, &self.item, texts(&self.old).join(" "));
            format!("{of}, {item}: expected these tokens once, {problem}:\n  {old}")
        };
        match &found[..] {
            [(source, tokens)] => Ok((source, source.bytes_of(tokens))),
            [] => {
                let near = self.nearest(sources, items > 0);
                let problem = if items == 0 {
                    "found no such item"
                } else {
                    "did not find them"
                };
                Err(what(&problem) + "\n" + &near)
            }
            _ => {
                let message = what(&format!("found them {} times", found.len()));
                let lines = found
                    .iter()
                    .map(|(source, tokens)| describe(source, tokens));
                Err(message + "\n" + &lines.collect::<Vec<_>>().join("\n"))
            }
        }
    }

    /// Returns whether the path of an item ends in this edit's path.
    fn is_meant(&self, path: &str) -> bool {
        let before = path.strip_suffix(&self.item);
        before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
    }

    /// Describes where the tokens are if they are outside of the named items. Otherwise describes the most similar
    /// tokens, in the named items or, if there are none, in all items.
    fn nearest(&self, sources: &[Source], in_items: bool) -> String {
        let all = |source: &Source| tokens::find(&self.old, &source.tokens);
        let elsewhere = sources
            .iter()
            .find_map(|source| Some((source, all(source).pop()?)));
        if let Some((source, tokens)) = elsewhere {
            return format!("they stand elsewhere:\n{}", describe(source, &tokens));
        }
        let mut best: Option<(usize, &Source, Range<usize>)> = None;
        for source in sources {
            let items = source.items.iter();
            for item in items.filter(|item| !in_items || self.is_meant(&item.path)) {
                let start = item.tokens.start;
                let near = tokens::nearest(&self.old, &source.tokens[item.tokens.clone()]);
                if let Some((common, tokens)) = near
                    && best.as_ref().is_none_or(|(most, ..)| common > *most)
                {
                    best = Some((common, source, start + tokens.start..start + tokens.end));
                }
            }
        }
        best.map_or_else(
            || "nothing is like them".into(),
            |(_, source, tokens)| format!("this is most like them:\n{}", describe(source, &tokens)),
        )
    }
}

fn texts(tokens: &[Token]) -> Vec<&str> {
    tokens.iter().map(|token| token.text.as_str()).collect()
}

/// Describes a place for people: file, line, item and text.
fn describe(source: &Source, tokens: &Range<usize>) -> String {
    let item = source.item_at(tokens.start).map_or("", |item| &item.path);
    let words: Vec<_> = source.text_of(tokens).split_whitespace().collect();
    format!(
        "  {}:{}, {item}: {}",
        source.path.display(),
        source.line_of(tokens.start),
        words.join(" ")
    )
}
