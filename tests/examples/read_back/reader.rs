//! A reader of prompts of the policy `memory`. The reader uses only the policy's documentation and the texts of one
//! prompt. So a model, too, can read what this reader restores.

use std::collections::BTreeMap;
use std::sync::Arc;

use accp_frame::Value;
use accp_registry::Registry;
use accp_runtime::view::View;
use serde_json::{Value as Json, json};

/// The definition of a wrapper consists of [`DEFINES`], the name of the wrapper, [`SAYS`], the number of its lines,
/// and [`AROUND`]. Then come the lines.
const SAYS: &str = " says a text with ";
const AROUND: &str = " around it:\n";
const DEFINES: &str = "[From here on, ";

/// A prompt, with the schemas and wrappers that it defines.
#[derive(Debug)]
pub(crate) struct Prompt<'p> {
    segments: Vec<Segment<'p>>,
    /// The definitions of schemas, in their order.
    schemas: Vec<&'p str>,
    wrappers: BTreeMap<&'p str, Wrapper<'p>>,
}

/// A segment that shows a message.
#[derive(Debug)]
struct Segment<'p> {
    message: usize,
    speaker: Option<&'p str>,
    /// The lines as the prompt shows them: with marks, and without their wrapper.
    lines: Vec<&'p str>,
    /// The number of schemas that the prompt has defined up to the end of this segment.
    schemas: usize,
}

#[derive(Debug)]
struct Wrapper<'p> {
    /// The index of the segment that defines the wrapper.
    at: usize,
    before: Vec<&'p str>,
    after: Vec<&'p str>,
}

/// A message as a prompt shows it.
#[derive(Debug, PartialEq)]
pub(crate) struct Restored {
    /// The speaker; `None` for a result that answers the only call of the message before.
    pub(crate) speaker: Option<String>,
    /// The text in one part, or in two parts if its middle is left out.
    pub(crate) parts: Vec<String>,
    /// Whether the lines of a wrapper were put back around the text.
    pub(crate) is_wrapped: bool,
    /// The number of references among the lines of the message.
    pub(crate) references: usize,
}

/// A line that is a mark. A mark refers to left-out lines of the same message, or to lines of another message.
#[derive(Debug, Clone, Copy)]
struct Mark<'p> {
    message: usize,
    /// The numbers of the first and the last line, from 1.
    from: usize,
    to: usize,
    words: &'p str,
    is_gap: bool,
}

/// Lines of a message with their numbers. A line that is left out is `None`.
type Numbered<'p> = Vec<(usize, Option<&'p str>)>;

impl<'p> Prompt<'p> {
    /// Reads the segments that show messages. `segments` has the index of each message, and its text.
    ///
    /// # Errors
    /// If a message does not have the form of the policy. Returns the message, and what was expected.
    pub(crate) fn read(
        segments: impl Iterator<Item = (usize, &'p str)>,
    ) -> Result<Self, (usize, String)> {
        let mut prompt = Self {
            segments: Vec::new(),
            schemas: Vec::new(),
            wrappers: BTreeMap::new(),
        };
        for (message, text) in segments {
            let read = prompt.segment(message, text);
            read.map_err(|expected| (message, format!("expected {expected} in:\n{text}")))?;
        }
        Ok(prompt)
    }

    fn segment(&mut self, message: usize, text: &'p str) -> Result<(), &'static str> {
        let text = text.strip_suffix('\n').ok_or("a line feed at the end")?;
        let number = format!("p{message} ");
        let text = text.strip_prefix(&*number).unwrap_or(text);
        let (speaker, mut text) = if let Some(text) = text.strip_prefix("= ") {
            (None, text)
        } else {
            // A name in quotes may contain any character.
            let quoted = text.starts_with('"').then(|| quoted_end(text));
            let name = quoted.flatten().unwrap_or_default();
            let end = text[name..].find(": ").ok_or("a speaker and `: `")?;
            (Some(&text[..name + end]), &text[name + end + 2..])
        };
        while let Some((line, rest)) = text.split_once('\n').filter(|_| text.starts_with("@=")) {
            self.schemas.push(line);
            text = rest;
        }
        if text.starts_with(DEFINES) {
            text = self.wrapper(speaker, text)?;
        }
        self.segments.push(Segment {
            message,
            speaker,
            lines: text.split('\n').collect(),
            schemas: self.schemas.len(),
        });
        Ok(())
    }

    /// Reads the definition of a wrapper, and returns the text after the definition.
    fn wrapper(&mut self, speaker: Option<&str>, text: &'p str) -> Result<&'p str, &'static str> {
        let text = text.strip_prefix(DEFINES).ok_or("a definition")?;
        let (name, text) = text.split_once(SAYS).ok_or("what a name says")?;
        let (count, mut text) = text.split_once(AROUND).ok_or("lines around it")?;
        if speaker != Some(name) {
            return Err("the definition of the speaker's name");
        }
        let count = count.strip_suffix(" lines").or(count.strip_suffix(" line"));
        let count = count.and_then(|count| count.parse().ok());
        let count: usize = count.ok_or("the number of lines")?;
        let mut lines = Vec::with_capacity(count + 1);
        while lines.len() <= count {
            let (line, rest) = text.split_once('\n').ok_or("the end of a definition")?;
            lines.push(line);
            text = rest;
        }
        let last = lines.pop().and_then(|line| line.strip_suffix(']'));
        lines.push(last.ok_or("`]` behind the lines")?);
        let middle = lines.iter().position(|line| *line == "..");
        let mut before = lines;
        let mut after = before.split_off(middle.ok_or("`..` for the text")?);
        after.remove(0);
        let at = self.segments.len();
        let wrapper = Wrapper { at, before, after };
        match self.wrappers.insert(name, wrapper) {
            Some(_) => Err("one definition of a name"),
            None => Ok(text),
        }
    }

    /// Returns whether the prompt shows the message.
    pub(crate) fn shows(&self, message: usize) -> bool {
        self.find(message).is_some()
    }

    /// Returns the gaps in messages: the message, the arguments with which a model can show the lines that are left
    /// out, and the first words of these lines.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = (usize, String, &'p str)> {
        self.segments.iter().flat_map(|segment| {
            let marks = segment.lines.iter().filter_map(|line| Mark::read(line));
            marks.filter(|mark| mark.is_gap).map(|mark| {
                let place = format!("p{}:{}-{}", mark.message, mark.from, mark.to);
                (segment.message, place, mark.words)
            })
        })
    }

    fn find(&self, message: usize) -> Option<&Segment<'p>> {
        let mut segments = self.segments.iter();
        segments.find(|segment| segment.message == message)
    }

