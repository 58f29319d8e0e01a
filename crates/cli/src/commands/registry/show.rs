//! `accp registry show`: shows schemas as tables.

use std::fmt;
use std::path::Path;

use accp_registry::{FrameSpec, Registry, Schema};
use serde_json::json;

use crate::registries::{codes, load_valid, meant, unknown};
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{Output, on_one_line};
use accp_console::table::Table;

/// Show the schemas of a registry: fields, keys, types, defaults, variants and frames
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp registry show                 the standard profiles
  accp registry show TA              one of them
  accp registry show ours.json SR    a schema of a registry")]
pub(crate) struct Args {
    /// A registry file or folder, the code of a schema, or both in this order; without a registry,
    /// the standard profiles are shown
    #[arg(value_name = "PATH|CODE", num_args = 0..=2)]
    what: Vec<String>,
    /// json: one schema a line, as in a registry, with its `name`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let (path, code) = match args.what.as_slice() {
        [] => (None, None),
        [code] if Registry::shared().schema(code).is_some() && !Path::new(code).exists() => {
            (None, Some(code))
        }
        [path, rest @ ..] => (Some(Path::new(path)), rest.first()),
    };
    let registry = match path {
        Some(path) if path.exists() || code.is_some() => load_valid(path)?,
        Some(path) => return Err(neither(&path.display().to_string())),
        None => Registry::standard(),
    };
    if let Some(code) = code
        && registry.schema(code).is_none()
    {
        return Err(unknown(code, &registry));
    }
    let document = registry.to_json();
    let mut out = Output::stdout();
    let schemas = registry
        .schemas()
        .filter(|schema| code.is_none_or(|code| schema.code == *code));
    for (index, schema) in schemas.enumerate() {
        match args.format {
            Format::Text => {
                let gap = if index > 0 { "\n" } else { "" };
                out.line(format_args!("{gap}{}", Shown(schema)))?;
            }
            Format::Json => {
                let mut json = json!({ "name": schema.name });
                let all = document["schemas"][&schema.name]
                    .as_object()
                    .into_iter()
                    .flatten();
                for (key, value) in all {
                    json[key] = value.clone();
                }
                out.record(json)?;
            }
        }
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

fn neither(what: &str) -> Failure {
    let registry = Registry::shared();
    let hint = meant(what, registry).map(|schema| format!("; did you mean {}?", schema.code));
    Failure::Misuse(format!(
        "`{what}` is neither a registry file or folder nor a standard profile: {}{}",
        codes(registry).join(", "),
        hint.unwrap_or_default()
    ))
}

/// Writes a schema as text for people.
struct Shown<'s>(&'s Schema);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Schema {
            code,
            name,
            version,
            doc,
            fields,
            frames,
            variants,
            keep,
            ..
        } = self.0;
        write!(f, "{code}  {name}, version {version}")?;
        if let Some(doc) = doc {
            write!(f, "\n    {}", on_one_line(doc))?;
        }
        let heading = ["field", "key", "type", "default", "", ""];
        let mut table = Table::headed(heading).indented(4);
        for field in fields {
            let marks = [
                (field.required, "required"),
                (field.optional, "optional"),
                (field.inline, "inline"),
                (
                    keep.iter().flatten().any(|name| *name == field.name),
                    "keep",
                ),
            ];
            let marks: Vec<_> = marks
                .iter()
                .filter(|(on, _)| *on)
                .map(|(_, word)| *word)
                .collect();
            let aliases = field.aliases.join(", ");
            let aliases = (!aliases.is_empty()).then(|| format!("also {aliases}"));
            let marks = marks.into_iter().map(str::to_owned).chain(aliases);
            let marks: Vec<_> = marks.collect();
            table.row([
                field.name.clone(),
                field.short.clone(),
                field.ty.to_string(),
                field
                    .default
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                marks.join(", "),
                field.doc.clone().unwrap_or_default(),
            ]);
        }
        write!(f, "\n\n{table}")?;
        if keep.as_ref().is_some_and(Vec::is_empty) {
            write!(
                f,
                "\n\n    Nothing of it is worth keeping when it leaves the context."
            )?;
        }
        if !variants.is_empty() {
            write!(f, "\n\n{}", of_variants(self.0))?;
        }
        if !frames.is_empty() {
            write!(f, "\n\n{}", of_frames(frames))?;
        }
        Ok(())
    }
}

/// Returns the table of the variants of a union. Each has the tag besides the fields that the table shows.
fn of_variants(schema: &Schema) -> Table {
    let mut table = Table::headed(["variant", "fields", "requires", ""]).indented(4);
    for variant in &schema.variants {
        let names = schema.fields.iter().map(|field| field.name.as_str());
        let tag = schema.union.as_deref();
        let names = names.filter(|name| tag != Some(*name) && variant.is_about(name));
        let names: Vec<&str> = names.collect();
        table.row([
            variant.head.concat(),
            names.join(", "),
            variant.required.join(", "),
            variant.doc.clone().unwrap_or_default(),
        ]);
    }
    table
}

/// Returns the table of frames. It says which fields a frame is about, if the `fields` of any frame say so, and which field
/// names the agent that a frame is for.
fn of_frames(frames: &[FrameSpec]) -> Table {
    let rows = frames.iter().map(|frame| {
        let fields = match &frame.fields {
            None => String::from("all"),
            Some(names) if names.is_empty() => String::from("none"),
            Some(names) => names.join(", "),
        };
        let to = frame.to.as_ref();
        let to = to.map(|field| format!("For the agent in {field}."));
        let words: Vec<_> = to.into_iter().chain(frame.doc.clone()).collect();
        [
            accp_registry::ACCP.title(&frame.head),
            fields,
            frame.required.join(", "),
            frame.envelope.join(", "),
            words.join(" "),
        ]
    });
    if frames.iter().any(|frame| frame.fields.is_some()) {
        let heading = ["frame", "fields", "requires", "envelope", ""];
        let heading = heading.map(String::from);
        return Table::of(std::iter::once(heading).chain(rows).collect()).indented(4);
    }
    let heading = ["frame", "requires", "envelope", ""].map(String::from);
    let rows = rows.map(|[frame, _, requires, envelope, doc]| [frame, requires, envelope, doc]);
    Table::of(std::iter::once(heading).chain(rows).collect()).indented(4)
}
