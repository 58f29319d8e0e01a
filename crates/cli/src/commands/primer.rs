//! `accp primer`: writes the text that teaches a model to read and write the frames of a registry.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use accp_context::{view::Primer, view::View};
use accp_frame::TokenCounter as _;
use accp_registry::Registry;
use accp_tokens::ModelCounter;
use serde_json::{Map, Value as Json, json};

use super::tokens::CounterArgs;
use crate::registries::{codes, merged, unknown};
use accp_console::choices::Format;
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::{self, Output};

/// Write the text that teaches a model to read and write the frames of a registry
///
/// The text goes to stdout and can stand at the beginning of a prompt as it is. It explains the
/// form of frames that models read, how to write frames, and what a writer has to know of each
/// schema. `@me` in it stands for the name of the agent. The token counts go to stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp primer --schema TA
  accp primer --read
  accp primer --registry ours.json > primer.txt")]
pub(crate) struct Args {
    /// A registry file or folder, whose schemas replace the standard ones in the text; may be
    /// repeated
    #[arg(long, value_name = "PATH")]
    registry: Vec<PathBuf>,
    /// Only this schema and the schemas nested in it; it may be a standard one; may be repeated
    #[arg(long, value_name = "CODE")]
    schema: Vec<String>,
    /// Only what a reader needs: definitions only of the schemas that --schema names, because a
    /// prompt defines other schemas where they are needed
    #[arg(long)]
    read: bool,
    #[command(flatten)]
    counter: CounterArgs,
    /// json: one object with `text`, `encoding`, `substitute` and `tokens`, which holds `total`,
    /// `reading`, `writing` and `schemas` by code
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let own = if args.registry.is_empty() {
        Registry::standard()
    } else {
        merged(&args.registry)?
    };
    let registry = own.clone().with_profiles();
    let codes_shown: Vec<&str> = match args.schema.as_slice() {
        [] if args.read => Vec::new(),
        [] => codes(&own),
        named => named.iter().map(String::as_str).collect(),
    };
    let view = View::new(Arc::new(registry));
    let primer = view.primer(codes_shown.iter().copied());
    let mut primer = primer.ok_or_else(|| {
        let missing = codes_shown
            .iter()
            .find(|code| view.registry().schema(code).is_none());
        unknown(missing.copied().unwrap_or_default(), view.registry())
    })?;
    if args.read {
        primer = primer.for_reading();
    }
    let counter = args.counter.counter()?;
    match args.format {
        Format::Text => {
            Output::print(primer.to_string().as_bytes())?;
            output::note(costs(&primer, &counter));
        }
        Format::Json => Output::print_record(to_json(&primer, &counter))?,
    }
    Ok(Verdict::Fine)
}

/// Counts the tokens of the whole primer, of its two parts, and of each schema.
fn parts(primer: &Primer, counter: &ModelCounter) -> ([usize; 3], Vec<(String, usize)>) {
    let count = |text: &str| counter.counter.count(text);
    let schemas = primer.schemas.iter();
    let schemas = schemas.map(|lesson| (lesson.code.clone(), count(&lesson.to_string())));
    // The total is counted on the whole text, because a token may span two parts.
    let total = count(&primer.to_string());
    let parts = [total, count(primer.reading), count(&primer.writing)];
    (parts, schemas.collect())
}

/// Writes the counts as `136 tokens of o200k_base: reading 28, writing 64, TA 44`.
fn costs(primer: &Primer, counter: &ModelCounter) -> String {
    let ([total, reading, writing], schemas) = parts(primer, counter);
    let mut costs = format!("{total} tokens of {counter}: reading {reading}");
    if writing > 0 {
        let _ = write!(costs, ", writing {writing}");
    }
    for (code, tokens) in schemas {
        let _ = write!(costs, ", {code} {tokens}");
    }
    costs
}

fn to_json(primer: &Primer, counter: &ModelCounter) -> Json {
    let ([total, reading, writing], schemas) = parts(primer, counter);
    let schemas: Map<_, _> = schemas
        .into_iter()
        .map(|(code, tokens)| (code, json!(tokens)))
        .collect();
    json!({
        "text": primer.to_string(),
        "encoding": counter.counter.name(),
        "substitute": !counter.exact,
        "tokens": { "total": total, "reading": reading, "writing": writing, "schemas": schemas },
    })
}
