//! Building one registry from documents: the checks across schemas, and the defaults.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use crate::finite::endless;
use crate::json::{Places, child};
#[cfg(feature = "std")]
use crate::jsonc;
use crate::model::{ERROR, ERRORS, Field, FrameSpec, Registry, Schema};
use crate::nearest::nearest;
use crate::problem::{Position, Positions, Problem, Problems};
use crate::protocol::Protocol;
use crate::read;
use crate::reader::{SUGGESTIONS, suggest};
use crate::types::Type;

/// A registry document and its source.
pub(crate) struct Source<'a> {
    file: Option<&'a str>,
    json: Value,
    /// The text, and the places of its parts; `None` for a document that was made in memory.
    text: Option<(&'a str, Places)>,
}

impl<'a> Source<'a> {
    /// Parses a document as JSON. A byte order mark at its start is left out.
    pub(crate) fn parse(file: Option<&'a str>, text: &'a str) -> Result<Self, Problems> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let cure = "keys stand in double quotes; no comments, no comma before a closing bracket";
        Self::read(file, text, text, cure)
    }

    /// Parses a document that people keep in a file, as JSON with comments.
    #[cfg(feature = "std")]
    pub(crate) fn parse_commented(file: &'a str, text: &'a str) -> Result<Self, Problems> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let cure = "keys stand in double quotes; a comment is `// ..` to the end of the line, or `/* .. */`";
        Self::read(Some(file), text, &jsonc::plain(text), cure)
    }

    /// Parses `plain`, in which each part of `text` stands at the same byte offset.
    fn read(
        file: Option<&'a str>,
        text: &'a str,
        plain: &str,
        cure: &str,
    ) -> Result<Self, Problems> {
        match serde_json::from_str(plain) {
            Ok(json) => Ok(Self {
                file,
                json,
                text: Some((text, Places::of(plain))),
            }),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                let message = error.to_string();
                let place = format!(" at line {line} column {column}");
                let message = message.strip_suffix(&place).unwrap_or(&message);
                let cure = if text.contains('\0') {
                    "this may be UTF-16: save the file as UTF-8, in which JSON is written"
                } else if error.is_eof() {
                    "the text ends here; close what is still open"
                } else if message.contains("recursion limit") {
                    "no registry nests so deep; remove the inner arrays and objects"
                } else {
                    cure
                };
                let mut problem =
                    Problem::new("", format!("this is not JSON: {message}")).cure(cure);
                problem.file = file.map(ToOwned::to_owned);
                problem.position = Some(Position::of(text, offset(text, line, column)));
                Err(problem.into())
            }
        }
    }

    /// Returns a document that was made in memory, and so has no text.
    pub(crate) fn from_value(json: Value) -> Source<'static> {
        Source {
            file: None,
            json,
            text: None,
        }
    }

    /// Returns the document.
    pub(crate) fn json(&self) -> &Value {
        &self.json
    }

    /// Returns a problem for each key that stands twice in its object.
    pub(crate) fn duplicates(&self) -> impl Iterator<Item = Problem> {
        let text = self.text.iter();
        let duplicates = text.flat_map(|(_, places)| &places.duplicates);
        duplicates.map(|pointer| {
            Problem::new(pointer, "this key stands twice in its object").cure("keep one of the two")
        })
    }

    /// Adds their places in this document to problems, and sorts the problems by these places.
    pub(crate) fn place(&self, problems: Vec<Problem>) -> Vec<Problem> {
        let find = |problem: &Problem| {
            let text = self.text.as_ref();
            text.map_or(0, |(_, places)| places.find(&problem.pointer))
        };
        let found = problems
            .into_iter()
            .map(|problem| (find(&problem), problem));
        let mut found: Vec<(usize, Problem)> = found.collect();
        found.sort_by_key(|(at, _)| *at);
        let mut positions = self.text.as_ref().map(|(text, _)| Positions::of(text));
        let placed = found.into_iter().map(|(at, mut problem)| {
            problem.file = self.file.map(ToOwned::to_owned);
            problem.position = positions.as_mut().map(|positions| positions.find(at));
            problem
        });
        placed.collect()
    }
}

