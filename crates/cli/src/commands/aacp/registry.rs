//! `accp aacp registry`: shows and changes the instructions in a registry.

use std::path::PathBuf;

use accp_aacp::fallback::{
    Entry, EntryKey, Instruction, RegistryError, RegistryErrorKind, SqliteRegistry,
};
use accp_aacp::{Packet, Vocabulary};
use accp_registry::Hash;

use super::vocabulary::{VocabularyArgs, faulty, read_up_to};
use crate::words::printable;
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// The most bytes of a document for an import. An export may be larger; a user can split its `entries` into several
/// documents.
const DOCUMENT_BYTES: u64 = 256 << 20;

/// Show and change the instructions that a registry holds
///
/// An entry is an instruction in English with its task and its fields. The receiver of the result, the
/// priority and the version come from the caller.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp registry list --registry r.aacp
  accp aacp registry add --english \"Ask for the badge list\" \\
      --packet \"FETCH|IT|return:IT-Agent|p:2|aacp:1.1|res:badge_list\" --registry r.aacp
  accp aacp registry export --registry r.aacp > entries.json
  accp aacp registry import entries.json --registry other.aacp")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    /// The file of the registry
    #[arg(long, value_name = "FILE", global = true)]
    registry: Option<PathBuf>,
    #[command(flatten)]
    vocabulary: VocabularyArgs,
    /// json: one object an entry
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show all entries
    List,
    /// Show one entry with its fields and keywords
    Show(KeyArgs),
    /// Add an entry: an instruction, with the task, the domain and the fields of a packet
    Add {
        /// The instruction
        #[arg(long, value_name = "TEXT")]
        english: String,
        /// The packet
        #[arg(long, value_name = "PACKET")]
        packet: String,
        /// The domain, if it is not that of the packet
        #[arg(long, value_name = "DOM")]
        dom: Option<String>,
    },
    /// Remove an entry
    Remove(KeyArgs),
    /// Write all entries as one JSON document to stdout
    Export,
    /// Add the entries of a JSON document: all of them, or none if there is a mistake
    Import {
        /// The document
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
struct KeyArgs {
    /// The id of the instruction, or its first 8 digits or more
    #[arg(value_name = "ID")]
    id: String,
    /// The domain, if several domains have the instruction
    #[arg(long, value_name = "DOM")]
    dom: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let vocabulary = args.vocabulary.load()?;
    match &args.action {
        Action::List => list(args),
        Action::Show(key) => show(args, key),
        Action::Add {
            english,
            packet,
            dom,
        } => add(args, [english, packet], dom.as_deref(), &vocabulary),
        Action::Remove(key) => remove(args, key),
        Action::Export => export(args),
        Action::Import { file } => {
            let text = read_up_to(file, DOCUMENT_BYTES)?;
            let entries = Entry::from_document(&file.display().to_string(), &text, &vocabulary);
            store(args, &entries.map_err(|problems| faulty(&problems))?)
        }
    }
}

/// Opens the file of the registry. A missing file is created if `creates` is set, and otherwise is a failure.
fn open(args: &Args, creates: bool) -> Result<SqliteRegistry, Failure> {
    let Some(path) = &args.registry else {
        let text = "name the file of the registry with --registry FILE";
        return Err(Failure::Misuse(text.to_owned()));
    };
    let opened = if creates {
        SqliteRegistry::open(path)
    } else {
        SqliteRegistry::open_existing(path)
    };
    opened.map_err(|error| failed(&error))
}

fn failed(error: &RegistryError) -> Failure {
    if error.kind == RegistryErrorKind::Conflict {
        Failure::Input(error.to_string())
    } else {
        Failure::Misuse(error.to_string())
    }
}

/// The key of an entry, and the entry, or the error that reading it gave.
type Found = (EntryKey, Result<Entry, RegistryError>);

fn all(args: &Args) -> Result<Vec<Found>, Failure> {
    let mut entries = Vec::new();
    let mut registry = open(args, false)?;
    registry
        .each(|key, entry| entries.push((key, entry)))
        .map_err(|error| failed(&error))?;
    Ok(entries)
}

/// Reports the damaged entries. Returns the other entries, and the outcome of the command.
fn sound(entries: Vec<Found>) -> (Vec<Entry>, Outcome) {
    let mut end = Ok(Verdict::Fine);
    let mut found = Vec::new();
    for (_, entry) in entries {
        match entry {
            Ok(entry) => found.push(entry),
            Err(error) => {
                output::error(&error);
                let text =
                    "damaged entries were left out; `accp aacp registry remove` takes them out";
                end = Err(Failure::Misuse(text.to_owned()));
            }
        }
    }
    (found, end)
}

fn list(args: &Args) -> Outcome {
    let (entries, end) = sound(all(args)?);
    let mut out = Output::stdout();
    for entry in &entries {
        match args.format {
            Format::Text => {
                let (id, english) = (entry.key().id, entry.instruction().text());
                let (dom, seen) = (entry.dom(), entry.times_seen);
                out.line(format_args!("{id} {dom} {seen} {}", printable(english)))?;
            }
            Format::Json => out.record(entry.to_json())?,
        }
    }
    out.finish()?;
    end
}

fn show(args: &Args, key: &KeyArgs) -> Outcome {
    let (_, entry) = find(all(args)?, key)?;
    let entry = entry.map_err(|error| failed(&error))?;
    let mut out = Output::stdout();
    match args.format {
        Format::Json => out.record(entry.to_json())?,
        Format::Text => {
            out.line(printable(entry.instruction().text()))?;
            out.line(format_args!("  id: {}", entry.key().id))?;
            out.line(format_args!("  dom: {}", entry.dom()))?;
            out.line(format_args!("  task: {}", entry.task()))?;
            for (key, value) in entry.fields() {
                out.line(format_args!("  {key}: {value}"))?;
            }
            out.line(format_args!("  times seen: {}", entry.times_seen))?;
            out.line(format_args!(
                "  keywords: {}",
                printable(&entry.keywords().join(", "))
            ))?;
        }
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

/// Finds the only entry whose id begins with the id that the user gave.
fn find(entries: Vec<Found>, key: &KeyArgs) -> Result<Found, Failure> {
    let id = key.id.to_ascii_lowercase();
    if id.len() < 8 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let text = "an id is 64 hexadecimal digits, of which 8 or more are enough";
        return Err(Failure::Misuse(text.to_owned()));
    }
    let mut found = entries.into_iter().filter(|(found, _)| {
        let is_of = key.dom.as_deref().is_none_or(|dom| dom == found.dom);
        is_of && found.id.to_string().starts_with(&id)
    });
    match (found.next(), found.next()) {
        (Some(entry), None) => Ok(entry),
        (None, _) => Err(Failure::Input(
            "there is no such entry; `accp aacp registry list` shows what there is".to_owned(),
        )),
        (Some(_), Some(_)) => Err(Failure::Misuse(
            "several entries have this id; name the domain with --dom, or give more digits"
                .to_owned(),
        )),
    }
}

fn add(
    args: &Args,
    [english, packet]: [&str; 2],
    dom: Option<&str>,
    vocabulary: &Vocabulary,
) -> Outcome {
    let input = |error: String| Failure::Input(error);
    let instruction = Instruction::new(english).map_err(|error| input(error.to_string()))?;
    let packet = Packet::parse(packet).map_err(|error| input(error.to_string()))?;
    let dom = dom.unwrap_or(packet.dom());
    let entry = Entry::new(instruction, dom, &packet, vocabulary);
    store(args, &[entry.map_err(|error| input(error.to_string()))?])
}

fn store(args: &Args, entries: &[Entry]) -> Outcome {
    let added = open(args, true)?.add(entries);
    let added = added.map_err(|error| failed(&error))?;
    let mut out = Output::stdout();
    let kept = entries.len() - added;
    match args.format {
        Format::Text => output::note(format_args!("{added} added, {kept} there already")),
        Format::Json => out.record(serde_json::json!({
            "added": added, "kept": kept,
            "ids": entries.iter().map(|entry| entry.key().id.to_string()).collect::<Vec<_>>(),
        }))?,
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

fn remove(args: &Args, key: &KeyArgs) -> Outcome {
    let (found, _) = find(all(args)?, key)?;
    let id: Hash = found.id;
    let is_gone = open(args, false)?
        .remove(&found)
        .map_err(|error| failed(&error))?;
    if args.format == Format::Json {
        Output::print_record(
            serde_json::json!({ "removed": is_gone, "id": id.to_string(), "dom": found.dom }),
        )?;
    }
    Ok(Verdict::Fine)
}

fn export(args: &Args) -> Outcome {
    let (entries, end) = sound(all(args)?);
    let document = Entry::to_document(&entries);
    let text = serde_json::to_string_pretty(&document);
    let text = text.map_err(|error| Failure::Misuse(error.to_string()))?;
    Output::print_record(text)?;
    end
}
