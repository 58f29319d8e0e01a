//! `accp-lab bench`: replays recorded conversations under policies.

mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accp_context::view::View;
use accp_eval::{
    BASE, Evaluation, FORMS, FROM_FILE, Inside, Matching, Prices, Profile, Report, Rival,
    RivalError, Rivals, Transcript, Transcripts, default_plans, plan_at, rules,
};
use accp_memory::policy::{NamedPolicy, Segment};
use accp_recordings::read_whole_json;
use accp_tokens::{Bpe, TokenCounter as _};
use clap::builder::PossibleValuesParser;
use serde_json::Value as Json;

use accp_console::choices::{Format, Half};
use accp_console::conversations::{FormatIn, at, each_conversation, each_document};
use accp_console::input::Input;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{Output, PRIVATE};
use accp_console::registries::RegistryArgs;

/// The name of the default prices, which are not those of a provider.
const USUAL: &str = "usual";
/// The bytes of conversations to measure at a time.
const BATCH: usize = 8 << 20;

/// Replay recorded conversations under context policies: net cost, and what prompts still say
///
/// Before each message of an agent (role assistant or agent) each policy makes the agent's prompt.
/// The message then shows what it needed from the prompt. No model is asked. The rules stand below.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = examples())]
pub(crate) struct Args {
    /// Files of recorded conversations, as `accp convert` reads them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    format_in: FormatIn,

    /// Measure this policy in addition to the base; may be repeated. If no policy is named, or only
    /// `file:PATH`, the usual ones of the policies below are measured
    #[arg(long = "policy", value_name = "POLICY")]
    policies: Vec<String>,

    /// A JSON file of tool schemas that are part of each prompt, for one corpus or for all. Without
    /// it, the prompts have the tool schemas that each conversation records
    #[arg(long, value_name = "[CORPUS=]FILE")]
    tools: Vec<String>,

    #[command(flatten)]
    registry: RegistryArgs,

    /// Measure one half of the conversations only, by SHA-256 of their ids
    #[arg(long, value_enum, value_name = "HALF")]
    split: Option<Half>,

    /// The prices for the figures of the report: the name of a profile below, or a JSON file with a profile
    #[arg(long, value_name = "NAME|FILE", default_value = USUAL)]
    prices: String,

    /// The price of a token that is in the provider's cache, instead of the profile's
    #[arg(long, value_name = "PRICE", value_parser = price)]
    cached_price: Option<f64>,

    /// The price of any other token, instead of the profile's
    #[arg(long, value_name = "PRICE", value_parser = price)]
    fresh_price: Option<f64>,

    /// The price of a token that the model writes, instead of the profile's
    #[arg(long, value_name = "PRICE", value_parser = price)]
    output_price: Option<f64>,

    /// How many tokens a common beginning needs for the provider to keep it, instead of the profile's
    #[arg(long, value_name = "TOKENS")]
    min_prefix: Option<u64>,

    /// The most tokens that an agent fetches around a place
    #[arg(long, value_name = "TOKENS", default_value_t = 800)]
    window: usize,

    /// The window of the model. For each policy, count also the prompts that are larger, those that
    /// a provider refuses as a list of messages, and those with the first message of the user
    /// verbatim. Without it, this is the window of the policies that have one, if they all have the
    /// same
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    model_window: Option<u64>,

    /// Treat recordings without a clock as if a pause of two hours came before each MESSAGES messages.
    /// No cache outlives such a pause, so a policy may then change what it sent at no cost
    #[arg(long, value_name = "MESSAGES", value_parser = clap::value_parser!(u16).range(1..))]
    pause: Option<u16>,

    /// Also print further columns
    #[arg(long)]
    all: bool,

    /// Also print the net costs with other sizes of fetched windows, other prices of output and other
    /// shortest beginnings, and the place of a policy where it differs
    #[arg(long)]
    sensitivity: bool,

    /// The encoding to count tokens in
    #[arg(long, value_parser = PossibleValuesParser::new(Bpe::ENCODINGS))]
    #[arg(default_value = Bpe::ENCODINGS[0])]
    encoding: String,

