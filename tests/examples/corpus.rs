//! Checks recorded texts with the round trips of `tests/text_forms.rs`.
//!
//! `cargo run --release -p accp-tests --example corpus -- FILES...` reads JSON Lines. Every
//! string and every key goes through the text form, a string field, an untyped value and a
//! key. Every number goes through its literal. Every array, object and line goes through a
//! frame. Strings, JSON in strings and frames also go through their view for a model.
//!
//! The program counts the values. It prints how many values take fewer tokens as compact JSON than as a view (with
//! the standard profiles, and without definitions). At the first value that is not read back unchanged, the program
//! stops and prints the file and the line. Exit code 1: a value was not read back unchanged, or a file cannot be
//! read; 2: no files.

use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use accp_frame::Reader;
use accp_registry::lexical::{
    Literal, decode_string, decode_text, unescape, write_string, write_text, write_untyped,
};
use accp_runtime::view::View;
use accp_runtime::{
    DecodeOptions, DynamicFrame, EncodeOptions, Limits, Map, Registry, TokenCounter as _, Value,
};
use accp_tests::program::{self, Result};
use accp_tokens::Bpe;
use clap::Parser;
use serde_json::Value as Json;

/// The counts of the values that were read back unchanged.
#[derive(Default)]
struct Counts {
    lines: u64,
    strings: u64,
    keys: u64,
    numbers: u64,
    values: u64,
    /// Tokens of all values, as views and as compact JSON. A nested value counts again.
    tokens: [u64; 2],
    /// Values that take fewer tokens as JSON.
    shorter: u64,
}

static VIEW: LazyLock<View> = LazyLock::new(|| View::new(Arc::new(Registry::standard())));

/// Encode and decode every string of recorded conversations
#[derive(Parser)]
struct Args {
    /// Files of recorded conversations (JSON Lines)
    #[arg(required = true)]
    files: Vec<String>,
}

fn main() -> ExitCode {
    program::end(run(&Args::parse()))
}

fn run(args: &Args) -> Result<Counts> {
    let mut counts = Counts::default();
    for file in &args.files {
        counts.file(file)?;
    }
    Ok(counts)
}

impl Counts {
    fn file(&mut self, path: &str) -> Result<()> {
        let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
        for (at, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(Into::into);
            line.and_then(|line| self.line(&line))
                .map_err(|fault| format!("{path}:{}: {fault}", at + 1))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<()> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let json = serde_json::from_str(line)?;
        self.lines += 1;
        self.json(&json)?;
        if !matches!(json, Json::Array(_) | Json::Object(_)) {
            self.whole(&json)?;
        }
        Ok(())
    }

    /// Checks a value with all values in it.
    fn json(&mut self, json: &Json) -> Result<()> {
        match json {
            Json::Null | Json::Bool(_) => Ok(()),
            Json::Number(_) => {
                self.numbers += 1;
                number(json)
            }
            Json::String(text) => {
                self.strings += 1;
                string(text)?;
                match serde_json::from_str(text) {
                    Ok(json @ (Json::Array(_) | Json::Object(_))) => self.whole(&json),
                    _ => Ok(()),
                }
            }
            Json::Array(items) => {
                items.iter().try_for_each(|item| self.json(item))?;
                self.whole(json)
            }
            Json::Object(entries) => {
                for (key, value) in entries {
                    self.keys += 1;
                    string(key)?;
                    self.json(value)?;
                }
                self.whole(json)
            }
        }
    }

    fn whole(&mut self, json: &Json) -> Result<()> {
        self.values += 1;
        let value = Value::from_data(json);
        let view = VIEW.value(&value).text;
        let same = VIEW.read_value(&view)? == value;
        came_back("a value's view", same, &json.to_string(), &view)?;
        let counter = Bpe::default();
        let tokens = [view, json.to_string()].map(|text| counter.count(&text) as u64);
        self.tokens = [self.tokens[0] + tokens[0], self.tokens[1] + tokens[1]];
        self.shorter += u64::from(tokens[1] < tokens[0]);
        through_a_frame(json)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lines,
            strings,
            keys,
            numbers,
            values,
            tokens: [views, json],
            shorter,
        } = self;
        write!(
            f,
            "{strings} strings, {keys} keys, {numbers} numbers, {values} values"
        )?;
        writeln!(f, " in {lines} lines came back")?;
        write!(
            f,
            "{views} tokens as views, {json} as compact JSON, which is shorter for {shorter} values"
        )
    }
}

fn string(text: &str) -> Result<()> {
    let mut wire = String::new();
    write_text(&mut wire, text);
    came_back("the text form", decode_text(&wire) == text, text, &wire)?;
    wire.clear();
    write_string(&mut wire, text);
    came_back("a string field", decode_string(&wire) == text, text, &wire)?;
    wire.clear();
    write_untyped(&mut wire, text);
    let back = match Literal::classify(&wire) {
        Literal::Text(form) => decode_text(form) == text,
        Literal::String(raw) => unescape(raw) == text,
        _ => false,
    };
    came_back("an untyped value", back, text, &wire)?;
    let map: Map<'_> = [(text, Value::from(text))].into_iter().collect();
    let wire = map.to_string();
    came_back("a key", read(&wire)? == Value::Map(map), text, &wire)?;
    through_a_view(
        &DynamicFrame::new("user", "done", "chat")?
            .under("CH")
            .with("content", text),
    )
}

fn number(json: &Json) -> Result<()> {
    let value = Value::from_json(json);
    let wire = value.to_string();
    let back = read(&wire)?;
    came_back(
        "a number",
        back == value && back.to_json() == *json,
        &json.to_string(),
        &wire,
    )
}

fn through_a_frame(json: &Json) -> Result<()> {
    let message = DynamicFrame::new("a", "qry", "lookup")?.with("value", Value::from_json(json));
    let options = EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        ..EncodeOptions::default()
    };
    let frame = message.encode_with(Registry::shared(), options)?;
    let back = DynamicFrame::decode_with(&frame, Registry::shared(), &unlimited())?;
    let value = back.payload.get("value").map(Value::to_json);
    let same = value.as_ref() == Some(json) && back == message;
    came_back("a frame", same, &json.to_string(), &frame)?;
    through_a_view(&message)
}

fn through_a_view(message: &DynamicFrame<'_>) -> Result<()> {
    let block = VIEW.block(message).text;
    let back = VIEW.read(&block)?;
    let same = back.as_slice() == [message.clone().into_owned()];
    came_back("a view", same, &format!("{message:?}"), &block)
}

fn unlimited() -> DecodeOptions {
    DecodeOptions {
        limits: Limits::NONE,
        ..DecodeOptions::default()
    }
}

fn read(wire: &str) -> Result<Value<'_>> {
    let mut r = Reader::new(wire, unlimited())?;
    let value = Value::read(&mut r)?;
    if r.at() == wire.len() {
        Ok(value)
    } else {
        Err(format!("read to byte {} of {wire}", r.at()).into())
    }
}

fn came_back(through: &str, back: bool, original: &str, wire: &str) -> Result<()> {
    if back {
        return Ok(());
    }
    Err(format!("did not come back from {through}\n  was:  {original:?}\n  wire: {wire}").into())
}