    /// Restores a message.
    ///
    /// # Errors
    /// If the prompt lacks something. Returns what it lacks.
    pub(crate) fn restore(&self, message: usize) -> Result<Restored, String> {
        let mut segments = self.segments.iter().enumerate();
        let (at, segment) = segments
            .find(|(_, segment)| segment.message == message)
            .ok_or("the message does not stand in the prompt")?;
        let wrapper = segment.speaker.and_then(|name| self.wrappers.get(name));
        let wrapper = wrapper.filter(|wrapper| wrapper.at <= at);
        let (before, after): (&[&str], &[&str]) = match wrapper {
            Some(wrapper) => (&wrapper.before, &wrapper.after),
            None => (&[], &[]),
        };
        let mut lines: Vec<Option<&str>> = before.iter().copied().map(Some).collect();
        let own = self.lines(&segment.lines, message)?;
        lines.extend(own.into_iter().map(|(_, line)| line));
        lines.extend(after.iter().copied().map(Some));
        lines.dedup_by(|next, line| next.is_none() && line.is_none());
        let parts = lines.split(Option::is_none).map(|lines| {
            let lines = lines.iter().flatten().map(|line| unguarded(line));
            lines.collect::<Vec<_>>().join("\n")
        });
        let marks = segment.lines.iter().filter_map(|line| Mark::read(line));
        let speaker = segment.speaker.map(|name| match wrapper {
            Some(_) => name.trim_end_matches('\''),
            None => name,
        });
        // A name in quotes is a JSON string.
        let unquoted = |name: &str| serde_json::from_str(name).unwrap_or(name.to_owned());
        let speaker = speaker.map(|name| {
            let quoted = name.starts_with('"').then(|| unquoted(name));
            quoted.unwrap_or(name.to_owned())
        });
        Ok(Restored {
            speaker,
            parts: parts.collect(),
            is_wrapped: wrapper.is_some(),
            references: marks.filter(|mark| !mark.is_gap).count(),
        })
    }