    /// Write every prompt of every policy to this file, one JSON object a line with `corpus`,
    /// `conversation`, `turn`, `agent`, `cache`, `policy` and `segments` (`kind`, `text`,
    /// `message`), every need as a line with `need`, `text`, `source`, `real` and `fate`, and every
    /// message that the policy can give back at the end as a line with `message` and `original`.
    /// A prompt also has what was counted: `tokens`, `begins` (tokens of the longest common
    /// beginning), `carried` (tokens of windows fetched in earlier turns), `sources`, `windows` (the
    /// tokens of those) and `lost` (sources) of this turn. The originals of the policy `list` are all
    /// messages, so the file is enough to recount the figures
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,

    /// Write the report to this file, as a page with charts and with the prompts of the first two
    /// conversations of each file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Show the prompts of this conversation in the page, instead of the first two; may be repeated
    #[arg(long, value_name = "ID", requires = "html")]
    show: Vec<String>,

    /// json: one object a line for each corpus and policy, where `tokens` is the sum over all prompts
    /// and `tokens_share` its share of the base's
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Returns the forms of all names of policies.
fn forms() -> String {
    format!("{FORMS}\n{}", accp_memory::policies::ctx::FORM)
}

fn examples() -> String {
    let (forms, rules) = (indented(&forms()), rules());
    let profiles = Profile::all().iter().map(profile);
    let profiles = profiles.collect::<Vec<_>>().join("\n");
    format!(
        "Policies:\n{forms}\n\nProfiles of prices, each relative to a token of input:\n{profiles}\n{FILE}\n\n\
         Rules:\n{rules}\n\n{EXAMPLES}"
    )
}

/// Returns a profile with its sources, as lines.
fn profile(profile: &Profile) -> String {
    let Profile {
        name,
        of,
        prices,
        sources,
    } = profile;
    let found = match prices.matching {
        Matching::Prefix(step) => format!("longest beginning in steps of {step}"),
        Matching::Marks(back) => format!("marks, {back} messages back"),
    };
    let life = prices
        .seconds
        .map_or("no end".to_owned(), |seconds| format!("{seconds} s"));
    let tier = prices.tier.map_or(String::new(), |tier| {
        format!(
            ", above {} tokens x {} and x {}",
            tier.above, tier.input, tier.output
        )
    });
    let about = format!(
        "  {name}: {of}\n      read {}, write {}, output {}, {} tokens or more, {found}, {life}{tier}",
        prices.cached, prices.input, prices.output, prices.minimum
    );
    let sources = sources.iter().map(|source| format!("      {source}"));
    std::iter::once(about)
        .chain(sources)
        .collect::<Vec<_>>()
        .join("\n")
}

const FILE: &str = r#"  A file is such as {"name":"ours","read":0.25,"write":1,"output":4,"minimum":1024,"seconds":600,
      "matching":{"prefix":128},"tier":{"above":200000,"input":2,"output":1.5}}; for marks `"matching":{"marks":20}`"#;

