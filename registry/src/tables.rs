//! The code tables of the draft, closed and open: intents, errors, operations, standard abbreviations and envelope
//! fields. No other code repeats a table.

use core::fmt;
use core::str::FromStr;

macro_rules! intents {
    ($($(#[$note:meta])* $name:ident $code:literal $meaning:literal $text:literal;)*) => {
        #[allow(clippy::upper_case_acronyms)]
        enum Row { $($name),* }

        static INTENTS: &[(&str, &str, &str)] = &[$(($code, $meaning, $text)),*];

        impl Intent {
            $(
                #[doc = concat!("`", $code, "`: ", $text, ".")]
                $(#[$note])*
                pub const $name: Self = Self(Row::$name as u8);
            )*

            /// Every intent, in the order of the draft; ping and pong last.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The codes of [`Intent::ALL`].
            pub(crate) const CODES: &[&str] = &[$($code),*];
        }
    };
}

/// The purpose of a frame: the closed set of draft section 4.1, with ping and pong of 11.2.
///
/// ```
/// use accp_registry::Intent;
///
/// assert_eq!(Intent::lookup("req"), Some(Intent::REQ));
/// assert_eq!(Intent::lookup("REQ"), None); // unknown: E1002
/// assert_eq!(Intent::ESC.meaning(), "Escalate");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Intent(u8);

intents! {
    REQ    "req"    "Request"     "Request another agent to perform an action";
    DONE   "done"   "Complete"    "Report task completion with results";
    FAIL   "fail"   "Failure"     "Report task failure with error details";
    WAIT   "wait"   "Waiting"     "Awaiting external input or dependency";
    ESC    "esc"    "Escalate"    "Delegate to a higher-authority agent";
    COMP   "comp"   "Compress"    "Trigger context compression checkpoint";
    SYNC   "sync"   "Synchronize" "Share or request state synchronization";
    QRY    "qry"    "Query"       "Request information lookup";
    ACK    "ack"    "Acknowledge" "Confirm receipt of a frame";
    CANCEL "cancel" "Cancel"      "Abort an in-progress task";
    STREAM "stream" "Stream"      "Begin streaming incremental results";
    END    "end"    "End stream"  "Close a streaming sequence";
    /// Link only; not one of [`Intent::CORE`].
    PING   "ping"   "Ping"        "Ask whether the peer is there";
    /// Link only; not one of [`Intent::CORE`].
    PONG   "pong"   "Pong"        "Answer a ping";
}

impl Intent {
    /// The twelve core intents of draft section 4.1.
    pub const CORE: &[Self] = Self::ALL.split_at(12).0;

    /// Returns the intent with this code; `None` is E1002. Case matters.
    pub fn lookup(code: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|intent| intent.as_str() == code)
    }

    /// Returns the code on the wire.
    pub const fn as_str(self) -> &'static str {
        INTENTS[self.0 as usize].0
    }

    /// Returns the meaning in a word: `Request`.
    pub const fn meaning(self) -> &'static str {
        INTENTS[self.0 as usize].1
    }

    /// Returns the meaning in a sentence, without its full stop.
    pub const fn description(self) -> &'static str {
        INTENTS[self.0 as usize].2
    }
}

