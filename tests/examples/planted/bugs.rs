//! Bugs as data: each is a text file that says what goes wrong, and how the code looks then.
//!
//! ```text
//! The host does not look whether an id was consumed before.
//!
//! --- accp-session/src/judge.rs
//! -        if let Some(place) = self.seen.get(&mid) {
//! +        if let Some(place) = self.seen.get(&mid).filter(|_| false) {
//! ```
//!
//! A line that starts with `-` must be there and goes, one with a space must be there and
//! stays, one with `+` comes. What must be there must be there once. Further files, and
//! further places of one, each begin with their own `---`.

use std::fmt::Display;
use std::fs;
use std::path::Path;

/// A mistake that somebody could make.
#[derive(Debug)]
pub(crate) struct Bug {
    /// The name of the file, without its extension.
    pub(crate) name: String,
    /// What goes wrong, in a sentence.
    pub(crate) what: String,
    pub(crate) edits: Vec<Edit>,
}

/// A place that looks otherwise.
#[derive(Debug)]
pub(crate) struct Edit {
    /// From the top of the workspace.
    pub(crate) file: String,
    pub(crate) old: String,
    pub(crate) new: String,
}

impl Bug {
    /// Reads all bugs of a folder, by name.
    ///
    /// # Errors
    /// Names the file, and what is wrong with it.
    pub(crate) fn read_all(folder: &Path) -> Result<Vec<Self>, String> {
        let files =
            fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut bugs = Vec::new();
        for file in files {
            let path = file.map_err(|error| error.to_string())?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
            bugs.push(Self::parse(&name, &text).map_err(|error| format!("{name}: {error}"))?);
        }
        bugs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(bugs)
    }

    /// Whether it can be planted in the workspace as it stands.
    ///
    /// # Errors
    /// When what must be there is there not once.
    pub(crate) fn fits(&self, root: &Path) -> Result<(), String> {
        for edit in &self.edits {
            let said = |error: &dyn Display| format!("{}: {error}", self.name);
            let text = fs::read_to_string(root.join(&edit.file)).map_err(|error| said(&error))?;
            edit.plant(&text).map_err(|error| said(&error))?;
        }
        Ok(())
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut blocks = text.split("\n--- ");
        let what = blocks.next().unwrap_or_default().trim().replace('\n', " ");
        let edits: Vec<_> = blocks.map(Edit::parse).collect::<Result<_, _>>()?;
        if what.is_empty() || edits.is_empty() {
            return Err("expected a sentence, and places that begin with `--- FILE`".into());
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
        let file = lines.next().unwrap_or_default().trim().to_owned();
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
        if old.is_empty() || old == new {
            return Err(format!("nothing is changed in {file}"));
        }
        Ok(Self { file, old, new })
    }

    /// The text of the file with the mistake in it.
    ///
    /// # Errors
    /// When what must be there is there not once.
    pub(crate) fn plant(&self, text: &str) -> Result<String, String> {
        let text = format!("\n{text}");
        let (old, new) = (format!("\n{}", self.old), format!("\n{}", self.new));
        match text.matches(&old).count() {
            1 => Ok(text.replacen(&old, &new, 1).split_off(1)),
            times => Err(format!(
                "expected these lines once in {}, found them {times} times:\n{}",
                self.file, self.old
            )),
        }
    }
}