/// Returns the byte offset of a place that `serde_json` reports. `serde_json` counts lines from 1, and columns in
/// bytes from 1. Its column 0 means the line feed that ends the previous line.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    lines.map(str::len).sum::<usize>() + column.saturating_sub(1)
}

/// Builds one registry from several documents.
pub(crate) fn assemble(
    protocol: &'static Protocol,
    sources: &[Source<'_>],
) -> Result<Registry, Problems> {
    let mut assembly = Assembly::default();
    let mut registry = Registry::empty_of(protocol);
    let mut versions = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let mut problems = Vec::new();
        problems.extend(source.duplicates());
        let document = read::document(protocol, &source.json, &mut problems);
        assembly
            .problems
            .extend(problems.into_iter().map(|problem| (index, problem)));
        versions.extend(document.version);
        if let Some(tokenizer) = document.tokenizer {
            match &registry.tokenizer {
                Some(other) if *other != tokenizer => assembly.report(
                    index,
                    Problem::new(
                        "/tokenizer",
                        format!("the tokenizer is `{tokenizer}` here and `{other}` elsewhere"),
                    )
                    .cure("merged registries must use one tokenizer"),
                ),
                _ => registry.tokenizer = Some(tokenizer),
            }
        }
        for schema in document.schemas {
            assembly.add(&mut registry, index, schema);
        }
    }
    registry.version = versions.into_iter().max().unwrap_or(1);
    assembly.check_nested(&mut registry);
    for (schema, problem) in endless(&registry) {
        assembly.report_in(&schema, problem);
    }
    assembly.resolve_defaults(&mut registry);
    assembly.check_errors(&registry);
    assembly.check_failures(&registry);
    if assembly.problems.is_empty() {
        return Ok(registry);
    }
    let mut of_each: Vec<Vec<Problem>> = sources.iter().map(|_| Vec::new()).collect();
    for (index, problem) in assembly.problems {
        of_each[index].push(problem);
    }
    // The problems of each text are sorted, so that a reader can mend them from top to bottom.
    let placed = sources.iter().zip(of_each);
    let placed = placed.flat_map(|(source, problems)| source.place(problems));
    Err(Problems::new(placed.collect()))
}

/// The state while the documents are put together.
#[derive(Default)]
struct Assembly {
    /// Each problem with the index of its document.
    problems: Vec<(usize, Problem)>,
    /// The index of the document that defines a schema, by the schema's name.
    origin: BTreeMap<String, usize>,
}

impl Assembly {
    fn report(&mut self, source: usize, problem: Problem) {
        self.problems.push((source, problem));
    }

    fn report_in(&mut self, schema: &str, problem: Problem) {
        let source = self.origin.get(schema).copied().unwrap_or_default();
        self.report(source, problem);
    }

    /// Adds a schema. Reports a problem if another schema has its name with other content, or has its code. A schema
    /// whose name is taken is not added.
    fn add(&mut self, registry: &mut Registry, source: usize, schema: Schema) {
        let pointer = child("/schemas", &schema.name);
        if let Some(other) = registry.schema_by_name(&schema.name) {
            if !other.means_the_same(&schema) {
                let message = format!(
                    "the schema `{}` is already defined, with other content",
                    schema.name
                );
                let cure = "give one of the two another name and another code";
                self.report(source, Problem::new(pointer, message).cure(cure));
            }
            return;
        }
        if let Some(other) = registry.schema(&schema.code) {
            let message = format!(
                "the code `{}` already stands for the schema `{}`",
                schema.code, other.name
            );
            let problem = Problem::new(child(&pointer, "code"), message);
            self.report(source, problem.cure("give one of the two another code"));
        }
        self.origin.insert(schema.name.clone(), source);
        registry.insert(schema);
    }

