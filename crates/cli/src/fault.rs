//! Faults in lines of the input, and how they are shown to people and to programs.

use std::fmt;

use accp_frame::{DecodeError, ErrorCode, Frame};
use accp_grammar::{Fault as SyntaxFault, SyntaxError};
use accp_registry::{Registry, lexical};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde_json::{Value as Json, json};

use crate::registries::cure_of_code;
use accp_console::input::{Line, PRINTABLE};
use accp_console::output::{Styled, on_one_line};

/// A fault in a line: its place, the expectation, and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The code of draft section 3.6.
    pub(crate) code: ErrorCode,
    /// The index of the byte in the line, from 0.
    pub(crate) at: usize,
    /// The expectation, and the text that was found.
    pub(crate) message: String,
    /// The cure.
    pub(crate) cure: Option<String>,
}

impl Fault {
    /// Returns the text of a line, or the fault if the line is not UTF-8.
    pub(crate) fn or_text(line: Line<'_>) -> Result<&str, Self> {
        line.text().map_err(|error| {
            let at = error.valid_up_to();
            let error = DecodeError::new(ErrorCode::PARSE_ERROR, at, PRINTABLE);
            Self::of_decode(&error, line.bytes)
        })
    }

    /// Makes a fault from an error of the reference parser on `text`.
    pub(crate) fn of_syntax(error: &SyntaxError, text: &[u8]) -> Self {
        let shown = error.to_string();
        let message = shown
            .strip_prefix(&format!("byte {}: ", error.at()))
            .unwrap_or(&shown);
        let tail = error.cure().map(|cure| format!("; {cure}"));
        let message = tail
            .and_then(|tail| message.strip_suffix(&tail))
            .unwrap_or(message);
        let fault = Self {
            code: ErrorCode::PARSE_ERROR,
            at: error.at(),
            message: message.to_owned(),
            cure: error.cure().map(str::to_owned),
        };
        let is_limit = !matches!(error.fault(), SyntaxFault::Expected(_));
        fault.or_fix(if is_limit { b"" } else { text })
    }

    /// Makes a fault from an error of the runtime's reader on `text`. If the reference parser stops
    /// at the same byte, its error is used, because it explains more.
    pub(crate) fn of_decode(error: &DecodeError, text: &[u8]) -> Self {
        if error.code() == ErrorCode::PARSE_ERROR
            && let Err(syntax) = accp_grammar::parse_bytes(text)
            && syntax.at() == error.at()
        {
            return Self::of_syntax(&syntax, text);
        }
        let shown = error.to_string();
        let place = format!("{} at byte {}", error.code(), error.at());
        let message = shown.strip_prefix(&place).unwrap_or(&shown);
        Self {
            code: error.code(),
            at: error.at(),
            message: message
                .strip_prefix(": ")
                .unwrap_or(message)
                .trim_start()
                .to_owned(),
            cure: cure(error.code()).map(str::to_owned),
        }
        .or_fix(text)
    }

    /// Makes a fault from an error of the runtime's reader on `text` under `registry`. If the frame has the name of a
    /// schema in the place of its code, the cure names the code.
    pub(crate) fn of_message(error: &DecodeError, text: &[u8], registry: &Registry) -> Self {
        let fault = Self::of_decode(error, text);
        if fault.code != ErrorCode::UNKNOWN_SCHEMA {
            return fault;
        }
        let rest = text.get(fault.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| !lexical::is_key_char(*byte));
        let written = std::str::from_utf8(&rest[..end.unwrap_or(rest.len())]);
        match cure_of_code(written.unwrap_or_default(), registry) {
            Some(cure) => fault.cured(&cure),
            None => fault,
        }
    }

    /// Adds the cure.
    pub(crate) fn cured(self, cure: &str) -> Self {
        let cure = Some(cure.to_owned());
        Self { cure, ..self }
    }

    /// Adds a hint on `accp fix` if that command can repair the line.
    fn or_fix(mut self, text: &[u8]) -> Self {
        const FIX: &str = "`accp fix` repairs this line";
        /// A hint at the end of the parser's message, for a place that `accp fix` can repair. The hint is removed if
        /// `accp fix` cannot repair the whole line.
        const FIX_HERE: &str = "; `accp fix` repairs it";
        let text = std::str::from_utf8(text).unwrap_or_default();
        let is_repairable = Frame::parse(text).is_err() && Frame::parse_lenient(text).is_ok();
        let cure = self.cure.take();
        let cure = cure
            .as_deref()
            .map(|cure| cure.strip_suffix(FIX_HERE).unwrap_or(cure));
        self.cure = match (cure, is_repairable) {
            (Some(cure), true) => Some(format!("{cure}; {FIX}")),
            (None, true) => Some(FIX.to_owned()),
            (cure, false) => cure.map(str::to_owned),
        };
        self
    }