const EXAMPLES: &str = "\
Examples:
  accp-lab bench chats.jsonl
  accp-lab bench chats.jsonl --policy last:20 --policy clear-tool-uses:30000,3 --prices claude
  accp-lab bench chats.jsonl --tools chats=schemas.json --dump prompts.jsonl";

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let counter = Bpe::for_encoding(&args.encoding).unwrap_or_default();
    let view = View::new(Arc::new(args.registry.load()?));
    let names = names(&args.files);
    let prices = args.prices()?;
    let evaluation = Evaluation::new(args.plans()?, view, counter)
        .at(prices)
        .inside(args.inside())
        .against(args.rivals(&names)?)
        .showing(args.html.as_ref().map(|_| args.show.clone()));
    let tools = args.read_tools()?;
    let dump = args.dump.as_deref();
    let mut dump = dump
        .map(|path| Output::to(Some(path), PRIVATE))
        .transpose()?;
    let mut corpora = Vec::new();
    for (path, name) in args.files.iter().zip(names) {
        let tools = tools.get(&Some(name.clone())).or_else(|| tools.get(&None));
        let mut corpus = evaluation.corpus(&name);
        let dumps = dump.is_some();
        let mut write = |lines: &str| {
            let mut dump = dump.iter_mut();
            let written = dump.try_for_each(|dump| dump.data(lines.as_bytes()));
            written.map_err(Stopped)
        };
        let all = each_batch(path, args, tools, |transcripts| {
            let measured = evaluation.measure_more(&mut corpus, transcripts, dumps, &mut write);
            measured.map_err(|Stopped(failure)| failure)
        })?;
        evaluation
            .check(&name, &all)
            .map_err(|error| unfit(&error))?;
        corpora.push(corpus);
    }
    let report = Report {
        prices,
        encoding: counter.name().to_owned(),
        window: args.inside().map(|inside| inside.window),
        corpora,
    };
    if let Some(dump) = dump {
        dump.finish()?;
    }
    if let Some(id) = args.show.iter().find(|id| !report.shows(id)) {
        let cure = "give the `id` that the file has, or `conversation N`";
        let none = format!("--show: found no conversation `{id}`; {cure}");
        return Err(Failure::Input(none));
    }
    if let Some(path) = &args.html {
        let mut html = Output::to(Some(path), PRIVATE)?;
        html.data(report.to_html().as_bytes())?;
        html.finish()?;
    }
    let mut out = Output::stdout();
    match args.format {
        Format::Text => out.line(table::text(&report, args.all, args.sensitivity))?,
        Format::Json => report
            .to_json()
            .iter()
            .try_for_each(|row| out.record(row))?,
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

/// The reason why a measurement stopped.
struct Stopped(Failure);

impl From<RivalError> for Stopped {
    fn from(error: RivalError) -> Self {
        Self(unfit(&error))
    }
}

/// Makes the failure for a dump that does not fit the conversations.
fn unfit(error: &RivalError) -> Failure {
    Failure::Input(error.to_string())
}

impl Args {
    /// Returns the policies to measure, the base first.
    fn plans(&self) -> Result<Vec<NamedPolicy>, Failure> {
        let prices = self.prices_of_lists()?;
        let named = self.policies.iter().map(String::as_str);
        let mut named = named.filter(|name| !name.starts_with(FROM_FILE)).peekable();
        if named.peek().is_none() {
            let plans = default_plans().into_iter();
            let plans = plans.map(|default| plan_at(&default.name, prices).unwrap_or(default));
            return Ok(plans.collect());
        }
        let others = named.filter(|name| *name != BASE);
        let plans = std::iter::once(BASE).chain(others).map(|name| {
            plan_at(name, prices)
                .or_else(|| accp_memory::policies::ctx::plan(name))
                .ok_or_else(|| {
                    let forms = indented(&forms());
                    Failure::Misuse(format!(
                        "expected a policy, found `{name}`; there are\n{forms}"
                    ))
                })
        });
        plans.collect()
    }

    /// Reads the policies of dumps.
    fn rivals(&self, corpora: &[String]) -> Result<Vec<Rival>, Failure> {
        let mut rivals = Rivals::default();
        for path in self
            .policies
            .iter()
            .filter_map(|name| name.strip_prefix(FROM_FILE))
        {
            let mut is_empty = true;
            let path = Path::new(path);
            each_document(Input::open(Some(path))?, path, |name, document| {
                is_empty = false;
                let added = rivals.add(&document.json, name, document.line);
                added.map_err(|error| at(name, document.line, error))
            })?;
            if is_empty {
                return Err(Failure::Input(format!(
                    "{}: expected prompts as `accp-lab bench --dump` writes them, found none",
                    path.display()
                )));
            }
        }
        rivals.into_rivals(corpora).map_err(|error| unfit(&error))
    }

    /// Returns the window to measure prompts in: the given window, or else that of the policies, if all policies
    /// with a window have the same one.
    fn inside(&self) -> Option<Inside> {
        let named = self.policies.iter();
        let mut windows: Vec<u64> = named.filter_map(|name| accp_eval::window(name)).collect();
        windows.dedup();
        let only = windows.first().filter(|_| windows.len() == 1);
        let window = self.model_window.or(only.copied())?;
        Some(Inside { window, refuses })
    }

    /// Returns the prices that lists are made for: the named prices, or those of most caches if none are named.
    fn prices_of_lists(&self) -> Result<accp_memory::Prices, Failure> {
        let prices = self.prices()?;
        if self.prices == USUAL {
            return Ok(accp_memory::Prices::default().with_seconds(prices.seconds));
        }
        let own = accp_memory::Prices::new(
            prices.cached / prices.uncached,
            prices.input / prices.uncached,
        );
        let own = own.map_err(|error| Failure::Misuse(error.to_string()))?;
        Ok(own
            .with_seconds(prices.seconds)
            .with_tier(prices.tier.map(|tier| tier.above))
            .with_minimum(prices.minimum)
            .with_step(match prices.matching {
                Matching::Prefix(step) => step,
                Matching::Marks(_) => 1,
            }))
    }

    /// Returns the prices for the figures of the report.
    fn prices(&self) -> Result<Prices, Failure> {
        let profile = match Profile::named(&self.prices) {
            Some(profile) => profile.prices,
            None => self.read_prices()?,
        };
        Ok(Prices {
            input: self.fresh_price.unwrap_or(profile.input),
            uncached: self.fresh_price.unwrap_or(profile.uncached),
            cached: self.cached_price.unwrap_or(profile.cached),
            output: self.output_price.unwrap_or(profile.output),
            minimum: self.min_prefix.unwrap_or(profile.minimum),
            window: self.window,
            ..profile
        })
    }

    /// Reads prices from a file.
    fn read_prices(&self) -> Result<Prices, Failure> {
        let file = &self.prices;
        let text = fs::read_to_string(file).map_err(|error| {
            let names = Profile::all().iter().map(|profile| &*profile.name);
            let names = names.collect::<Vec<_>>().join(", ");
            Failure::Misuse(format!(
                "expected a profile of prices or its file, found `{file}` ({error}); there are {names}"
            ))
        })?;
        let json: Json = read_whole_json(&text).map_err(|error| {
            let message = format!("expected a profile of prices as JSON: {error}");
            at(file, error.line() as u64, message)
        })?;
        let profile = Profile::read(&json);
        let profile = profile.map_err(|error| Failure::Input(format!("{file}: {error}")))?;
        Ok(profile.prices)
    }

    /// Reads tool schemas as a line of compact JSON, by corpus. `None` is for all corpora.
    fn read_tools(&self) -> Result<BTreeMap<Option<String>, Arc<str>>, Failure> {
        let mut tools = BTreeMap::new();
        for given in &self.tools {
            let (corpus, file) = match given.split_once('=') {
                Some((corpus, file)) => (Some(corpus.to_owned()), file),
                None => (None, given.as_str()),
            };
            let text = fs::read_to_string(file).map_err(Failure::at(Path::new(file)))?;
            let json: Json = read_whole_json(&text).map_err(|error| {
                let message = format!("expected tool schemas as JSON: {error}");
                at(file, error.line() as u64, message)
            })?;
            tools.insert(corpus, Arc::from(format!("{json}\n")));
        }
        Ok(tools)
    }
}

/// Hands over the conversations of a file in batches: a long file need not be in memory.
fn each_batch(
    path: &Path,
    args: &Args,
    tools: Option<&Arc<str>>,
    mut take: impl FnMut(&[Transcript]) -> Result<(), Failure>,
) -> Result<Transcripts, Failure> {
    let half = args.split.map(accp_recordings::Half::from);
    let mut transcripts = Transcripts::default().with_pauses(args.pause.map(usize::from));
    each_conversation(path, args.format_in, |name, line, conversation| {
        let added = transcripts.add_conversation(&conversation, tools, half);
        added.map_err(|error| at(name, line, error))?;
        match transcripts.bytes() {
            ..BATCH => Ok(()),
            _ => take(&transcripts.take()),
        }
    })?;
    let none = |error| Failure::Input(format!("{}: {error}", path.display()));
    transcripts.check().map_err(none)?;
    take(transcripts.as_slice()).map(|()| transcripts)
}

/// Says whether a provider refuses the prompt of an agent, if it is a list of messages.
fn refuses(agent: &str, prompt: &[&Segment]) -> Option<bool> {
    let texts = prompt.iter().map(|segment| &*segment.text);
    accp_memory::policies::ctx::refuses(agent, texts)
}

/// Returns the names of the corpora in these files: the names of the files without their
/// extensions, numbered if two are the same.
fn names(files: &[PathBuf]) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let names = files.iter().map(|path| {
        let name = path.file_stem().unwrap_or(path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            format!("{name}#{count}")
        } else {
            name
        }
    });
    names.collect()
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Parses a price from the command line.
fn price(text: &str) -> Result<f64, String> {
    let price = text
        .parse()
        .ok()
        .filter(|price: &f64| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "expected a number from 0, such as 0.1".to_owned())
}