    /// Checks that every schema named by a type exists.
    fn check_nested(&mut self, registry: &mut Registry) {
        let codes: BTreeSet<String> = registry.schemas().map(|s| s.code.clone()).collect();
        let named = registry.schemas().map(|s| (s.name.clone(), s.code.clone()));
        let named: BTreeMap<String, String> = named.collect();
        for schema in registry.schemas.iter_mut() {
            for field in &mut schema.fields {
                let Some(code) = field.ty.schema_code().filter(|code| !codes.contains(*code))
                else {
                    continue;
                };
                let pointer = format!("/schemas/{}/types/{}", schema.name, field.name);
                let known = Type::WORDS
                    .iter()
                    .copied()
                    .chain(codes.iter().map(String::as_str));
                let is_early = self.problems.len() < SUGGESTIONS;
                let near = is_early.then(|| nearest(code, known)).flatten();
                let cure = match (named.get(code), near) {
                    (Some(meant), _) => {
                        format!("did you mean `{meant}`, the code of the schema `{code}`?")
                    }
                    (None, Some(near)) => format!("did you mean `{near}`?"),
                    (None, None) => format!(
                        "the types are {}, enum(a,b), [T], {{T}} and the codes of the schemas here",
                        Type::WORDS.join(", "),
                    ),
                };
                let message = format!("`{code}` is neither a type nor the code of a schema");
                let problem = Problem::new(pointer, message).cure(cure);
                // The type becomes `any`, so that the default is not checked against it: one mistake gives one
                // message.
                field.ty = Type::Any;
                let source = self.origin.get(&schema.name).copied().unwrap_or_default();
                self.problems.push((source, problem));
            }
        }
    }

    /// Checks a schema with the code `ER` that declares `fail:error`: it must be able to hold every error of a
    /// session. Otherwise no agent would learn why a frame failed.
    fn check_errors(&mut self, registry: &Registry) {
        let own = registry.schema(ERRORS);
        let Some((own, frame)) = own.and_then(|own| Some((own, own.frame(&ERROR)?))) else {
            return;
        };
        let Some(profile) = profile_of_errors(registry.protocol) else {
            return;
        };
        let pointer = child("/schemas", &own.name);
        let cure = "let `{}` extend the profile (`accp registry show ER` prints it), or give it another code";
        let mut report = |message: String| {
            let problem = Problem::new(&pointer, message).cure(cure.replace("{}", &own.name));
            self.report_in(&own.name, problem);
        };
        for field in &profile.fields {
            let (name, always) = (&field.name, profile.requires(field, &ERROR));
            let misfit = |found: &str| {
                format!(
                    "`{ERRORS}` is the code of errors, and `fail:error` here cannot hold them: `{name}` \
                     has to be of type {} with the key `{}`, {found}",
                    field.ty, field.short
                )
            };
            let by_key = own.field(&field.short).map(|(_, own)| own);
            match by_key.or_else(|| own.field(name).map(|(_, own)| own)) {
                None if always => report(misfit("and there is no such field")),
                Some(other) if key_of(other) != key_of(field) => report(misfit(&format!(
                    "and `{}` is of type {} with the key `{}`",
                    other.name, other.ty, other.short
                ))),
                _ => {}
            }
        }
        let known = |name: &str| profile.required(&ERROR).any(|known| known == name);
        let more = own.required(&ERROR).filter(|name| !known(name));
        let more = more.chain(frame.envelope.iter().map(String::as_str));
        for name in more {
            report(format!(
                "`{ERRORS}` is the code of errors, and `fail:error` here requires `{name}`, which most errors lack"
            ));
        }
    }

    /// Checks that failures can have the schema that a rule names for them.
    fn check_failures(&mut self, registry: &Registry) {
        for schema in registry.schemas() {
            let errors = schema.rules.errors.as_deref();
            // Every session knows the profile of errors.
            let Some(code) = errors.filter(|code| *code != ERRORS) else {
                continue;
            };
            let pointer = format!("/schemas/{}/rules/errors", schema.name);
            let problem = match registry.schema(code) {
                Some(other) if holds_failures(other) => continue,
                Some(_) => {
                    Problem::new(pointer, format!("no failure can have the schema `{code}`")).cure(
                        "name `ER`, or a schema with a frame `fail` and without a rule `errors`",
                    )
                }
                None => {
                    let codes = || registry.schemas().map(|schema| schema.code.as_str());
                    let known = || codes().filter(|code| *code != ERRORS).chain([ERRORS]);
                    let problem = Problem::new(pointer, format!("there is no schema `{code}`"));
                    suggest(problem, code, "codes", known)
                }
            };
            self.report_in(&schema.name, problem);
        }
    }

