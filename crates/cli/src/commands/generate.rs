//! `accp generate`: generates Rust from a registry or from workflows of AACP, or the tools of a model.

use std::path::{Path, PathBuf};
use std::{env, io};

use accp_build::{Builder, Error};
use accp_registry::export::{Export, ExportError, Options, ToolForm};
use accp_registry::{Problem, Registry, registry_place};

use super::aacp::structs;
use super::grammar::export;
use crate::registries;
use crate::words::quoted;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output, SHARED};

/// Generate Rust types from a registry, as a build script would, or tool definitions for a model
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp generate registry -o src/frames.rs
  accp generate registry -o src/frames.rs --check
  accp generate registry --owned --type-attribute '.=#[derive(serde::Serialize)]'
  accp generate registry --field-type '.deadline=crate::Day' --extern-path 'TA=::frames'
  accp generate --standard
  accp generate --aacp -o src/workflows.rs
  accp generate registry --tools openai
  accp generate registry --tools openai --frame req:schedule")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Args {
    /// The registry: a file, or a folder whose *.json and *.jsonc files are all read. With --aacp: the file of a
    /// workflow, instead of the four workflows of the draft
    #[arg(required_unless_present_any = ["standard", "aacp"])]
    registry: Option<PathBuf>,
    /// Generate the workflows of AACP instead: a struct for each hop, with its packet
    #[arg(long, conflicts_with_all = ["standard", "no_std", "schemaless", "any_frame", "type_attribute", "field_attribute", "tools"])]
    aacp: bool,
    /// With --aacp: a JSON file with `domains` and `keys` that are known besides those of the draft; may
    /// be repeated
    #[arg(long, value_name = "FILE", requires = "aacp", conflicts_with_all = ["standard", "no_std", "schemaless", "any_frame", "type_attribute", "field_attribute", "tools"])]
    vocabulary: Vec<PathBuf>,
    /// Also generate the standard profiles
    #[arg(long)]
    standard: bool,
    /// The Rust path of the runtime [default: `accp_runtime`, or `accp_aacp` with --aacp]
    #[arg(long, value_name = "PATH")]
    runtime: Option<String>,
    /// Generate code that uses `alloc` instead of `std`
    #[arg(long)]
    no_std: bool,
    /// Generate frames that do not name a schema. A reader of such a frame does not know the types of its fields
    #[arg(long, conflicts_with = "standard")]
    schemaless: bool,
    /// Generate types that own their texts and have no lifetime: `String` instead of `Cow<str>`
    #[arg(long, conflicts_with = "tools")]
    owned: bool,
    /// Give each enum one more variant, for values that the registry does not list
    #[arg(long, conflicts_with = "tools")]
    open_enums: bool,
    /// The name of the enum over all frames [default: `AnyFrame`]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tools", "schemaless"])]
    any_frame: Option<String>,
    /// Add an attribute to types. PATH is `.` for all types, the name of a type, or a schema for its types; may be
    /// repeated
    #[arg(long, value_name = "PATH=ATTRIBUTE", value_parser = attribute, conflicts_with = "tools")]
    type_attribute: Vec<(String, String)>,
    /// Add an attribute to fields. PATH is `.` for all fields, a type or a schema for its fields, TYPE.FIELD for one
    /// field, or .FIELD for all fields of this name; may be repeated
    #[arg(long, value_name = "PATH=ATTRIBUTE", value_parser = attribute, conflicts_with = "tools")]
    field_attribute: Vec<(String, String)>,
    /// Use your own type for fields. PATH is TYPE.FIELD for one field, or .FIELD for all fields of this name; may be
    /// repeated. If several name a field, the last one counts
    #[arg(long, value_name = "PATH=TYPE", value_parser = attribute, conflicts_with_all = ["tools", "aacp"])]
    field_type: Vec<(String, String)>,
    /// Replace a generated type by your own type; may be repeated
    #[arg(long, value_name = "PATH=TYPE", value_parser = attribute, conflicts_with_all = ["tools", "aacp"])]
    replace: Vec<(String, String)>,
    /// Take a type, or all types of a schema, from a crate that generates them from the same registry; may be
    /// repeated
    #[arg(long, value_name = "PATH=RUST", value_parser = attribute, conflicts_with_all = ["tools", "aacp"])]
    extern_path: Vec<(String, String)>,
    /// The path of the registry in the generated text, relative to the folder of the crate that compiles the text. By
    /// default, that crate is the nearest one around the output
    #[arg(long, value_name = "PATH", requires = "registry", conflicts_with_all = ["tools", "aacp"])]
    registry_path: Option<PathBuf>,
    /// Generate tool definitions instead, for the API of a model provider: a tool for each request and query
    #[arg(long, value_enum, value_name = "API", conflicts_with_all = ["no_std", "schemaless"])]
    tools: Option<Api>,
    /// A frame to make a tool for, by intent and operation, such as req:schedule; may be repeated. All requests and
    /// queries by default
    #[arg(long, value_name = "INTENT:OPERATION", requires = "tools")]
    frame: Vec<String>,
    /// With --tools: a tool for every frame, answers included
    #[arg(long, requires = "tools", conflicts_with = "frame")]
    all_frames: bool,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write nothing; fail if the file differs from what the registry generates
    #[arg(long, requires = "output")]
    check: bool,
}

