//! The forms that only the lenient reader accepts. In a strict reader, these functions have no effect.

use accp_registry::lexical::{self, is_agent_char};
use accp_registry::view::implied;
use accp_registry::{Intent, Schema, Type};

use super::cursor::{Broken, Cursor};
use super::mistake::Mistake;
use super::spelling::respelt;
use super::values::literal;
use crate::view::{text, write};
use accp_frame::__internal::plain;
use accp_frame::{Repair, Value};

/// Marks that models put around texts in place of `"`, each with its end.
const QUOTES: [(char, char); 4] = [
    ('\'', '\''),
    ('`', '`'),
    ('\u{2018}', '\u{2019}'),
    ('\u{201c}', '\u{201d}'),
];
/// Characters that a line may have after its block.
const TRAILING: [char; 4] = ['`', '*', '.', ';'];

impl<'r, 't> Cursor<'r, 't> {
    /// Makes the reader lenient.
    pub(super) fn leniently(mut self) -> Self {
        self.repairs = Some(Vec::new());
        self
    }

    fn is_lenient(&self) -> bool {
        self.repairs.is_some()
    }

    fn repair(&mut self, at: usize, what: Mistake, from: &str, to: &str) {
        let at = self.offset + at;
        let (from, to) = (String::from(from), String::from(to));
        if let Some(repairs) = &mut self.repairs {
            repairs.push(Repair { at, what, from, to });
        }
    }

    /// Skips spaces, and line breaks outside of tables.
    pub(super) fn gap(&mut self) {
        let is_in_table = self.is_in_table;
        self.skip(|c| text::is_blank(c) || c == '\n' && !is_in_table);
    }

    /// Skips spaces, but no line breaks.
    pub(super) fn trailing(&mut self) {
        self.skip(text::is_blank);
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        let rest = self.rest();
        let skipped = rest.len() - rest.trim_start_matches(is_skipped).len();
        if skipped > 0 && self.is_lenient() {
            self.repair(self.at, Mistake::Spaces, &rest[..skipped], "");
            self.at += skipped;
        }
    }

