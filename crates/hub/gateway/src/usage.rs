//! Reads what a provider says that it has billed, from an answer while it passes.

use axum::http::HeaderMap;
use axum::http::header;
use serde_json::Value as Json;

use crate::unpack::Unpack;

/// The most bytes of one event, or of a whole answer that is not a stream. The gateway passes a larger answer on and
/// does not read it.
const MOST: usize = 32 << 20;

/// A larger count is lowered to this one, so that sums of counts fit into the integers of the ledger.
const MOST_TOKENS: u64 = 1 << 40;

/// The tokens of a request by the provider's own count.
///
/// Anthropic's `input_tokens` are `input`. OpenAI counts the tokens of its cache among those of the prompt, so
/// `input` is the rest of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input that was neither read from a cache nor written to one.
    pub input: u64,
    /// Input that was written to a cache for the usual time ([`Prices::seconds`](crate::Prices::seconds)).
    pub written: u64,
    /// Input that was written to a cache for an hour.
    pub hourly: u64,
    /// Input that was read from a cache.
    pub read: u64,
    /// Output.
    pub output: u64,
}

impl Usage {
    /// Adds the counts of another turn.
    pub(crate) fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.written = self.written.saturating_add(other.written);
        self.hourly = self.hourly.saturating_add(other.hourly);
        self.read = self.read.saturating_add(other.read);
        self.output = self.output.saturating_add(other.output);
    }

    /// Returns the number of all tokens of the input.
    pub const fn prompt(&self) -> u64 {
        let written = self.written.saturating_add(self.hourly);
        self.input.saturating_add(written).saturating_add(self.read)
    }
}

/// What an answer says of its model and of its bill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Told {
    pub(crate) usage: Option<Usage>,
    pub(crate) model: Option<String>,
}

impl Told {
    /// Takes the model and the counts from an answer, or from an event of one.
    fn take(&mut self, json: &Json) {
        for whole in [json, &json["message"], &json["response"]] {
            if let Some(model) = whole["model"].as_str() {
                self.model = Some(model.to_owned());
            }
            if whole["usage"].is_object() {
                self.add(&whole["usage"]);
            }
        }
    }

    fn add(&mut self, usage: &Json) {
        let number = |place: &str| {
            let number = usage.pointer(place).and_then(Json::as_u64);
            number.map(|number| number.min(MOST_TOKENS))
        };
        let mut now = self.usage.unwrap_or_default();
        // The counts in the events of a stream are totals so far, so a later count replaces an earlier one.
        let details = ["/prompt_tokens_details", "/input_tokens_details"];
        let detail = |key: &str| {
            let mut places = details.iter().map(|place| format!("{place}/{key}"));
            places.find_map(|place| number(&place))
        };
        let cached = detail("cached_tokens");
        let stored = detail("cache_write_tokens");
        if let Some(read) = number("/cache_read_input_tokens").or(cached) {
            now.read = read;
        }
        if let Some(hourly) = number("/cache_creation/ephemeral_1h_input_tokens") {
            now.hourly = hourly;
        }
        if let Some(written) = number("/cache_creation_input_tokens").or(stored) {
            now.written = written.saturating_sub(now.hourly);
        }
        if let Some(prompt) = number("/prompt_tokens") {
            now.input = prompt.saturating_sub(now.read + now.written);
        }
        if let Some(input) = number("/input_tokens") {
            let among = cached.unwrap_or(0) + stored.unwrap_or(0);
            now.input = input.saturating_sub(among);
        }
        if let Some(output) = number("/output_tokens").or(number("/completion_tokens")) {
            now.output = output;
        }
        self.usage = Some(now);
    }
}

/// Reads an answer while it passes.
#[derive(Debug)]
pub(crate) struct Watch {
    /// `None` if the answer cannot be unpacked, or is too long to be read.
    unpack: Option<Unpack>,
    is_stream: bool,
    /// The bytes of a line that has not ended yet; or all bytes of an answer that is not a stream.
    open: Vec<u8>,
    told: Told,
}

impl Watch {
    pub(crate) fn new(headers: &HeaderMap) -> Self {
        Self::with(headers, Unpack::of(headers))
    }

    /// Makes a watch for an answer with these headers. The caller unpacks the answer before it feeds the watch.
    pub(crate) fn unpacked(headers: &HeaderMap) -> Self {
        Self::with(headers, Some(Unpack::Plain))
    }