    /// Returns the fault as JSON for programs: `line`, `code`, `at`, `message`.
    pub(crate) fn to_json(&self, line: u64) -> Json {
        json!({ "line": line, "code": self.code.to_string(), "at": self.at, "message": self.to_string() })
    }

    /// Renders the fault for people: the place, the line with a caret, the cure.
    pub(crate) fn render(&self, name: &str, line: Line<'_>, styled: bool) -> Styled {
        let at = self.at.min(line.bytes.len());
        // A byte that is not UTF-8 is shown as the replacement character, which has more bytes. So the caret is
        // placed by the text that is shown, and not by the bytes of the line.
        let before = String::from_utf8_lossy(&line.bytes[..at]);
        let rest = String::from_utf8_lossy(&line.bytes[at..]);
        let length = rest.chars().next().map_or(0, char::len_utf8);
        let (found, after) = rest.split_at(length);
        let [before, found, after] = [&*before, found, after].map(on_one_line);
        let span = before.len()..before.len() + found.len();
        let source = Snippet::source(format!("{before}{found}{after}"))
            .path(on_one_line(name))
            .line_start(usize::try_from(line.number).unwrap_or(usize::MAX))
            .annotation(AnnotationKind::Primary.span(span));
        let title = Level::ERROR
            .primary_title(on_one_line(&self.message))
            .id(self.code.to_string());
        let mut group = title.element(source);
        if let Some(cure) = &self.cure {
            group = group.element(Level::HELP.message(on_one_line(cure)));
        }
        let renderer = if styled {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        Styled(renderer.render(&[group]))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.cure {
            Some(cure) => write!(f, "; {cure}"),
            None => Ok(()),
        }
    }
}

/// Returns the cure for an error with this code.
fn cure(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::INVALID_INTENT => "intents are a closed set, in small letters",
        ErrorCode::UNKNOWN_SCHEMA => {
            "name the registry that holds it with --registry; `accp registry show` lists the \
             standard ones"
        }
        ErrorCode::INVALID_TYPE => {
            "`accp registry show` lists the fields of a schema and their types"
        }
        ErrorCode::PARSE_ERROR => "`accp grammar --abnf` shows how a frame is written",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use accp_frame::DynamicFrame;
    use proptest::prelude::*;

    use super::*;

    /// Generates lines from the characters of frames, from any text, and from bytes that are not UTF-8.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            "@[a-z]{1,3}>req:plan\\{[a-z:|@$~,{}\\[\\] ]{0,12}\\}?".prop_map(String::into_bytes),
            "[@>:{}\\[\\]|$,~\\\\a-z0-9 \t\r]{0,9}".prop_map(String::into_bytes),
            "[^\n]{0,9}".prop_map(String::into_bytes),
            proptest::collection::vec(any::<u8>().prop_filter("line end", |b| *b != b'\n'), 0..5),
            Just(b"[".repeat(7)),
            Just(b"x".repeat(300)),
        ];
        proptest::collection::vec(part, 1..4).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_line_can_be_shown(bytes in line(), at in 0..400_usize, number in 1..u64::MAX) {
            let line = Line { number, bytes: &bytes };
            let mut faults = vec![Fault { code: ErrorCode::TIMEOUT, at, message: String::new(), cure: None }];
            if let Err(error) = accp_grammar::parse_bytes(&bytes) {
                faults.push(Fault::of_syntax(&error, &bytes));
            }
            if let Err(error) = DynamicFrame::decode_bytes(&bytes, accp_registry::Registry::shared()) {
                faults.push(Fault::of_decode(&error, &bytes));
            }
            for fault in faults {
                let Styled(shown) = fault.render("name", line, false);
                prop_assert_eq!(&*accp_console::output::for_people(&shown), &*shown);
                prop_assert!(shown.contains(&fault.code.to_string()));
                prop_assert!(!shown.contains('\x1b') && !shown.contains('\r'), "{shown:?}");
            }
        }

        #[test]
        fn fix_is_named_exactly_where_it_repairs(bytes in line()) {
            let Err(error) = accp_grammar::parse_bytes(&bytes) else { return Ok(()) };
            let fault = Fault::of_syntax(&error, &bytes);
            let repairs = std::str::from_utf8(&bytes).is_ok_and(|text| Frame::parse_lenient(text).is_ok());
            let named = fault.cure.is_some_and(|cure| cure.contains("`accp fix` repairs"));
            prop_assert_eq!(named, repairs);
        }
    }
}