    /// Computes the wire text of every default. Starts with the schemas whose defaults need no other schema. Goes on
    /// with the schemas that need only finished ones. Stops when no schema is left, or when the rest form a cycle.
    fn resolve_defaults(&mut self, registry: &mut Registry) {
        let mut open: BTreeSet<String> = registry.schemas().map(|s| s.code.clone()).collect();
        loop {
            let ready = open.iter().find(|code| {
                let schema = registry.schema(code);
                schema.is_none_or(|schema| rests_on(registry, schema).is_disjoint(&open))
            });
            let Some(code) = ready.cloned() else {
                break;
            };
            open.remove(&code);
            self.resolve_schema(registry, &code);
        }
        for code in &open {
            let Some(schema) = registry.schema(code) else {
                continue;
            };
            let pointer = format!("/schemas/{}/defaults", schema.name);
            let problem = Problem::new(
                pointer,
                format!(
                    "the defaults of `{}` contain themselves, so they never end",
                    schema.name
                ),
            );
            let name = schema.name.clone();
            self.report_in(&name, problem.cure("leave one of the nested defaults out"));
        }
    }

    fn resolve_schema(&mut self, registry: &mut Registry, code: &str) {
        let Some(at) = registry
            .schemas
            .iter()
            .position(|schema| schema.code == code)
        else {
            return;
        };
        for index in 0..registry.schemas[at].fields.len() {
            let (schema, field) = (&registry.schemas[at], &registry.schemas[at].fields[index]);
            let Some(default) = &field.default else {
                continue;
            };
            let mut wire = String::new();
            match field.ty.write_json(registry, default, &mut wire) {
                Ok(()) => registry.schemas[at].fields[index].default_wire = Some(wire),
                Err(error) => {
                    let pointer = format!(
                        "/schemas/{}/defaults/{}{}",
                        schema.name,
                        field.name,
                        error.pointer()
                    );
                    let message = format!(
                        "the default of `{}` should be {}; found {}",
                        field.name,
                        error.expected(),
                        error.found(),
                    );
                    let cure =
                        format!("write such a value, or change the type of `{}`", field.name);
                    let name = schema.name.clone();
                    self.report_in(&name, Problem::new(pointer, message).cure(cure));
                }
            }
        }
    }
}

/// Returns whether a host lets frames with the intent `fail` have this schema.
fn holds_failures(schema: &Schema) -> bool {
    let is_failure = |frame: &FrameSpec| frame.intent() == "fail";
    let is_listed =
        schema.frames.iter().any(is_failure) || schema.frames.is_empty() && schema.union.is_none();
    is_listed && schema.rules.errors.is_none()
}

fn key_of(field: &Field) -> (&str, &str, &Type) {
    (&field.name, &field.short, &field.ty)
}

/// Returns the built-in error profile of a protocol.
fn profile_of_errors(protocol: &'static Protocol) -> Option<Schema> {
    let texts = protocol.profiles.iter().map(|(_, text)| *text);
    let documents = texts.filter_map(|text| {
        let source = Source::parse(None, text).ok()?;
        Some(read::document(protocol, &source.json, &mut Vec::new()))
    });
    let mut schemas = documents.flat_map(|document| document.schemas);
    schemas.find(|schema| schema.code == ERRORS)
}

/// Returns the codes of the schemas whose defaults must be known before those of `schema`, because the defaults of
/// `schema` hold records of them.
fn rests_on(registry: &Registry, schema: &Schema) -> BTreeSet<String> {
    fn walk(registry: &Registry, ty: &Type, value: &Value, out: &mut BTreeSet<String>) {
        match (ty, value) {
            (Type::List(item), Value::Array(values)) => {
                for value in values {
                    walk(registry, item, value, out);
                }
            }
            (Type::Map(item), Value::Object(members)) => {
                for value in members.values() {
                    walk(registry, item, value, out);
                }
            }
            (Type::Schema(code), Value::Object(members)) => {
                out.insert(code.clone());
                let Some(schema) = registry.schema(code) else {
                    return;
                };
                for (key, value) in members {
                    if let Some((_, field)) = schema.field(key) {
                        walk(registry, &field.ty, value, out);
                    }
                }
            }
            _ => {}
        }
    }
    let mut out = BTreeSet::new();
    for field in &schema.fields {
        if let Some(default) = &field.default {
            walk(registry, &field.ty, default, &mut out);
        }
    }
    out
}
