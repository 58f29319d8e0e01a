//! Requests and their answers.

use std::fmt;

use accp_registry::Hash;

use super::entry::{EntryKey, packet};
use super::instruction::{Instruction, InstructionError};
use super::model::ModelError;
use super::registry::RegistryError;
use crate::error::WriteError;
use crate::owned::PacketBuf;
use crate::vocabulary::Vocabulary;

/// An instruction in English, with the values that the caller gives for its packet.
///
/// ```
/// use accp_aacp::fallback::Request;
///
/// let request = Request::new("Fetch the salary records", "HR", "HR-Agent", "2")?;
/// assert_eq!(request.instruction().text(), "Fetch the salary records");
/// assert!(Request::new("Fetch it", "HR", "HR-Agent|return:EVIL", "2").is_err());
/// # Ok::<(), accp_aacp::fallback::FallbackError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    instruction: Instruction,
    dom: String,
    receiver: String,
    priority: String,
}

impl Request {
    /// Makes a request: the instruction, the domain, the agent that gets the result, and the priority.
    ///
    /// # Errors
    /// An instruction without words, or that is too long; a domain, receiver or priority that cannot be
    /// written.
    pub fn new(
        english: &str,
        dom: &str,
        receiver: &str,
        priority: &str,
    ) -> Result<Self, FallbackError> {
        let instruction = Instruction::new(english)?;
        packet(
            ["FETCH", dom],
            [receiver, priority],
            &[],
            Vocabulary::standard(),
        )?;
        Ok(Self {
            instruction,
            dom: dom.to_owned(),
            receiver: receiver.to_owned(),
            priority: priority.to_owned(),
        })
    }

    /// Returns the instruction.
    pub fn instruction(&self) -> &Instruction {
        &self.instruction
    }

    /// Returns the domain.
    pub fn dom(&self) -> &str {
        &self.dom
    }

    /// Returns the receiver and the priority.
    pub(super) fn head(&self) -> [&str; 2] {
        [&self.receiver, &self.priority]
    }

    /// Returns the key of the entry for this request.
    pub fn key(&self) -> EntryKey {
        EntryKey {
            dom: self.dom.clone(),
            id: self.instruction.id(),
        }
    }
}

/// Where a packet comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Tier 1: the entry of this instruction.
    Hash,
    /// Tier 2: the entry of an instruction that says the same.
    Pattern,
    /// Tier 2: a hop of a workflow.
    Rule,
    /// Tier 3: a call of the model.
    Llm,
}

impl Source {
    /// Returns the tier, from 1 to 3.
    pub fn tier(self) -> u8 {
        match self {
            Self::Hash => 1,
            Self::Pattern | Self::Rule => 2,
            Self::Llm => 3,
        }
    }

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Pattern => "pattern",
            Self::Rule => "rule",
            Self::Llm => "llm",
        }
    }
}

/// A packet, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The packet.
    pub packet: PacketBuf,
    /// Where the packet comes from.
    pub source: Source,
    /// The id of the instruction.
    pub id: Hash,
    /// The id of the entry that answers; `None` for a rule.
    pub entry: Option<Hash>,
    /// The hop that answers, as `workflow.hop`; `None` if no hop answers.
    pub rule: Option<String>,
    /// The number of requests that the entry has answered, this one included; `None` for a rule,
    /// which has no entry.
    pub times_seen: Option<u64>,
    /// The part of the keywords that the instruction shares with the entry or the hop that answers, from 0 to 1;
    /// `None` for the model.
    pub score: Option<f64>,
    /// The calls of the model that this request made: 0 or 1.
    pub llm_calls: u32,
}

/// The tier that would answer a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Route {
    /// Where the packet would come from; `None` if no tier would answer, because there is no model.
    pub source: Option<Source>,
    /// The packet, if it is known without a call.
    pub packet: Option<PacketBuf>,
    /// The id of the entry that would answer.
    pub entry: Option<Hash>,
    /// The hop that would answer, as `workflow.hop`.
    pub rule: Option<String>,
    /// The number of requests that the entry has answered.
    pub times_seen: Option<u64>,
    /// The part of the keywords that the instruction shares with the entry or the hop that would answer, from 0 to 1.
    pub score: Option<f64>,
}

/// A request without a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FallbackError {
    /// The instruction cannot be used.
    Instruction(InstructionError),
    /// The domain, the receiver or the priority cannot be written.
    Request(WriteError),
    /// Neither of the first two tiers answers, and there is no model.
    NoMatch,
    /// The model gave no packet, for this request or for the request whose call this request waited for.
    Model(ModelError),
    /// The registry failed.
    Registry(RegistryError),
    /// Others called the model for longer than the caller waits.
    Waited,
}

impl FallbackError {
    /// Returns a short name of what went wrong.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Instruction(_) => "instruction-invalid",
            Self::Request(error) => error.code().map_or("request-invalid", crate::Code::as_str),
            Self::NoMatch => "no-match",
            Self::Model(error) => error.kind.as_str(),
            Self::Registry(error) => error.kind.as_str(),
            Self::Waited => "model-busy",
        }
    }
}

impl fmt::Display for FallbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instruction(error) => write!(f, "{error}"),
            Self::Request(error) => write!(f, "{error}"),
            Self::NoMatch => f.write_str(
                "no entry and no workflow fits the instruction; add an entry, or name a model",
            ),
            Self::Model(error) => write!(f, "{error}"),
            Self::Registry(error) => write!(f, "{error}"),
            Self::Waited => {
                f.write_str("another process calls the model for this instruction; try again")
            }
        }
    }
}

impl std::error::Error for FallbackError {}

impl From<InstructionError> for FallbackError {
    fn from(error: InstructionError) -> Self {
        Self::Instruction(error)
    }
}

impl From<WriteError> for FallbackError {
    fn from(error: WriteError) -> Self {
        Self::Request(error)
    }
}

impl From<ModelError> for FallbackError {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl From<RegistryError> for FallbackError {
    fn from(error: RegistryError) -> Self {
        Self::Registry(error)
    }
}