    fn with(headers: &HeaderMap, unpack: Option<Unpack>) -> Self {
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|value| value.to_str().ok());
        Self {
            unpack,
            is_stream: kind.is_some_and(|kind| kind.starts_with("text/event-stream")),
            open: Vec::new(),
            told: Told::default(),
        }
    }

    /// Reads the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let Some(unpack) = &mut self.unpack else {
            return;
        };
        match unpack.feed(bytes) {
            Ok(bytes) => self.open.extend_from_slice(&bytes),
            Err(_) => self.unpack = None,
        }
        if self.is_stream {
            self.lines();
        }
        if self.open.len() > MOST {
            self.unpack = None;
            self.open = Vec::new();
        }
    }

    /// Reads the lines that have ended.
    fn lines(&mut self) {
        let Some(end) = self.open.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let rest = self.open.split_off(end + 1);
        let ended = std::mem::replace(&mut self.open, rest);
        for line in ended.split(|byte| *byte == b'\n') {
            let data = line.strip_prefix(b"data:").unwrap_or_default();
            // Most events are pieces of a text, which need no reading.
            if has(data, b"\"usage\"") || has(data, b"\"model\"") && self.told.model.is_none() {
                self.take(data);
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        if let Ok(json) = serde_json::from_slice(bytes) {
            self.told.take(&json);
        }
    }

    /// Returns what the answer has said. To be called at the end of the answer.
    pub(crate) fn told(mut self) -> Told {
        let open = std::mem::take(&mut self.open);
        let rest = if self.is_stream {
            open.strip_prefix(b"data:").unwrap_or_default()
        } else {
            &open
        };
        if !rest.is_empty() {
            self.take(rest);
        }
        self.told
    }
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use axum::http::HeaderValue;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn told(kind: &'static str, encoding: Option<&'static str>, bytes: &[u8], step: usize) -> Told {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(encoding) = encoding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        let mut watch = Watch::new(&headers);
        bytes.chunks(step).for_each(|piece| watch.feed(piece));
        watch.told()
    }

    const ANTHROPIC: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-m\",\
        \"usage\":{\"input_tokens\":3,\"cache_creation_input_tokens\":40,\
        \"cache_creation\":{\"ephemeral_5m_input_tokens\":30,\"ephemeral_1h_input_tokens\":10},\"cache_read_input_tokens\":500,\"output_tokens\":1}}}\n\n\
        event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":77}}\n\n";

    #[test]
    fn the_events_of_a_stream_are_read_in_any_pieces() {
        let expected = Told {
            usage: Some(Usage {
                input: 3,
                written: 30,
                hourly: 10,
                read: 500,
                output: 77,
            }),
            model: Some("claude-m".into()),
        };
        for step in [1, 7, 64, 4096] {
            let of = told("text/event-stream", None, ANTHROPIC.as_bytes(), step);
            assert_eq!(of, expected, "{step}");
        }
    }

    #[test]
    fn a_packed_answer_is_read_as_well() {
        let answer = br#"{"model":"gpt-m","usage":{"prompt_tokens":900,"completion_tokens":5,
            "prompt_tokens_details":{"cached_tokens":640}}}"#;
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(answer).unwrap();
        let packed = packed.finish().unwrap();
        let expected = Usage {
            input: 260,
            written: 0,
            hourly: 0,
            read: 640,
            output: 5,
        };
        for step in [1, 9, 999] {
            let of = told("application/json", Some("gzip"), &packed, step);
            assert_eq!(of.usage, Some(expected));
        }
        assert_eq!(
            told("application/json", Some("br"), &packed, 9),
            Told::default()
        );
        let responses = br#"data: {"type":"response.completed","response":{"model":"gpt-r","usage":{"input_tokens":100,
            "input_tokens_details":{"cached_tokens":60},"output_tokens":9}}}"#;
        let line: Vec<u8> = responses
            .iter()
            .copied()
            .filter(|byte| *byte != b'\n')
            .collect();
        let of = told("text/event-stream; charset=utf-8", None, &line, 5);
        assert_eq!(
            of.usage
                .map(|usage| (usage.input, usage.read, usage.output)),
            Some((40, 60, 9))
        );
    }
}
