//! A reader for text that a model wrote. It accepts exactly the shorthands of the draft's own
//! examples, and reports each repair.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use accp_registry::Limits;
use accp_registry::lexical::{self, is_agent_char, is_delimiter, is_key_char};

use crate::error::DecodeError;
use crate::frame::Frame;
use crate::reader::DecodeOptions;

/// One repair of a text that a model wrote. `M` is the kind of mistake: [`Shorthand`] for [`Frame::parse_lenient`].
/// Other lenient readers have other kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair<M = Shorthand> {
    /// The byte of the mistake in the original text, from 0.
    pub at: usize,
    /// The mistake.
    pub what: M,
    /// The original text.
    pub from: String,
    /// The repaired text; empty for a text that was left out.
    pub to: String,
}

/// The shorthands that the reader repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shorthand {
    /// A bare `@agent` or `@agent:op` in place of a value.
    Agent,
    /// An array of `k:v` pairs that is meant as a map.
    PairsInArray,
    /// Spaces after a separator.
    Spaces,
}

impl fmt::Display for Shorthand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shorthand::Agent => "an agent in the place of a value is escaped",
            Shorthand::PairsInArray => "an array of pairs is a map",
            Shorthand::Spaces => "no spaces after a separator",
        })
    }
}

impl<M: fmt::Display> fmt::Display for Repair<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, what, from, to } = self;
        match &**to {
            "" => write!(f, "byte {at}: {what}: {from:?}"),
            to => write!(f, "byte {at}: {what}: `{from}` is `{to}`"),
        }
    }
}

impl Frame<'_> {
    /// Reads one frame, and repairs the shorthands of the draft's examples: a bare `@agent` or
    /// `@agent:op` in place of a value, an array of `k:v` pairs, spaces after a separator. Returns
    /// a frame that the strict reader accepts, with its maps ascending by key, and each repair in
    /// the order of the text.
    ///
    /// Use it only for text that a model wrote. Text from a peer is read strictly.
    ///
    /// # Errors
    /// As [`Frame::parse`] for every other fault, with the byte of the original text.
    ///
    /// ```
    /// use accp_runtime::Frame;
    ///
    /// let (frame, repairs) = Frame::parse_lenient("@planner>req:plan{who:@dev_team|f:[rev:-12%,seg:+3%]}")?;
    /// assert_eq!(frame.to_string(), r"@planner>req:plan{who:\@dev_team|f:{rev:-12%,seg:+3%}}");
    /// assert_eq!(repairs.len(), 2);
    /// # Ok::<(), accp_runtime::DecodeError>(())
    /// ```
    pub fn parse_lenient(text: &str) -> Result<(Frame<'static>, Vec<Repair>), DecodeError> {
        Self::parse_lenient_with(text, &DecodeOptions::default())
    }

    /// Does the same as [`Frame::parse_lenient`], under `options`.
    ///
    /// # Errors
    /// As [`Frame::parse_lenient`].
    pub fn parse_lenient_with(
        text: &str,
        options: &DecodeOptions,
    ) -> Result<(Frame<'static>, Vec<Repair>), DecodeError> {
        let mut lenient = Lenient {
            text,
            at: 0,
            depth: 0,
            out: String::new(),
            moved: Vec::new(),
            repairs: Vec::new(),
        };
        // A text over the limit is copied without repairs, so that the strict reader refuses it as
        // it is.
        if text.len() <= options.limits.frame_bytes {
            lenient.frame();
        } else {
            lenient.copy_rest();
        }
        let Lenient {
            out,
            moved,
            mut repairs,
            ..
        } = lenient;
        let frame = Frame::parse_with(&out, options).map_err(|error| {
            let at = original(&moved, error.at()).min(text.len());
            error.moved_to(at)
        })?;
        repairs.sort_by_key(|repair| repair.at);
        Ok((frame.into_owned(), repairs))
    }
}

/// Returns the byte of the original text for the byte `at` of the repaired text.
fn original(moved: &[(usize, usize)], at: usize) -> usize {
    match moved.iter().rev().find(|(repaired, _)| *repaired <= at) {
        Some((repaired, original)) => original + (at - repaired),
        None => at,
    }
}

/// Copies the text and repairs it. Unknown parts are copied, and the strict reader refuses them.
struct Lenient<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
    out: String,
    /// Pairs of (byte in `out`, byte in `text`), after each change of length.
    moved: Vec<(usize, usize)>,
    repairs: Vec<Repair>,
}

