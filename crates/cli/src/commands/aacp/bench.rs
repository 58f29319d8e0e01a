//! `accp aacp bench`: compares the tokens of instructions in English with those of packets.

use std::sync::Arc;

use accp_aacp::{Packet, bridge};
use accp_context::view::View;
use accp_recordings::read_whole_json;
use accp_tokens::{ModelCounter, TokenCounter as _};
use serde_json::{Map, Value as Json, json};

use super::super::tokens::CounterArgs;
use accp_console::choices::Format;
use accp_console::input::{Input, Line};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::Output;
use accp_console::table::Table;

/// Count the tokens of instructions in English, as packets, as compact JSON and as frames
///
/// A pair is an object with `id`, `english` and `packet`, one a line; with `terse`, the same
/// instruction in few words is counted too. `frame` is the frame that `accp aacp bridge` makes, and
/// `view` is how a model reads it, without the line that defines the schema once in a prompt. The
/// saving is what packets save against `english`: as texts alone, and as messages of a chat.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp bench examples/aacp-pairs.jsonl
  accp aacp bench --model gpt-4 --format json examples/aacp-pairs.jsonl")]
pub(crate) struct Args {
    /// The file of pairs; `-` for stdin
    #[arg(value_name = "PAIRS.jsonl")]
    pairs: std::path::PathBuf,
    #[command(flatten)]
    counter: CounterArgs,
    /// The tokens that the chat format adds to a message
    #[arg(long, value_name = "TOKENS", default_value_t = 7)]
    overhead: u16,
    /// The price of a million tokens, in any currency. The report then also says how much money packets save
    #[arg(long, value_name = "AMOUNT", value_parser = price)]
    price: Option<f64>,
    /// json: one object with `encoding`, `overhead`, `pairs`, `total` and `saving`; with `--price`
    /// also `cost` of all messages in English, of the packets, and what is `saved`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The columns of the table: the id, and the texts that are counted.
const HEADING: [&str; 7] = ["id", "english", "terse", "packet", "json", "frame", "view"];
/// The number of texts of a pair whose tokens are counted.
const TEXTS: usize = HEADING.len() - 1;

/// A pair: its id, and the number of tokens for each column.
struct Pair {
    id: Json,
    tokens: [Option<usize>; TEXTS],
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let counter = args.counter.counter()?;
    let view = View::new(Arc::new(bridge::profile().clone()));
    let mut lines = Input::open(Some(&args.pairs))?.into_lines();
    let name = lines.name.clone();
    let mut pairs = Vec::new();
    while let Some(line) = lines.next_line()? {
        let fault = |message| Failure::Input(format!("{name}:{}: {message}", line.number));
        pairs.push(pair(line, &counter, &view).map_err(fault)?);
    }
    if pairs.is_empty() {
        let form = r#"{"id":"a","english":"..","packet":".."}"#;
        let message = format!("{name}: there are no pairs; write one a line: {form}");
        return Err(Failure::Input(message));
    }
    let total = (0..TEXTS).map(|column| {
        let mut tokens = pairs.iter().map(|pair| pair.tokens[column]);
        tokens.try_fold(0, |sum, tokens| Some(sum + tokens?))
    });
    let total: Vec<Option<usize>> = total.collect();
    let (english, packet) = (total[0].unwrap_or_default(), total[2].unwrap_or_default());
    let messages = usize::from(args.overhead) * pairs.len();
    let bare = saving(english, packet);
    let chat = saving(english + messages, packet + messages);
    // Three costs: of all messages in English, of the packets, and the difference.
    let cost = args.price.map(|price| {
        let cost = |tokens: usize| (tokens + messages) as f64 * price / 1e6;
        [cost(english), cost(packet), cost(english) - cost(packet)]
    });
    let mut out = Output::stdout();
    match args.format {
        Format::Json => {
            let row = |pair: &Pair| {
                let mut row = Map::from_iter([("id".to_owned(), pair.id.clone())]);
                row.extend(counts(&pair.tokens));
                Json::Object(row)
            };
            let pairs: Json = pairs.iter().map(row).collect();
            let mut report = json!({
                "encoding": counter.counter.name(), "substitute": !counter.exact,
                "overhead": args.overhead, "pairs": pairs,
                "total": Json::Object(counts(&total).collect()),
                "saving": { "bare": bare, "chat": chat },
            });
            if let Some(note) = counter.substitute() {
                report["note"] = note.into();
            }
            if let Some([english, packet, saved]) = cost {
                report["cost"] = json!({ "english": english, "packet": packet, "saved": saved });
            }
            out.record(report)?;
        }
        Format::Text => {
            let mut table = Table::headed(HEADING);
            for pair in &pairs {
                table.row(row(&pair.id, &pair.tokens));
            }
            table.row(row(&json!("all"), &total));
            out.line(table)?;
            let percent = |saving: Option<f64>| match saving {
                Some(saving) => format!("{:.1} %", saving * 100.0),
                None => "not known".to_owned(),
            };
            out.line(format_args!(
                "\npackets against English: {} less, {} with {} tokens for each message; counted \
                 in {counter}",
                percent(bare),
                percent(chat),
                args.overhead
            ))?;
            if let Some([english, packet, saved]) = cost {
                out.line(format_args!(
                    "cost: {english:.6} in English, {packet:.6} as packets, {saved:.6} saved"
                ))?;
            }
        }
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

/// Reads a price.
fn price(text: &str) -> Result<f64, String> {
    let price = text.parse().ok();
    let price = price.filter(|price: &f64| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "expected an amount such as 2.50".to_owned())
}

/// Reads a pair and counts its tokens.
fn pair(line: Line<'_>, counter: &ModelCounter, view: &View) -> Result<Pair, String> {
    if line.is_cut() {
        let most = line.bytes.len() - 1;
        return Err(format!(
            "the line is longer than {most} bytes; split the instruction"
        ));
    }
    let read = |text| read_whole_json(text).map_err(|error| error.to_string());
    let text = std::str::from_utf8(line.bytes).map_err(|error| error.to_string());
    let json: Json = text
        .and_then(read)
        .map_err(|error| format!("{error}; write an object with id, english and packet"))?;
    let text = |name: &str| json.get(name).and_then(Json::as_str);
    let needed =
        |name: &str| text(name).ok_or_else(|| format!("there is no text `{name}`; add it"));
    let id = json.get("id").cloned().ok_or("there is no `id`; add it")?;
    let packet =
        Packet::parse(needed("packet")?).map_err(|error| format!("in `packet`: {error}"))?;
    let message = bridge::to_frame(&packet, "agent").map_err(|error| error.to_string())?;
    let frame = message.encode(bridge::profile());
    let frame = frame.map_err(|error| error.to_string())?;
    let count = |text: &str| counter.counter.count(text);
    let tokens = [
        Some(count(needed("english")?)),
        text("terse").map(count),
        Some(count(packet.text())),
        Some(count(&compact(&packet))),
        Some(count(&frame)),
        Some(count(&view.block(&message).text)),
    ];
    Ok(Pair { id, tokens })
}

/// Returns the packet as a flat JSON object without spaces.
fn compact(packet: &Packet<'_>) -> String {
    let head = [("task", packet.task()), ("dom", packet.dom())];
    let members = head.iter().chain(packet.fields());
    let members = members.map(|(key, value)| ((*key).to_owned(), json!(value)));
    Json::Object(members.collect()).to_string()
}

/// Returns the share of the English tokens that the packet saves, rounded to three digits.
fn saving(english: usize, packet: usize) -> Option<f64> {
    let share = 1.0 - packet as f64 / english as f64;
    share.is_finite().then(|| (share * 1000.0).round() / 1000.0)
}

/// Returns the counts as members of a JSON object. A text that a pair does not have is left out.
fn counts(tokens: &[Option<usize>]) -> impl Iterator<Item = (String, Json)> {
    let counted = HEADING.iter().skip(1).zip(tokens);
    counted.filter_map(|(name, tokens)| Some(((*name).to_owned(), json!((*tokens)?))))
}

fn row(id: &Json, tokens: &[Option<usize>]) -> [String; HEADING.len()] {
    std::array::from_fn(|column| match column {
        0 => id.as_str().map_or_else(|| id.to_string(), str::to_owned),
        _ => match tokens.get(column - 1).copied().flatten() {
            Some(tokens) => tokens.to_string(),
            None => "-".to_owned(),
        },
    })
}
