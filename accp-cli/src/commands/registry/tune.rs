//! `accp registry tune`: the names of a registry for another tokenizer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use accp_learn::{Taken, abbreviations, words};
use accp_registry::{Registry, Type, abbreviate};
use accp_tokens::Bpe;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value as Json, json};

use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{Output, note};
use crate::registries::sound;

/// Choose the codes and abbreviations of a registry anew, for a tokenizer
///
/// A name is what costs fewest tokens in its place; of names that cost the same, the most
/// readable. Nothing else changes. What travels does: `accp registry diff` tells what breaks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp registry tune registry.json --tokenizer cl100k_base -o tuned.json
  accp registry diff registry.json tuned.json")]
pub(crate) struct Args {
    /// The registry: a file or a folder
    #[arg(value_name = "PATH")]
    registry: PathBuf,
    /// Write the registry to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The tokenizer that counts
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Bpe::ENCODINGS))]
    #[arg(default_value = Bpe::ENCODINGS[0])]
    tokenizer: String,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    // The command line takes no other names.
    let counter = Bpe::for_encoding(&args.tokenizer).unwrap_or_default();
    let registry = sound(&args.registry)?;
    let (mut document, changed) = tuned(&registry, counter);
    document["tokenizer"] = json!(args.tokenizer);
    Registry::from_json(&document.to_string()).map_err(|problems| {
        Failure::Input(format!(
            "{}: a default goes by an abbreviation that would change; write its full name\n\
             {problems}",
            args.registry.display()
        ))
    })?;
    let mut out = Output::to(args.output.as_deref())?;
    out.line(format_args!("{document:#}"))?;
    out.finish()?;
    note(match changed {
        1 => "1 name changed".to_owned(),
        count => format!("{count} names changed"),
    });
    Ok(Verdict::Fine)
}

/// The document of the registry under its new names, and how many of them are others.
fn tuned(registry: &Registry, counter: Bpe) -> (Json, usize) {
    let standard = |code: &str| Registry::shared().schema(code).is_some();
    let mut taken = Taken::standard();
    let codes: BTreeMap<&str, String> = registry
        .schemas()
        .map(|schema| {
            // Who redefines a standard profile means its code.
            let code = if standard(&schema.code) {
                schema.code.clone()
            } else {
                taken.code(&words(&schema.name), &counter)
            };
            (schema.code.as_str(), code)
        })
        .collect();
    let mut changed = codes.iter().filter(|(old, new)| *old != new).count();
    let mut document = registry.to_json();
    for schema in registry.schemas() {
        let names: Vec<String> = schema.fields.iter().map(|f| f.name.clone()).collect();
        let shorts = abbreviations(&names, &counter);
        let (mut types, mut abbreviated) = (Map::new(), Map::new());
        for (field, short) in schema.fields.iter().zip(shorts) {
            let ty = renamed(&field.ty, &codes);
            types.insert(field.name.clone(), json!(ty.to_string()));
            changed += usize::from(field.short != short);
            if short != abbreviate(&field.name).unwrap_or(&field.name) {
                abbreviated.insert(field.name.clone(), json!(short));
            }
        }
        let json = &mut document["schemas"][&schema.name];
        json["code"] = json!(codes.get(schema.code.as_str()));
        json["types"] = Json::Object(types);
        json["abbreviations"] = Json::Object(abbreviated);
    }
    (document, changed)
}

/// The type under the new codes.
fn renamed(ty: &Type, codes: &BTreeMap<&str, String>) -> Type {
    match ty {
        Type::List(item) => Type::List(Box::new(renamed(item, codes))),
        Type::Map(entry) => Type::Map(Box::new(renamed(entry, codes))),
        Type::Schema(code) => Type::Schema(codes.get(code.as_str()).unwrap_or(code).clone()),
        other => other.clone(),
    }
}