    /// Returns `rest` without the spaces at its beginning. The cursor does not move.
    pub(super) fn tightened<'a>(&self, rest: &'a str) -> &'a str {
        if self.is_lenient() {
            rest.trim_start_matches(text::is_blank)
        } else {
            rest
        }
    }

    /// Returns a word that was taken, without the spaces at its end. The cursor goes back to these spaces, unless they
    /// stand between the code of a schema and its bracket.
    pub(super) fn trimmed(&mut self, word: &'t str) -> &'t str {
        if !self.is_lenient() {
            return word;
        }
        let trimmed = word.trim_end_matches(text::is_blank);
        self.at -= word.len() - trimmed.len();
        let is_code = self.registry.schema(trimmed).is_some();
        if is_code && self.tightened(self.rest()).starts_with(['(', '[']) {
            self.trailing();
        }
        trimmed
    }

    /// Returns the key at the beginning of a text that was taken. A `=` with the text after it, and spaces, are not
    /// part of the key, so the cursor goes back before them.
    pub(super) fn key(&mut self, key: &'t str) -> &'t str {
        if !self.is_lenient() {
            return key;
        }
        if let Some(end) = key.find('=').filter(|_| !self.rest().starts_with(':')) {
            self.at -= key.len() - end;
            return self.trimmed(&key[..end]);
        }
        self.trimmed(key)
    }

    /// Takes the `:` after a key, or a `=` in its place.
    pub(super) fn assigns(&mut self) -> bool {
        self.gap();
        if self.take(':') {
            self.gap();
            return true;
        }
        let is_equal = self.is_lenient() && self.take('=');
        if is_equal {
            self.repair(self.at - 1, Mistake::Separator, "=", ":");
            self.gap();
        }
        is_equal
    }

    /// Takes the closing bracket of a list or a map after a superfluous comma.
    pub(super) fn ends_late(&mut self, close: char) -> bool {
        if !self.is_lenient() {
            return false;
        }
        let at = self.at - 1;
        self.gap();
        let ends = self.take(close);
        if ends {
            self.repair(at, Mistake::Separator, ",", "");
        }
        ends
    }

    /// If a record has only empty cells after the cell of its last field, takes these cells with their commas.
    pub(super) fn has_empty_cells(&mut self) -> bool {
        if !self.is_lenient() {
            return false;
        }
        let start = self.at - 1;
        let rest = &self.text[start..];
        let commas = rest.len()
            - rest
                .trim_start_matches(|c| c == ',' || text::is_blank(c))
                .len();
        let is_empty = rest[commas..].starts_with([')', ']', '\n']);
        if is_empty {
            self.repair(start, Mistake::Separator, &rest[..commas], "");
            self.at = start + commas;
        }
        is_empty
    }

    /// Returns whether the block ends with this line. Text after the line is then outside of the blocks.
    pub(super) fn ends_the_line(&mut self) -> bool {
        if !self.is_lenient() {
            return false;
        }
        self.trailing();
        let rest = self.rest();
        let marks = rest.len() - rest.trim_start_matches(TRAILING).len();
        let after = rest[marks..].trim_start_matches(text::is_blank);
        let ends = after.is_empty() || after.starts_with('\n');
        if ends && marks > 0 {
            self.repair(self.at, Mistake::Mark, &rest[..marks], "");
            self.at += marks;
            self.trailing();
        }
        ends
    }

    /// Returns whether the first line is this definition, apart from spaces.
    pub(super) fn defines(&mut self, definition: &str) -> bool {
        let line = self.text.lines().next().unwrap_or_default();
        let is_same = self.is_lenient() && line.replace(text::is_blank, "") == definition;
        if is_same && line != definition {
            self.repair(0, Mistake::Spaces, line, definition);
        }
        self.at = line.len();
        is_same
    }

    /// Returns whether the block begins with the head of a frame that lacks its `@`.
    pub(super) fn lacks_the_mark(&mut self) -> bool {
        let lacks = self.is_lenient() && is_head(self.rest());
        if lacks {
            self.repair(self.at, Mistake::Sender, "", "@");
        }
        lacks
    }

    pub(super) fn lacks_a_space(&mut self) -> bool {
        if self.is_lenient() {
            self.repair(self.at, Mistake::Spaces, "", " ");
        }
        self.is_lenient()
    }

    /// Returns the intent in small letters.
    pub(super) fn intent(&mut self, intent: &'t str) -> &'t str {
        let start = self.at - intent.len();
        let trimmed = self.trimmed(intent);
        let small = trimmed.to_lowercase();
        match Intent::lookup(&small) {
            Some(known) if self.is_lenient() => {
                self.trailing();
                if known.as_str() != trimmed {
                    self.repair(start, Mistake::Intent, trimmed, known.as_str());
                }
                known.as_str()
            }
            _ => intent,
        }
    }

    /// Returns the code of a frame's schema. If the code is missing, the intent and the operation may imply the
    /// schema. If the model wrote the name of a schema instead, returns the code of this schema.
    pub(super) fn code(
        &mut self,
        code: Option<&str>,
        at: usize,
        head: [&str; 2],
    ) -> Option<String> {
        if !self.is_lenient() {
            return code.map(String::from);
        }
        let written = code.unwrap_or_default();
        let written = written.trim_matches(text::is_blank);
        if self.registry.schema(written).is_some()
            || !self.rest().starts_with('(') && written.is_empty()
        {
            if code.is_some_and(|code| code != written) {
                self.repair(at, Mistake::Spaces, code.unwrap_or_default(), written);
            }
            return (!written.is_empty()).then(|| written.into());
        }
        let schema = match written {
            "" => implied(self.registry, head[0], head[1]),
            written => named(self.registry, written),
        };
        let Some(schema) = schema else {
            return code.map(String::from);
        };
        self.repair(at, Mistake::Code, code.unwrap_or_default(), &schema.code);
        Some(schema.code.clone())
    }

    /// Returns the schema of a record. The type of the record's place may imply the code.
    pub(super) fn record_schema(
        &mut self,
        code: &str,
        at: usize,
        ty: &'r Type,
    ) -> Result<&'r Schema, Broken> {
        if self.is_lenient() && self.registry.schema(code).is_none() {
            let declared = match ty {
                Type::Schema(code) => self.registry.schema(code),
                _ => None,
            };
            let schema = match code {
                "" => declared,
                code => named(self.registry, code),
            };
            if let Some(schema) = schema {
                self.repair(at, Mistake::Code, code, &schema.code);
                return Ok(schema);
            }
        }
        self.schema(code, at)
    }

    /// Reads a text that has neither the marks of a JSON string nor the form of a bare text.
    pub(super) fn loose(&mut self, start: usize, word: &str, ty: &Type) -> Option<Value<'static>> {
        if !self.is_lenient() {
            return None;
        }
        let rest = &self.text[start..];
        let quote = QUOTES.iter().find(|(open, _)| rest.starts_with(*open));
        if let Some((open, close)) = quote
            && let Some(end) = closing(&rest[open.len_utf8()..], *close)
        {
            let said = &rest[open.len_utf8()..open.len_utf8() + end];
            let length = open.len_utf8() + end + close.len_utf8();
            let value = plain(said, ty)?;
            return Some(self.written(start, length, Mistake::Quotes, value));
        }
        let goes_on = |marks: &[char]| self.rest().starts_with(marks);
        let is_text = match ty {
            Type::String | Type::Text => true,
            Type::Any => !goes_on(&['(', '[', '{']),
            _ => false,
        };
        let said = rest[..loose_length(rest)?].trim_end_matches(text::is_blank);
        let is_word = said == word && literal(word).is_some();
        (is_text && !is_word && !said.is_empty()).then(|| {
            let value = Value::from(String::from(said));
            self.written(start, said.len(), Mistake::Quotes, value)
        })
    }

    /// Reports a repair: the `length` bytes from `start` mean this value. Moves the cursor after these bytes.
    fn written(
        &mut self,
        start: usize,
        length: usize,
        what: Mistake,
        value: Value<'static>,
    ) -> Value<'static> {
        let to = write::value(self.registry, &value).text;
        self.repair(start, what, &self.text[start..start + length], &to);
        self.at = start + length;
        value
    }

    /// Reads a JSON string in which quotes, line breaks or backslashes lack their escapes. `strict` is the end that a
    /// strict reader finds, and whether the strict reader finds a valid JSON string.
    pub(super) fn loosely_quoted(&mut self, strict: Option<(usize, bool)>) -> Option<String> {
        if !self.is_lenient() {
            return None;
        }
        let (start, rest) = (self.at, self.rest());
        if let Some((end, true)) = strict
            && follows(&rest[end + 1..])
        {
            return None;
        }
        let end = closing(&rest[1..], '"')?;
        // A quote at a place where a value can begin may open the next text. Then the closing quote
        // of this text is missing, and the reader does not guess where this text ends.
        let begins = |at: usize| {
            rest[..at]
                .trim_end_matches(text::is_blank)
                .ends_with([',', ':', '(', '[', '{'])
        };
        if rest[1..=end]
            .match_indices('"')
            .any(|(at, _)| begins(at + 1))
        {
            return None;
        }
        let mut said = String::with_capacity(end);
        let mut chars = rest[1..=end].chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n') => said.push('\n'),
                    Some('t') => said.push('\t'),
                    Some(escaped @ ('"' | '\\' | '/' | '\'')) => said.push(escaped),
                    // The other escapes, such as `\u`, exist only in JSON. The reader does not
                    // repair them.
                    _ => return None,
                },
                c => said.push(c),
            }
        }
        let mut to = String::new();
        text::write_quoted(&mut to, &said);
        self.repair(start, Mistake::Quotes, &rest[..end + 2], &to);
        self.at = start + end + 2;
        Some(said)
    }

    /// Returns the value of a text that does not have the spelling of its type, if its meaning is
    /// clear. `text` ends at the cursor.
    pub(super) fn respelt(
        &mut self,
        start: usize,
        text: &str,
        ty: &Type,
    ) -> Option<Value<'static>> {
        if !self.is_lenient() || start > self.at {
            return None;
        }
        let (value, what) = match plain(text, ty) {
            Some(value) => (value, Mistake::Quotes),
            None => (respelt(text.trim(), ty)?, Mistake::Spelling),
        };
        Some(self.written(start, self.at - start, what, value))
    }
}