/// An API that takes tool definitions.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Api {
    /// OpenAI's functions, strict
    Openai,
    /// Anthropic's tools
    Anthropic,
    /// The tools of a Model Context Protocol server
    Mcp,
}

impl Args {
    /// Returns the path of the registry relative to the crate that compiles the output; `None` if this crate can use
    /// the path that the user gave.
    fn registry_path(&self) -> Option<PathBuf> {
        if let Some(path) = &self.registry_path {
            return Some(path.clone());
        }
        let (registry, output) = (self.registry.as_ref()?, self.output.as_ref()?);
        // Only derives with a schema read the path. All other output does not contain it.
        if registry.is_absolute() || self.schemaless || self.aacp || self.tools.is_some() {
            return None;
        }
        let here = env::current_dir().ok()?.canonicalize().ok()?;
        let parent = output.parent().filter(|parent| *parent != Path::new(""));
        let folder = parent.map_or(Ok(here.clone()), |parent| here.join(parent).canonicalize());
        let folder = folder.ok()?;
        let is_crate = |folder: &&Path| folder.join("Cargo.toml").is_file();
        let own = folder.ancestors().find(is_crate)?;
        if own == here {
            return None;
        }
        let registry = placed(&here.join(registry)).ok()?;
        let common = own
            .ancestors()
            .find(|folder| registry.starts_with(folder))?;
        let up = own.strip_prefix(common).ok()?.components().map(|_| "..");
        Some(
            up.collect::<PathBuf>()
                .join(registry.strip_prefix(common).ok()?),
        )
    }
}

/// Returns a path with all links among its folders resolved. If the last part is a link, it stays, because the crate
/// contains this link, too.
fn placed(path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(folder.canonicalize()?.join(name)),
        _ => path.canonicalize(),
    }
}

/// Splits `PATH=TEXT` into the path and the text.
fn attribute(text: &str) -> Result<(String, String), String> {
    let Some((path, attribute)) = text.split_once('=') else {
        return Err(
            "expected a path and what goes there, as in '.=#[derive(Eq)]' and '.amount=crate::Money'".to_owned(),
        );
    };
    Ok((path.to_owned(), attribute.to_owned()))
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    if !args.check {
        let sources = args.registry.iter().chain(&args.vocabulary);
        output::distinct(sources.chain(&args.output).map(PathBuf::as_path))?;
    }
    let runtime = args.runtime.as_deref();
    let text = match args.tools {
        Some(api) => tools(args, api)?,
        None if args.aacp => {
            let path = args.registry.as_deref();
            structs::rust(path, &args.vocabulary, runtime, args.owned)?
        }
        None => rust(args)?,
    };
    match &args.output {
        Some(path) if args.check => {
            accp_build::check_with(path, &text, &writing())
                .map_err(|stale| Failure::Input(stale.to_string()))?;
        }
        path => Output::write(path.as_deref(), SHARED, text.as_bytes())?,
    }
    Ok(Verdict::Fine)
}