impl fmt::Debug for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Intent({})", self.as_str())
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! error_codes {
    ($($name:ident $number:literal $retryable:literal $text:literal;)*) => {
        impl ErrorCode {
            $(
                #[doc = concat!("`E", $number, "`: ", $text, ".")]
                pub const $name: Self = Self($number);
            )*

            /// The sixteen codes of draft section 3.6.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the name in the table of the draft; `None` for a code outside the table.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// Returns whether a retry may help; `None` for a code outside the table.
            pub const fn is_retryable(self) -> Option<bool> {
                match self {
                    $(Self::$name => Some($retryable),)*
                    _ => None,
                }
            }

            /// Returns the meaning in a sentence, without its full stop.
            pub const fn description(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

/// An error code, `E1001` on the wire (draft section 3.6). Codes outside the table are read and
/// written back unchanged.
///
/// ```
/// use accp_registry::{Category, ErrorCode};
///
/// let code: ErrorCode = "E3003".parse()?;
/// assert_eq!(code, ErrorCode::SEQUENCE_GAP);
/// assert_eq!(code.is_retryable(), Some(true));
/// assert_eq!(code.category(), Category::Transport);
///
/// let unknown: ErrorCode = "E4711".parse()?;
/// assert_eq!((unknown.name(), unknown.to_string()), (None, "E4711".into()));
/// # Ok::<(), accp_registry::ErrorCodeSyntax>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(u16);

error_codes! {
    PARSE_ERROR          1001 false "The frame breaks the grammar";
    INVALID_INTENT       1002 false "The intent is not one of the registered ones";
    UNKNOWN_SCHEMA       1003 false "The schema code is not in the registry";
    INVALID_TYPE         1004 false "A value has not the type that its schema declares";
    REF_NOT_FOUND        2001 false "A reference names nothing that the state store holds";
    REF_EXPIRED          2002 false "A reference names something that the state store held";
    BUDGET_EXCEEDED      2003 false "A token budget cannot be met";
    TIMEOUT              3001 true  "No answer came in time";
    DUPLICATE            3002 false "The message id was seen before in this session";
    SEQUENCE_GAP         3003 true  "The sequence number is not the next one";
    TOOL_NOT_FOUND       4001 false "There is no tool of this name";
    TOOL_EXEC_FAILED     4002 true  "The tool was called and failed";
    TOOL_SCHEMA_MISMATCH 4003 false "The arguments do not fit the tool";
    POLICY_DENIED        5001 false "A policy forbids it";
    UNAUTHORIZED_REF     5002 false "A reference leads to a session that granted no access";
    INTERNAL_ERROR       9999 true  "Something else failed";
}

impl ErrorCode {
    /// Returns the code with this number; `None` above 9999.
    pub const fn new(number: u16) -> Option<Self> {
        if number <= 9999 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// Returns the number after the `E`, 0 to 9999.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Returns the category, given by the first digit.
    pub const fn category(self) -> Category {
        match self.0 / 1000 {
            1 => Category::Parse,
            2 => Category::State,
            3 => Category::Transport,
            4 => Category::Tool,
            5 => Category::Policy,
            9 => Category::Internal,
            _ => Category::Other,
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorCode({self})")
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{:04}", self.0)
    }
}

impl FromStr for ErrorCode {
    type Err = ErrorCodeSyntax;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix('E') {
            Some(digits) if digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().map(Self).map_err(|_| ErrorCodeSyntax)
            }
            _ => Err(ErrorCodeSyntax),
        }
    }
}

/// The text is not `E` and four digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an error code is E and four digits, as in E1001")]
pub struct ErrorCodeSyntax;

/// The category of an error (draft section 3.6, table 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Category {
    /// E1xxx: parse and grammar errors.
    Parse,
    /// E2xxx: state store errors.
    State,
    /// E3xxx: transport and delivery errors.
    Transport,
    /// E4xxx: tool and MCP errors.
    Tool,
    /// E5xxx: policy and authorization errors.
    Policy,
    /// E9xxx: internal and unknown errors.
    Internal,
    /// A range that the draft leaves open.
    Other,
}

/// The nineteen core operations (draft section 4.3), in the order of the draft. A frame may carry
/// an operation outside the table; a `frames` entry of a schema registers one.
pub static OPERATIONS: &[&str] = &[
    "analyze",
    "plan",
    "execute",
    "review",
    "approve",
    "reject",
    "fetch",
    "transform",
    "summarize",
    "classify",
    "generate",
    "validate",
    "schedule",
    "notify",
    "merge",
    "split",
    "route",
    "cache",
    "purge",
];

/// Returns whether the operation is one of [`OPERATIONS`].
pub fn is_core_operation(operation: &str) -> bool {
    OPERATIONS.contains(&operation)
}

/// A standard key abbreviation (draft section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Abbreviation {
    /// The short form on the wire.
    pub short: &'static str,
    /// The full name. Encoders write the short form instead, and decoders restore the full name.
    pub full: &'static str,
    /// The second meaning in the draft. A schema that uses the second meaning declares it.
    pub also: Option<&'static str>,
    /// The words of the draft.
    pub doc: &'static str,
}

impl Abbreviation {
    /// Returns the entry with this short form.
    pub fn lookup(short: &str) -> Option<&'static Self> {
        ABBREVIATIONS.iter().find(|entry| entry.short == short)
    }
}

macro_rules! abbreviations {
    ($($short:literal $full:literal $(or $also:literal)? => $doc:literal;)*) => {
        /// The sixteen standard abbreviations, in the order of draft section 4.2.
        pub static ABBREVIATIONS: &[Abbreviation] = &[$(Abbreviation {
            short: $short,
            full: $full,
            also: abbreviations!(@also $($also)?),
            doc: $doc,
        }),*];
    };
    (@also) => { None };
    (@also $also:literal) => { Some($also) };
}

abbreviations! {
    "d"    "data" or "dataset"    => "data / dataset";
    "f"    "findings" or "fields" => "findings / fields";
    "nx"   "next_action"          => "next action";
    "src"  "source"               => "source";
    "dst"  "destination"          => "destination";
    "q"    "query"                => "query";
    "fmt"  "format"               => "format";
    "pri"  "priority"             => "priority";
    "err"  "error"                => "error";
    "v"    "version"              => "version";
    "ts"   "timestamp"            => "timestamp";
    "ttl"  "time_to_live"         => "time-to-live";
    "ctx"  "context"              => "context reference";
    "who"  "target"               => "target agent/entity";
    "when" "temporal"             => "temporal constraint";
    "why"  "rationale"            => "rationale code";
}

/// Returns the standard abbreviation of a full name: `priority` is `pri`.
///
/// A name that is the second meaning of an abbreviation (`dataset`, `fields`) is not abbreviated, because [`expand`]
/// would return the first meaning.
pub fn abbreviate(full: &str) -> Option<&'static str> {
    let entry = ABBREVIATIONS.iter().find(|entry| entry.full == full)?;
    Some(entry.short)
}