impl<'t> Lenient<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn copy_rest(&mut self) {
        self.out.push_str(self.rest());
        self.at = self.text.len();
    }

    /// Copies bytes while `class` holds.
    fn copy(&mut self, class: impl Fn(u8) -> bool) {
        let rest = self.rest();
        let length = rest.bytes().position(|b| !class(b)).unwrap_or(rest.len());
        self.out.push_str(&rest[..length]);
        self.at += length;
    }

    /// Copies `byte` if it is next, and drops the spaces after it.
    fn separator(&mut self, byte: u8) -> bool {
        if self.peek() != Some(byte) {
            return false;
        }
        self.out.push(byte as char);
        self.at += 1;
        let rest = self.rest();
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        if spaces > 0 {
            let from = format!("{}{}", byte as char, &rest[..spaces]);
            self.repair(
                self.at - 1,
                Shorthand::Spaces,
                &from,
                &(byte as char).to_string(),
            );
            self.at += spaces;
            self.moved.push((self.out.len(), self.at));
        }
        true
    }

    fn repair(&mut self, at: usize, shorthand: Shorthand, from: &str, to: &str) {
        self.repairs.push(Repair {
            at,
            what: shorthand,
            from: from.to_string(),
            to: to.to_string(),
        });
    }

    fn frame(&mut self) {
        self.copy(|b| b != b'{');
        if self.peek() == Some(b'{') {
            self.params(b'{', b'|', b'}');
        }
        if self.peek() == Some(b'[') {
            self.params(b'[', b',', b']');
        }
        self.copy_rest();
    }

    /// Copies params with their separators, from the opening bracket to the closing one.
    fn params(&mut self, open: u8, separator: u8, close: u8) {
        self.out.push(open as char);
        self.at += 1;
        loop {
            self.copy(is_key_char);
            if self.separator(b':') {
                self.value();
            }
            if !self.separator(separator) {
                break;
            }
        }
        if self.peek() == Some(close) {
            self.out.push(close as char);
            self.at += 1;
        }
    }

    fn value(&mut self) {
        match self.peek() {
            Some(b'@') => self.agent(),
            Some(b'{') if self.depth < Limits::MAX_DEPTH => self.nested(b'{'),
            Some(b'[') if self.depth < Limits::MAX_DEPTH => self.nested(b'['),
            Some(b'~') => {
                self.out.push('~');
                self.at += 1;
            }
            Some(b'$') => {
                self.out.push('$');
                self.at += 1;
                self.copy(lexical::is_ref_char);
            }
            _ => self.scalar(),
        }
    }

    /// Copies `1*( safe-char / escaped-char )`.
    fn scalar(&mut self) {
        loop {
            self.copy(lexical::is_safe_char);
            match self.rest().as_bytes() {
                [b'\\', next, ..] if is_delimiter(*next) => {
                    self.out.push('\\');
                    self.out.push(*next as char);
                    self.at += 2;
                }
                _ => break,
            }
        }
    }

    /// Repairs `@agent` or `@agent:op`.
    fn agent(&mut self) {
        let rest = self.rest();
        let class = |text: &str, class: fn(u8) -> bool| {
            text.bytes().position(|b| !class(b)).unwrap_or(text.len())
        };
        let agent = class(&rest[1..], is_agent_char);
        if agent == 0 {
            return;
        }
        let mut length = 1 + agent;
        if let Some(operation) = rest[length..].strip_prefix(':') {
            let operation = class(operation, is_key_char);
            length += if operation > 0 { 1 + operation } else { 0 };
        }
        // If any other character follows, this is not an agent id without escapes, and the strict reader reports it.
        if !matches!(
            rest.as_bytes().get(length),
            None | Some(b'|' | b',' | b'}' | b']')
        ) {
            return;
        }
        let mut to = String::new();
        lexical::write_escaped(&mut to, &rest[..length]);
        self.repair(self.at, Shorthand::Agent, &rest[..length], &to);
        self.out.push_str(&to);
        self.at += length;
        self.moved.push((self.out.len(), self.at));
    }

    /// Copies an array or a map. An array becomes a map if each of its elements is `k:v`. The
    /// entries of a map are put in ascending order by key.
    fn nested(&mut self, open: u8) {
        let start = (self.at, self.out.len());
        self.depth += 1;
        self.out.push(open as char);
        self.at += 1;
        let close = if open == b'[' { b']' } else { b'}' };
        let mut entries: Vec<(&str, String)> = Vec::new();
        let mut elements = 0;
        while self.peek().is_some_and(|b| b != close) {
            elements += 1;
            let key = self.pair_key();
            let value = self.out.len();
            if let Some(key) = key {
                self.out.push_str(key);
                self.at += key.len();
                self.separator(b':');
                let value = self.out.len();
                self.value();
                entries.push((key, self.out.get(value..).unwrap_or_default().to_string()));
            } else {
                self.value();
            }
            let empty = self.out.len() == value;
            if !self.separator(b',') && (empty || self.peek() != Some(close)) {
                break;
            }
        }
        self.depth -= 1;
        if self.peek() != Some(close) {
            return;
        }
        self.at += 1;
        // Entries with a repeated key do not become a map, and the strict reader reports them.
        let mut keys: Vec<&str> = entries.iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        let twice = keys.windows(2).any(|pair| pair[0] == pair[1]);
        let is_map =
            elements > 0 && entries.len() == elements && !self.out.ends_with(',') && !twice;
        if is_map {
            self.as_map(start, open, entries);
        } else {
            self.out.push(close as char);
        }
    }

    /// Returns the key of an element `k:v`, without consuming it.
    fn pair_key(&self) -> Option<&'t str> {
        let rest = self.rest();
        let length = rest.bytes().position(|b| !is_key_char(b))?;
        (length > 0 && rest.as_bytes()[length] == b':').then(|| &rest[..length])
    }

    /// Writes the entries again, ascending by key, and reports a repair if the map was an array.
    fn as_map(&mut self, start: (usize, usize), open: u8, mut entries: Vec<(&str, String)>) {
        entries.sort_by(|a, b| a.0.cmp(b.0));
        let entries: Vec<String> = entries
            .iter()
            .map(|(key, value)| format!("{key}:{value}"))
            .collect();
        let map = format!("{{{}}}", entries.join(","));
        if open == b'[' {
            let from = self.text.get(start.0..self.at).unwrap_or_default();
            self.repair(start.0, Shorthand::PairsInArray, from, &map);
        }
        self.out.truncate(start.1);
        self.moved.retain(|(repaired, _)| *repaired <= start.1);
        self.out.push_str(&map);
        self.moved.push((self.out.len(), self.at));
    }
}