/// Returns the command that writes the file that is being checked: the words of this command without `--check`.
fn writing() -> String {
    let words = env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let words = words.filter(|word| word != "--check");
    let words: Vec<String> = words.map(|word| quoted(&word)).collect();
    format!("accp {}", words.join(" "))
}

/// Returns the tool definitions.
fn tools(args: &Args, api: Api) -> Result<String, Failure> {
    let mut registry = registries::merged(args.registry.as_slice())?;
    if args.standard {
        registry = registry.with_profiles();
    }
    let mut frames = args.frame.clone();
    if frames.is_empty() && !args.all_frames {
        frames = asked(&registry)?;
    }
    let options = Options {
        frames,
        ..Options::default()
    };
    let failure = |error| export::failure(&error);
    let export = Export::of(&registry, &options).map_err(failure)?;
    let path = args.registry.as_deref();
    export
        .check_tools()
        .map_err(|error| long_name(path, &registry, &error))?;
    Ok(export.tools(match api {
        Api::Openai => ToolForm::OpenAi,
        Api::Anthropic => ToolForm::Anthropic,
        Api::Mcp => ToolForm::Mcp,
    }))
}

/// Makes the failure for a tool whose name is too long, with the place of its operation in the registry at `path`.
fn long_name(path: Option<&Path>, registry: &Registry, error: &ExportError) -> Failure {
    let placed = || {
        let ExportError::LongToolName { frame, code, .. } = error else {
            return None;
        };
        let schema = registry.schema(code)?;
        let protocol = registry.protocol();
        let mut titles = schema.frames.iter().map(|spec| protocol.title(&spec.head));
        let index = titles.position(|title| title == *frame)?;
        let pointer = format!("/schemas/{}/frames/{index}/operation", schema.name);
        let (file, position) = registry_place(path?, &pointer)?;
        let mut problem = Problem::new(pointer, error.to_string());
        problem.file = Some(file.display().to_string());
        problem.position = Some(position);
        Some(Failure::Input(problem.to_string()))
    };
    placed().unwrap_or_else(|| export::failure(error))
}

/// Returns the requests and queries of the registry. A model calls these as tools, and gets the other frames as
/// answers.
fn asked(registry: &Registry) -> Result<Vec<String>, Failure> {
    let specs = || registry.schemas().flat_map(|schema| &schema.frames);
    let asks = specs().filter(|spec| matches!(spec.intent(), "req" | "qry"));
    let protocol = registry.protocol();
    let asked: Vec<String> = asks.map(|spec| protocol.title(&spec.head)).collect();
    if asked.is_empty() && specs().next().is_some() {
        let message = "the registry has no request and no query; choose frames with --frame, or take all with --all-frames";
        return Err(Failure::Misuse(message.into()));
    }
    Ok(asked)
}

/// Returns the Rust source.
fn rust(args: &Args) -> Result<String, Failure> {
    let mut builder = Builder::new()
        .standard_profiles(args.standard)
        .runtime(args.runtime.as_deref().unwrap_or("accp_runtime"))
        .no_std(args.no_std)
        .schemaless(args.schemaless)
        .owned(args.owned)
        .open_enums(args.open_enums);
    if let Some(name) = &args.any_frame {
        builder = builder.any_frame(name);
    }
    for (path, attribute) in &args.type_attribute {
        builder = builder.type_attribute(path, attribute);
    }
    for (path, attribute) in &args.field_attribute {
        builder = builder.field_attribute(path, attribute);
    }
    for (path, rust) in &args.field_type {
        builder = builder.field_type(path, rust);
    }
    for (path, rust) in &args.replace {
        builder = builder.replace(path, rust);
    }
    for (path, rust) in &args.extern_path {
        builder = builder.extern_path(path, rust);
    }
    if let Some(path) = args.registry_path() {
        builder = builder.registry_path(path);
    }
    if let Some(path) = &args.registry {
        registries::check_readable(path)?;
        builder = builder.registry(path);
    }
    let failure = |error| match error {
        Error::Registry(_) | Error::Names(_) => Failure::Input(format!("{error}")),
        _ => Failure::Misuse(format!("{error}")),
    };
    registries::note_replaced(builder.replaced().map_err(failure)?);
    builder.generate().map_err(failure)
}
