//! Grammars for constrained decoding. They describe the frames that a model may write, so that it
//! writes nothing that a decoder refuses.
//!
//! A registry gives one [`Grammar`], with its frames by intent and operation. Lark, GBNF and a
//! regular expression are three spellings of the grammar. [`Export::json_schema`] describes the
//! same frames in their JSON form.
//!
//! ```
//! use accp_registry::Registry;
//! use accp_registry::export::{Export, Options};
//!
//! let registry = Registry::from_json(r#"{ "schemas": { "finding": {
//!     "code": "FD", "fields": ["topic", "sure"], "required": ["topic"],
//!     "types": { "topic": "string", "sure": "boolean" },
//!     "frames": [{ "intent": "done", "operation": "analyze" }]
//! } } }"#)?;
//! let export = Export::of(&registry, &Options::default())?;
//! let lark = export.grammar(Export::DEPTH)?.to_lark();
//! let frame = r#"done_analyze_fd: "done:analyze{" "topic:" given_string "|" ("sure:" boolean_value "|")? "schema:FD}""#;
//! assert!(lark.lines().any(|line| line == frame), "{lark}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! Every text of the grammar is a frame that a decoder with this registry accepts. Every frame that
//! an encoder writes with the fields of its schema is a text of the grammar. The order is that of
//! the encoder: the fields in the order of the schema, the fields of a nested record ascending by
//! key, `schema` last. The tag of a union may also stand before the other fields of its record, so that a model can
//! begin with the variant that it means. Any value may be a
//! reference, and any value but that of a required field may be `~`, as in any frame.
//!
//! No such grammar can express three things, so a decoder still has to check them:
//!
//! - In a map whose keys are data a key may appear twice.
//! - A frame may be longer, or have more elements, than [`Limits`] allow. The grammar does limit
//!   nesting.
//! - A `number` of more than 15 digits: `#0.30000000000000004` is the spelling of a float, but `#0.30000000000000003`
//!   is not the spelling of any float. So the grammar allows at most 15 digits after the mark `#`. It also has the
//!   plain form, `0.30000000000000004`, which decoders accept.

mod builder;
mod formats;
mod frames;
mod gbnf;
mod grammar;
mod json_schema;
mod lark;
mod regex;
mod rules;
mod tokens;
mod tools;
mod view;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub use grammar::{Expr, Grammar, Rule};
pub use tools::ToolForm;

use crate::limits::Limits;
use crate::model::Registry;
use crate::tool::Tool;
use crate::types::Type;
use frames::Frame;

/// The frames to describe, and how much of their metadata.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// The frames, as `req:schedule`; all frames if the list is empty.
    pub frames: Vec<String>,
    /// Whether frames have metadata: `mid` and `seq`, then the other fields of the envelope. Without metadata, a
    /// frame has only the envelope fields that its registry entry requires, such as the `cid` of an answer: a model
    /// does not number its frames.
    pub envelope: bool,
}

/// The frames of a registry that a grammar describes.
#[derive(Debug)]
pub struct Export<'r> {
    registry: &'r Registry,
    frames: Vec<Frame<'r>>,
}

impl<'r> Export<'r> {
    /// The levels of arrays and maps that decoders accept by default ([`Limits::DEFAULT`]).
    pub const DEPTH: u32 = Limits::DEFAULT.depth;
    /// The usual number of levels in a regular expression: each level makes it four times as long.
    pub const REGEX_DEPTH: u32 = 2;
    /// The most characters that the APIs of all providers take as the name of a tool.
    pub const TOOL_NAME: usize = 64;

    /// Chooses the frames.
    ///
    /// # Errors
    /// [`ExportError::UnknownFrame`] and [`ExportError::NoFrames`].
    pub fn of(registry: &'r Registry, options: &Options) -> Result<Self, ExportError> {
        let frames = frames::choose(registry, options)?;
        Ok(Self { registry, frames })
    }

    /// Returns the grammar of the frames as they stand on the wire, with at most `depth` levels of
    /// arrays and maps.
    ///
    /// # Errors
    /// [`ExportError::TooDeep`] when `depth` is below [`Export::DEPTH`] and a field needs more. The
    /// value of a field of type `any` is cut to the depth without an error.
    pub fn grammar(&self, depth: u32) -> Result<Grammar, ExportError> {
        self.check_depth(depth)?;
        Ok(rules::grammar(self.registry, &self.frames, depth))
    }

