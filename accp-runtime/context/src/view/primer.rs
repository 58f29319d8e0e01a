//! Primers, which teach a model to read a prompt and to write for agents.

mod example;
mod notes;

use std::collections::BTreeSet;
use std::fmt;

use accp_registry::{Registry, Schema};

use super::block::PRIMER;
use super::codec::View;

/// The text that a model needs to write, after the text on reading.
const WRITING: &str = "\
    You are @me: write so, no spaces after commas, empty is default or none, ~ null, texts like \
    12, true, -x or with ,()[]{}|\"\\ JSON strings.";
/// The text that explains the notes on schemas.
const NOTES: &str = " Under a schema its frames, a? optional, a=b default, a:type else text.";

/// Teaches a model to read and write views. The primer is in every prompt, so each of its words costs tokens every
/// time.
///
/// [`Display`](fmt::Display) writes the fields in their order. The definitions are those of [`View::definition`]; a
/// prompt that begins with the primer needs no other definitions. The primer leaves out the docs of the registry.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::Registry;
/// use accp_runtime::view::View;
///
/// let view = View::new(Arc::new(Registry::standard()));
/// let primer = view.primer(["TA"]).expect("a standard profile");
/// assert_eq!(primer.schemas[0].definition,
///     "@=TA(assignee,task,priority,deadline,deps,status,progress)\n");
/// assert_eq!(primer.schemas[0].notes,
///     "req:schedule,execute need assignee,task; done:schedule,execute need task; \
///      assignee:agent priority=medium deps:[string]=[] progress:integer\n");
/// assert!(primer.writing.contains("\n@me>done:execute TA(,task)\n"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Primer {
    /// Instructions for reading a prompt: [`PRIMER`].
    pub reading: &'static str,
    /// Instructions for writing blocks, and examples by an agent `me`, which [`View::read`]
    /// accepts. Empty when the primer is [`for_reading`](Self::for_reading).
    pub writing: String,
    /// The requested schemas, then the schemas nested in them.
    pub schemas: Vec<SchemaPrimer>,
}

/// The part of a primer about one schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaPrimer {
    /// The code.
    pub code: String,
    /// The definition, a line.
    pub definition: String,
    /// Notes for writers, at most a line: the frames of the schema, the fields that they need,
    /// types and defaults. Empty for a schema that no frame holds, because its records are not
    /// checked.
    pub notes: String,
}

impl View {
    /// Returns the primer for reading and writing with the schemas of these codes, and with the schemas nested in these
    /// schemas. `None` if a code is not known.
    pub fn primer<'c>(&self, codes: impl IntoIterator<Item = &'c str>) -> Option<Primer> {
        let registry = self.registry();
        let codes = codes.into_iter().map(|code| registry.schema(code));
        let schemas = with_nested(registry, codes.collect::<Option<_>>()?);
        let framed = registry
            .schemas()
            .filter(|schema| !schema.frames.is_empty());
        let written = with_nested(registry, framed.collect());
        let lessons = schemas.iter().map(|schema| SchemaPrimer {
            code: schema.code.clone(),
            definition: self.definition(&schema.code).unwrap_or_default(),
            notes: if written.iter().any(|other| other.code == schema.code) {
                notes::of(self, schema)
            } else {
                String::new()
            },
        });
        let lessons: Vec<_> = lessons.collect();
        let mut writing = String::from(WRITING);
        if lessons.iter().any(|lesson| !lesson.notes.is_empty()) {
            writing.push_str(NOTES);
        }
        writing.push('\n');
        writing.extend(example::all(self, &schemas));
        Some(Primer {
            reading: PRIMER,
            writing,
            schemas: lessons,
        })
    }
}

impl Primer {
    /// Removes the parts that only writers need.
    pub fn for_reading(mut self) -> Self {
        self.writing.clear();
        for lesson in &mut self.schemas {
            lesson.notes.clear();
        }
        self
    }
}

impl fmt::Display for Primer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reading)?;
        f.write_str(&self.writing)?;
        self.schemas.iter().try_for_each(|lesson| lesson.fmt(f))
    }
}

impl fmt::Display for SchemaPrimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.definition)?;
        f.write_str(&self.notes)
    }
}

/// Returns these schemas, each once, followed by the schemas of their fields.
fn with_nested<'r>(registry: &'r Registry, schemas: Vec<&'r Schema>) -> Vec<&'r Schema> {
    let mut seen = BTreeSet::new();
    let mut all = schemas;
    all.retain(|schema| seen.insert(&*schema.code));
    let mut at = 0;
    while let Some(schema) = all.get(at) {
        let nested = schema.fields.iter();
        let nested = nested.filter_map(|field| registry.schema(field.ty.schema_code()?));
        let new: Vec<_> = nested.filter(|schema| seen.insert(&*schema.code)).collect();
        all.extend(new);
        at += 1;
    }
    all
}