/// Returns the full name of a standard abbreviation: `pri` is `priority`.
pub fn expand(short: &str) -> Option<&'static str> {
    Some(Abbreviation::lookup(short)?.full)
}

/// A field of the standard message envelope (draft section 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvelopeField {
    /// The full name.
    pub full: &'static str,
    /// The short name on the wire.
    pub short: &'static str,
    /// The type of the value.
    pub kind: EnvelopeKind,
    /// How strongly the draft demands the field.
    pub required: Requirement,
    /// The words of the draft.
    pub doc: &'static str,
}

impl EnvelopeField {
    /// Returns the field with this full or short name.
    pub fn lookup(name: &str) -> Option<&'static Self> {
        ENVELOPE
            .iter()
            .find(|field| field.full == name || field.short == name)
    }
}

/// The type of an envelope field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EnvelopeKind {
    /// A string.
    String,
    /// An integer.
    Integer,
}

/// The strength of a demand of the draft, in the words of BCP 14.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requirement {
    /// Optional.
    May,
    /// Recommended.
    Should,
    /// Required.
    Must,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Requirement::May => "MAY",
            Requirement::Should => "SHOULD",
            Requirement::Must => "MUST",
        })
    }
}

macro_rules! envelope {
    ($($full:literal $short:literal $kind:ident $required:ident $doc:literal;)*) => {
        /// The seven envelope fields, in the order of draft section 3.5.
        pub static ENVELOPE: &[EnvelopeField] = &[$(EnvelopeField {
            full: $full,
            short: $short,
            kind: EnvelopeKind::$kind,
            required: Requirement::$required,
            doc: $doc,
        }),*];
    };
}

envelope! {
    "msg_id"         "mid" String  Must   "Unique message identifier (hex, 12 chars)";
    "sequence"       "seq" Integer Must   "Monotonically increasing per session";
    "timestamp"      "ts"  Integer Must   "Unix epoch seconds";
    "correlation_id" "cid" String  Should "Links request to response";
    "causation_id"   "aid" String  May    "Links to the message that caused this one";
    "session_id"     "sid" String  Should "ACCP session identifier";
    "ttl"            "ttl" Integer May    "Seconds until frame expires; 0 = no expiry";
}