    /// Numbers these lines of the message `of`, and follows the references among them.
    fn lines(&self, lines: &[&'p str], of: usize) -> Result<Numbered<'p>, String> {
        let mut out = Vec::with_capacity(lines.len());
        let mut next = 1;
        for line in lines {
            match Mark::read(line) {
                None => {
                    out.push((next, Some(*line)));
                    next += 1;
                }
                Some(mark) if mark.is_gap && mark.message == of => {
                    // The gap may also contain the end of the line before it.
                    if mark.from != next && mark.from + 1 != next || mark.to < mark.from {
                        return Err(format!("`{line}` in message {of} stands at line {next}"));
                    }
                    out.extend((mark.from..=mark.to).map(|number| (number, None)));
                    next = mark.to + 1;
                }
                Some(mark) if mark.is_gap => {
                    return Err(format!("`{line}` in message {of} names another"));
                }
                Some(mark) if mark.message < of => {
                    let read = self.follow(mark);
                    let read = read.map_err(|why| format!("`{line}` in message {of}: {why}"))?;
                    let count = read.len();
                    out.extend((next..).zip(read.into_iter().map(Some)));
                    next += count;
                }
                Some(_) => return Err(format!("`{line}` in message {of} leads to no earlier one")),
            }
        }
        Ok(out)
    }

    /// Returns the lines that a reference names. The first line must begin with the words of the reference.
    fn follow(&self, mark: Mark<'_>) -> Result<Vec<&'p str>, String> {
        let lacks = || format!("p{} does not stand in the prompt", mark.message);
        let segment = self.find(mark.message).ok_or_else(lacks)?;
        let lines = self.lines(&segment.lines, mark.message)?;
        let named = lines.into_iter();
        let named = named.filter(|(number, _)| (mark.from..=mark.to).contains(number));
        let found: Option<Vec<&str>> = named.map(|(_, line)| line).collect();
        let found = found.filter(|found| found.len() == mark.to + 1 - mark.from);
        let found = found.ok_or("not all of these lines stand there")?;
        let words: Vec<&str> = found.first().unwrap_or(&"").split_whitespace().collect();
        if !words.join(" ").starts_with(mark.words) {
            return Err("the first line begins with other words".into());
        }
        Ok(found)
    }

    /// Returns the view with the definitions up to a message.
    ///
    /// # Errors
    /// If the definitions make no registry.
    pub(crate) fn view(&self, message: usize) -> Result<View, String> {
        let known = self.find(message).map_or(0, |segment| segment.schemas);
        let mut schemas = serde_json::Map::new();
        let definitions = self.schemas[..known].iter().map(|line| {
            let cells = line
                .strip_prefix("@=")
                .and_then(|line| line.strip_suffix(')'));
            let (code, fields) = cells.and_then(|cells| cells.split_once('('))?;
            Some((code, fields))
        });
        let definitions: Option<Vec<(&str, &str)>> = definitions.collect();
        let definitions = definitions.ok_or("expected definitions `@=CODE(field,field)`")?;
        for (code, cells) in &definitions {
            let (mut fields, mut types) = (Vec::new(), serde_json::Map::new());
            for cell in cells.split(',') {
                let (field, of) = cell.split_once(':').unwrap_or((cell, ""));
                fields.push(field);
                if definitions.iter().any(|(code, _)| *code == of) {
                    types.insert(field.to_owned(), Json::from(of));
                }
            }
            let schema = json!({ "code": code, "fields": fields, "types": types });
            if schemas.insert(format!("schema_{code}"), schema).is_some() {
                return Err(format!("{code} is defined twice"));
            }
        }
        let registry = Registry::from_json(&json!({ "schemas": schemas }).to_string());
        let registry = registry.map_err(|error| error.to_string())?;
        Ok(View::new(Arc::new(registry)))
    }
}

impl<'p> Mark<'p> {
    /// Reads `[... p7:12-30: words]` or `[as in p7:12-30: words]`. For a single line, the place is `p7:12`.
    fn read(line: &'p str) -> Option<Self> {
        let inner = line.strip_suffix(']')?;
        let (is_gap, inner) = match inner.strip_prefix("[... p") {
            Some(inner) => (true, inner),
            None => (false, inner.strip_prefix("[as in p")?),
        };
        let (place, words) = inner.split_once(": ")?;
        let (message, lines) = place.split_once(':')?;
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        let number = |digits: &str| digits.parse().ok().filter(|number| *number < 1_000_000);
        Some(Self {
            message: number(message)?,
            from: number(from)?,
            to: number(to)?,
            words,
            is_gap,
        })
    }
}

/// Returns the end of the JSON string with which a text begins.
fn quoted_end(text: &str) -> Option<usize> {
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
    strings.next()?.ok()?;
    Some(strings.byte_offset())
}

/// Returns a line without the `\` that keeps its text from being read as a mark.
fn unguarded(line: &str) -> &str {
    let bare = line.trim_start_matches('\\');
    let is_mark = || {
        let place = bare.strip_prefix("[... p");
        let place = place.or_else(|| bare.strip_prefix("[as in p"));
        let place = place.and_then(|place| place.split_once(": "));
        place.is_some_and(|(place, _)| {
            let numbers = place.split_once(':');
            let (message, lines) = numbers.unwrap_or(("", ""));
            let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
            let is_number = |digits: &str| digits.parse::<usize>().is_ok();
            [message, from, to].into_iter().all(is_number)
        })
    };
    let is_guarded = bare.starts_with("@=") || bare.starts_with(DEFINES) || is_mark();
    let guarded = line.strip_prefix('\\').filter(|_| is_guarded);
    guarded.unwrap_or(line)
}

/// Reads the view of a list or map with which a text begins, and returns the text after the view.
pub(crate) fn value<'t>(view: &View, text: &'t str) -> Option<(Value<'static>, &'t str)> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    let end = text.char_indices().find(|&(_, c)| {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted ^= true,
            '(' | '[' | '{' if !is_quoted => depth += 1,
            ')' | ']' | '}' if !is_quoted => {
                depth = depth.saturating_sub(1);
                return depth == 0;
            }
            _ => {}
        }
        false
    });
    let (text, rest) = text.split_at(end?.0 + 1);
    Some((view.read_value(text).ok()?, rest))
}