    /// Returns the grammar of views of the frames, which a primer teaches models to write: one block or
    /// more, each with its line feed. `View::read` of accp-context reads every text of the grammar.
    ///
    /// The grammar has the blocks that a view writes of the fields of a schema. It differs from the view in three
    /// spellings:
    ///
    /// - A map without a declared type is always written as a map, even if a view would write it as a record of a
    ///   schema.
    /// - A record is written under its declared schema, and each row of a table has all columns. A record of a union
    ///   may have its tag first, and then its fields in the order of the schema, as the primer names them.
    /// - A text whose first letter is of a rare script is in quotes.
    ///
    /// # Errors
    /// As [`Export::grammar`].
    ///
    /// ```
    /// use accp_registry::Registry;
    /// use accp_registry::export::{Export, Options};
    ///
    /// let registry = Registry::from_json(r#"{ "schemas": { "finding": {
    ///     "code": "FD", "fields": ["topic", "sure"], "required": ["topic"],
    ///     "types": { "topic": "string", "sure": "boolean" },
    ///     "frames": [{ "intent": "done", "operation": "analyze" }]
    /// } } }"#)?;
    /// let export = Export::of(&registry, &Options::default())?;
    /// let lark = export.view_grammar(Export::DEPTH)?.to_lark();
    /// let frame = r#"done_analyze_fd: "done:analyze FD(" given_value_string_0 ("," value_boolean_0?)? ")\n""#;
    /// assert!(lark.lines().any(|line| line.starts_with(frame)), "{lark}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn view_grammar(&self, depth: u32) -> Result<Grammar, ExportError> {
        self.check_depth(depth)?;
        Ok(view::grammar(self.registry, &self.frames, depth))
    }

    /// Returns a JSON Schema (2020-12) of the frames in their JSON form, keys under their full
    /// names, with at most `depth` levels of arrays and objects.
    ///
    /// The schema allows integers only up to 1,023 below the largest 64-bit integer, which is the last float that all
    /// engines accept as a bound. For a JSON Schema, `-0` is an integer and `1e999` is a number. Readers of JSON read
    /// `-0` as a float, and refuse `1e999`. In a frame, a map with a key such as `first name` takes two more levels, so
    /// the schema allows such maps where they nest too deep for a frame.
    ///
    /// # Errors
    /// As [`Export::grammar`].
    pub fn json_schema(&self, depth: u32) -> Result<String, ExportError> {
        self.check_depth(depth)?;
        Ok(json_schema::write(self.registry, &self.frames, depth))
    }

    /// Returns the frames as definitions of tools for a model, as a JSON array with one tool per line. The names are
    /// those of [`Registry::tools`].
    ///
    /// The schema of the arguments keeps to what the strict modes of the providers accept: one flat object, no other
    /// property, every property required, and null where an argument may be left out. Such a mode cannot describe
    /// maps, `any`, or schemas that contain themselves, so their values are JSON in a string. It takes at most 10
    /// levels and 5,000 properties. Where a schema would have more, the innermost lists and records are JSON in a
    /// string as well, and a description names the fields of such a record, at most 20. The schema does not describe
    /// the allowed characters and lengths of texts. They are checked when the arguments are read.
    ///
    /// ```
    /// use accp_registry::Registry;
    /// use accp_registry::export::{Export, Options, ToolForm};
    ///
    /// let registry = Registry::standard();
    /// let options = Options { frames: vec!["req:schedule".into()], ..Options::default() };
    /// let tools = Export::of(&registry, &options)?.tools(ToolForm::Anthropic);
    /// assert!(tools.contains(r#""assignee":{"type":"string","description":"Who is to do it."}"#));
    /// # Ok::<(), accp_registry::export::ExportError>(())
    /// ```
    pub fn tools(&self, form: ToolForm) -> String {
        tools::write(self.registry, &self.chosen(), form)
    }

    /// Checks that every API takes the names of the tools: they have at most [`Export::TOOL_NAME`] characters.
    ///
    /// # Errors
    /// [`ExportError::LongToolName`] for the first name that is longer.
    pub fn check_tools(&self) -> Result<(), ExportError> {
        let is_long = |tool: &Tool<'_>| tool.name.chars().count() > Self::TOOL_NAME;
        match self.chosen().into_iter().find(is_long) {
            None => Ok(()),
            Some(tool) => Err(ExportError::LongToolName {
                frame: self.registry.protocol().title(&tool.frame.head),
                code: tool.schema.code.clone(),
                name: tool.name,
            }),
        }
    }

    /// Returns the tools of the chosen frames.
    fn chosen(&self) -> Vec<Tool<'r>> {
        let mut tools = self.registry.tools();
        let is_chosen = |tool: &Tool<'_>| {
            let mut frames = self.frames.iter();
            frames.any(|frame| frame.code == tool.schema.code && frame.head == tool.frame.head)
        };
        tools.retain(is_chosen);
        tools
    }

    fn check_depth(&self, depth: u32) -> Result<(), ExportError> {
        // Decoders refuse deeper values anyway, so nothing is lost.
        if depth >= Self::DEPTH {
            return Ok(());
        }
        let mut known = BTreeMap::new();
        for frame in &self.frames {
            for param in &frame.params {
                let ty = &param.field.ty;
                let levels = levels(self.registry, ty, Self::DEPTH + 1, &mut known);
                if levels > depth {
                    return Err(ExportError::TooDeep {
                        field: format!("{}.{}", frame.code, param.field.name),
                        ty: param.field.ty.clone(),
                        levels: (levels <= Self::DEPTH).then_some(levels),
                        depth,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Returns the levels of arrays and maps that a declared type needs, counted up to `most`. `known` holds the levels of
/// schemas, by code and `most`, so that each schema is counted once for each `most`.
fn levels<'r>(
    registry: &'r Registry,
    ty: &'r Type,
    most: u32,
    known: &mut BTreeMap<(&'r str, u32), u32>,
) -> u32 {
    let Some(inner) = most.checked_sub(1) else {
        return 0;
    };
    match ty {
        Type::List(item) | Type::Map(item) => 1 + levels(registry, item, inner, known),
        Type::Schema(code) => {
            if let Some(levels) = known.get(&(code.as_str(), most)) {
                return *levels;
            }
            let fields = registry.schema(code).map(|schema| schema.fields.iter());
            let fields = fields.into_iter().flatten();
            let deepest = fields.map(|field| levels(registry, &field.ty, inner, known));
            let levels = 1 + deepest.max().unwrap_or(0);
            known.insert((code.as_str(), most), levels);
            levels
        }
        _ => 0,
    }
}

/// The reason why a registry gives no grammar for constrained decoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A requested frame is not in the registry.
    #[error("there is no frame `{name}`; {cure}")]
    UnknownFrame {
        /// The requested name.
        name: String,
        /// The nearest frame, or all frames.
        cure: String,
    },
    /// No schema declares frames.
    #[error(
        "no schema of the registry has `frames`, so there is no frame to write; add to one \
         \"frames\": [{{ \"intent\": \"req\", \"operation\": \"plan\" }}]"
    )]
    NoFrames,
    /// A frame gives a tool a name that is longer than providers take.
    #[error(
        "{frame} of schema {code} would be the tool `{name}`, but the name of a tool has at most {} characters; \
         shorten the operation or the code",
        Export::TOOL_NAME
    )]
    LongToolName {
        /// The frame, as `req:schedule`.
        frame: String,
        /// The code of its schema.
        code: String,
        /// The name that the tool would have.
        name: String,
    },
    /// A declared type nests deeper than the grammar does.
    #[error(
        "the field `{field}` of type {ty} needs {}, the grammar has {depth}; {}",
        match levels { Some(levels) => format!("{levels} levels of arrays and maps"), None => String::from("any number of levels of arrays and maps") },
        match levels { Some(levels) => format!("take a depth of {levels}"), None => format!("take a depth of {}, the most that decoders read", Export::DEPTH) },
    )]
    TooDeep {
        /// The code of the schema and the name of the field.
        field: String,
        /// The type of the field.
        ty: Type,
        /// The levels that the field needs; `None` if no number of levels is enough.
        levels: Option<u32>,
        /// The levels that the grammar has.
        depth: u32,
    },
    /// The regular expression would be larger than any engine accepts.
    #[error(
        "the regular expression would have {bytes} bytes, but engines take at most {most}; take a lower \
         depth, fewer frames, or another format"
    )]
    TooLarge {
        /// The length that the regular expression would have.
        bytes: u64,
        /// The maximum length.
        most: u64,
    },
}
