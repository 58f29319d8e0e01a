//! The trait of encoders, which ask a model for a packet, and the encoders that need no network.

use std::fmt;
use std::time::Duration;

use accp_registry::checked::{self, child};
use accp_registry::{Problem, Problems};

use super::instruction::Instruction;

/// Asks a language model for the packet of an instruction (draft section 6.2).
///
/// A call is one try. It ends within [`deadline`](Self::deadline), and takes bounded memory whatever
/// the server sends.
pub trait LlmEncoder {
    /// Returns the longest time that a call takes; `None` if there is no model, and so no call.
    fn deadline(&self) -> Option<Duration>;

    /// Returns the answer of the model as it stands. The caller checks it.
    ///
    /// # Errors
    /// A call without an answer. The text names neither the key of the model nor a part of the
    /// instruction.
    fn answer(&mut self, instruction: &Instruction, dom: &str) -> Result<String, ModelError>;
}

/// A call of a model that brought no packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// What went wrong.
    pub kind: ModelErrorKind,
    text: String,
}

/// The kinds of [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// Nobody answers.
    Unreachable,
    /// The deadline passed.
    TimedOut,
    /// The server refuses the call.
    Status,
    /// The answer is over the limit.
    TooLarge,
    /// The answer is not one packet.
    Refused,
}

impl ModelErrorKind {
    const ALL: [(&str, Self); 5] = [
        ("model-unreachable", Self::Unreachable),
        ("model-timeout", Self::TimedOut),
        ("model-status", Self::Status),
        ("model-too-large", Self::TooLarge),
        ("model-refused", Self::Refused),
    ];

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }

    /// Returns the kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(other, _)| *other == name).map(|(_, kind)| *kind)
    }
}

impl ModelError {
    /// Makes an error with this text, which says what happened, and what helps.
    pub fn new(kind: ModelErrorKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ModelError {}

/// No model: tier 3 never answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModel;

impl LlmEncoder for NoModel {
    fn deadline(&self) -> Option<Duration> {
        None
    }

    fn answer(&mut self, _: &Instruction, _: &str) -> Result<String, ModelError> {
        let text = "there is no model; name one";
        Err(ModelError::new(ModelErrorKind::Unreachable, text))
    }
}

/// Recorded answers, for tests.
///
/// ```
/// use accp_aacp::fallback::{Instruction, LlmEncoder, Recorded};
///
/// let file = r#"{"english": "Ask for it", "answer": "FETCH|HR|return:A|p:2|aacp:1.1|res:it"}"#;
/// let mut model = Recorded::from_lines("answers.jsonl", file)?;
/// assert!(model.answer(&Instruction::new("Ask  for it")?, "HR").is_ok());
/// assert!(model.answer(&Instruction::new("Ask for more")?, "HR").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    answers: Vec<Answer>,
}

#[derive(Debug, Clone)]
struct Answer {
    instruction: Instruction,
    /// The domain; `None` for all.
    dom: Option<String>,
    text: String,
}

impl Recorded {
    /// Reads recorded answers: one object a line, with `english`, `answer` and, if the answer is for one domain only,
    /// `dom`. `file` is the name of the text in the problems.
    ///
    /// # Errors
    /// Every mistake in the first line that has a mistake, with its place and cure.
    pub fn from_lines(file: &str, text: &str) -> Result<Self, Problems> {
        let mut answers = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let name = format!("{file}, line {}", index + 1);
            let read = checked::document(&name, line, |reader, json| {
                let object = reader.object("", Some(json))?;
                reader.known_keys("", object, &["english", "answer", "dom"]);
                let mut string = |key: &str, is_needed: bool| {
                    if is_needed && !object.contains_key(key) {
                        let problem = Problem::new("", format!("there is no `{key}`"));
                        reader.report(problem.cure(format!("add \"{key}\": \"..\"")));
                    }
                    reader.string(&child("", key), object.get(key))
                };
                let (english, text) = (string("english", true), string("answer", true));
                let dom = string("dom", false);
                let instruction = Instruction::new(&english?);
                let instruction = instruction.map_err(|error| {
                    reader.report(Problem::new("/english", error.to_string()));
                });
                let (instruction, text) = (instruction.ok()?, text?);
                Some(Answer {
                    instruction,
                    dom,
                    text,
                })
            })?;
            answers.extend(read);
        }
        Ok(Self { answers })
    }
}

impl LlmEncoder for Recorded {
    fn deadline(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }

    fn answer(&mut self, instruction: &Instruction, dom: &str) -> Result<String, ModelError> {
        let is_it = |answer: &&Answer| {
            answer.instruction == *instruction && answer.dom.as_deref().is_none_or(|of| of == dom)
        };
        let found = self.answers.iter().find(is_it);
        found.map(|answer| answer.text.clone()).ok_or_else(|| {
            let text = "no answer to this instruction is recorded; add a line to the file";
            ModelError::new(ModelErrorKind::Unreachable, text)
        })
    }
}