/// Returns the only schema whose name or code is this word, in capital or small letters.
fn named<'r>(registry: &'r accp_registry::Registry, word: &str) -> Option<&'r Schema> {
    let is_meant = |schema: &&Schema| {
        schema.name.eq_ignore_ascii_case(word) || schema.code.eq_ignore_ascii_case(word)
    };
    let mut fitting = registry.schemas().filter(is_meant);
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// Returns whether a value may end before this text.
fn follows(rest: &str) -> bool {
    let rest = rest.trim_start_matches(text::is_blank);
    rest.is_empty() || rest.starts_with([',', ')', ']', '}', ':', '\n'])
}

/// Returns the place of the mark that ends a text: the first mark after which a value may end.
fn closing(rest: &str, close: char) -> Option<usize> {
    let mut marks = rest.match_indices(close).map(|(at, _)| at);
    marks.find(|at| follows(&rest[at + close.len_utf8()..]))
}

/// Returns the length of a text up to the comma or bracket that ends it. Pairs of brackets inside the text do not end
/// it.
fn loose_length(rest: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, c) in rest.char_indices() {
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.is_empty() => return Some(at),
            ')' | ']' | '}' if open.pop() != Some(c) => return None,
            ',' if open.is_empty() => return Some(at),
            '\n' => return open.is_empty().then_some(at),
            // A `|` separates the params of a frame. So this text may be a frame, and it is not
            // read as one value.
            '|' => return None,
            _ => {}
        }
    }
    None
}

/// Returns whether a line begins with the head of a frame, without its `@`.
pub(super) fn is_head(line: &str) -> bool {
    let Some((agent, rest)) = line.split_once('>') else {
        return false;
    };
    let Some((intent, _)) = rest.split_once(':') else {
        return false;
    };
    lexical::is_agent_id(agent) && Intent::lookup(&intent.trim().to_lowercase()).is_some()
}

/// Returns whether a line begins as a block does.
pub(super) fn is_block(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('@') else {
        return is_head(line);
    };
    let agent = rest
        .bytes()
        .position(|b| !is_agent_char(b))
        .unwrap_or(rest.len());
    let mark = rest[agent..].trim_start_matches(text::is_blank);
    agent > 0 && mark.starts_with(['>', ':', '?']) || rest.starts_with('=')
}
