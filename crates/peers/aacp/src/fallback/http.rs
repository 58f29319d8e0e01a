//! Calls a model on a server with an HTTP API in the style of OpenAI or of Anthropic.

mod prompt;

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::{Agent, RequestBuilder, typestate::WithBody};

use super::instruction::Instruction;
use super::model::{LlmEncoder, ModelError, ModelErrorKind};
use crate::vocabulary::Vocabulary;

/// The most bytes of a server's answer.
const LIMIT: u64 = 256 * 1024;

/// The most tokens that a model may write. A packet of 8 KiB has fewer.
const TOKENS: u32 = 4096;

/// The form of a server's requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `POST /v1/chat/completions`.
    OpenAi,
    /// `POST /v1/messages`.
    Anthropic,
}

/// Calls a model over HTTP: one try, with a deadline, and with a limit on what it reads (draft section
/// 6.2).
///
/// The key is sent to the server and is shown nowhere: `Debug` and errors do not have it. It is sent only over
/// `https`, or to a server on this machine.
#[derive(Clone)]
pub struct HttpEncoder {
    http: Agent,
    style: Style,
    url: String,
    model: String,
    key: Option<String>,
    deadline: Duration,
    system: String,
}

impl HttpEncoder {
    /// The deadline, unless [`set_deadline`](Self::set_deadline) changes it.
    pub const DEADLINE: Duration = Duration::from_secs(30);

    /// Makes an encoder from the base URL of a server, the style of its requests, the name of a model, and the key if
    /// the server needs one.
    ///
    /// ```
    /// use accp_aacp::Vocabulary;
    /// use accp_aacp::fallback::{HttpEncoder, Style};
    ///
    /// let (local, words) = ("http://127.0.0.1:8080", Vocabulary::standard());
    /// let model = HttpEncoder::new(local, Style::OpenAi, "small", Some("secret".into()), words)?;
    /// assert!(!format!("{model:?}").contains("secret"));
    /// assert!(HttpEncoder::new("ftp://x", Style::OpenAi, "small", None, words).is_err());
    /// # Ok::<(), accp_aacp::fallback::HttpError>(())
    /// ```
    ///
    /// # Errors
    /// A URL that is not of HTTP, or that holds a password; a key that would go over the network as
    /// plain text, or that a header cannot hold.
    pub fn new(
        base: &str,
        style: Style,
        model: &str,
        key: Option<String>,
        vocabulary: &Vocabulary,
    ) -> Result<Self, HttpError> {
        let uri: ureq::http::Uri = base.parse().map_err(|_| HttpError::Url)?;
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        let (Some(authority), true, None) = (uri.authority(), is_web, uri.query()) else {
            return Err(HttpError::Url);
        };
        if authority.as_str().contains('@') {
            return Err(HttpError::Password);
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        let is_here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        if let Some(key) = &key {
            if uri.scheme_str() == Some("http") && !is_here {
                return Err(HttpError::Plain);
            }
            if key.is_empty() || !key.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
                return Err(HttpError::Key);
            }
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(0)
            .user_agent("accp");
        if is_here {
            config = config.proxy(None);
        }
        let base = base.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let path = match style {
            Style::OpenAi => "/v1/chat/completions",
            Style::Anthropic => "/v1/messages",
        };
        Ok(Self {
            http: config.build().into(),
            style,
            url: format!("{base}{path}"),
            model: model.to_owned(),
            key,
            deadline: Self::DEADLINE,
            system: prompt::system(vocabulary),
        })
    }

    /// Sets the longest time of a call, from the name of the server to the last byte of its answer.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    fn request(&self) -> RequestBuilder<WithBody> {
        let request = self.http.post(&self.url).content_type("application/json");
        let request = match (self.style, &self.key) {
            (Style::OpenAi, Some(key)) => request.header("authorization", format!("Bearer {key}")),
            (Style::Anthropic, Some(key)) => request.header("x-api-key", key),
            (_, None) => request,
        };
        let request = match self.style {
            Style::OpenAi => request,
            Style::Anthropic => request.header("anthropic-version", "2023-06-01"),
        };
        let config = request.config();
        config.timeout_global(Some(self.deadline)).build()
    }

    fn body(&self, instruction: &Instruction, dom: &str) -> String {
        let user = json!({ "role": "user", "content": prompt::user(instruction, dom) });
        let body = match self.style {
            Style::OpenAi => json!({
                "model": self.model,
                "messages": [{ "role": "system", "content": self.system }, user],
            }),
            Style::Anthropic => json!({
                "model": self.model,
                "max_tokens": TOKENS,
                "system": self.system,
                "messages": [user],
            }),
        };
        body.to_string()
    }

    /// Returns the error for a call that broke off.
    fn broken(&self, error: &ureq::Error) -> ModelError {
        use ModelErrorKind as Kind;
        let url = &self.url;
        let (kind, text) = match error {
            ureq::Error::Timeout(_) => {
                let seconds = self.deadline.as_secs_f64();
                let text =
                    format!("the model at {url} did not answer within {seconds} s; try again");
                (Kind::TimedOut, text)
            }
            ureq::Error::BodyExceedsLimit(_) => {
                let text =
                    format!("the answer of {url} is longer than {LIMIT} bytes; name another model");
                (Kind::TooLarge, text)
            }
            error => {
                let text = format!("no model at {url}: {error}; check the address");
                (Kind::Unreachable, text)
            }
        };
        ModelError::new(kind, text)
    }
}

impl LlmEncoder for HttpEncoder {
    fn deadline(&self) -> Option<Duration> {
        Some(self.deadline)
    }

    fn answer(&mut self, instruction: &Instruction, dom: &str) -> Result<String, ModelError> {
        let sent = self.request().send(self.body(instruction, dom));
        let mut answer = sent.map_err(|error| self.broken(&error))?;
        let status = answer.status();
        if !status.is_success() {
            let cure = match status.as_u16() {
                401 | 403 => "check the key",
                404 => "check the address and the model",
                300..=399 => "name the address that it points to",
                429 => "wait, then try again",
                _ => "try again",
            };
            let text = format!(
                "the model at {} answers {}; {cure}",
                self.url,
                status.as_u16()
            );
            return Err(ModelError::new(ModelErrorKind::Status, text));
        }
        let body = answer.body_mut().with_config().limit(LIMIT).read_to_vec();
        let body = body.map_err(|error| self.broken(&error))?;
        let json: Option<Value> = serde_json::from_slice(&body).ok();
        json.and_then(|json| answer_text(self.style, &json)).ok_or_else(|| {
            let text = format!(
                "the answer of {} is not that of a model, or it was cut off; check the style and the model",
                self.url
            );
            ModelError::new(ModelErrorKind::Refused, text)
        })
    }
}

/// Returns the text of the model's answer, if the answer is complete: a filter or a limit may have cut
/// it off.
fn answer_text(style: Style, json: &Value) -> Option<String> {
    let ends_by = |json: &Value, key: &str, ends: &[&str]| match json.get(key) {
        None | Some(Value::Null) => true,
        Some(end) => end.as_str().is_some_and(|end| ends.contains(&end)),
    };
    match style {
        Style::OpenAi => {
            let choice = json.get("choices")?.get(0)?;
            let text = choice.get("message")?.get("content")?.as_str();
            text.filter(|_| ends_by(choice, "finish_reason", &["stop"]))
                .map(str::to_owned)
        }
        Style::Anthropic => {
            if !ends_by(json, "stop_reason", &["end_turn", "stop_sequence"]) {
                return None;
            }
            let blocks = json.get("content")?.as_array()?.iter();
            let texts = blocks.filter(|block| block.get("type").is_some_and(|kind| kind == "text"));
            texts.map(|block| block.get("text")?.as_str()).collect()
        }
    }
}

impl fmt::Debug for HttpEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEncoder")
            .field("style", &self.style)
            .field("url", &self.url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// A server that cannot be called. The text holds neither the URL nor the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpError {
    /// The URL is not one of HTTP.
    Url,
    /// The URL holds a name and a password.
    Password,
    /// The key would go over the network as plain text.
    Plain,
    /// A header cannot hold the key.
    Key,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Url => {
                "the address of the model is not a base URL; write https://HOST or http://HOST"
            }
            Self::Password => "the address of the model holds a password; give a key instead",
            Self::Plain => "a key does not go over http to another machine; write https://",
            Self::Key => "the key of the model is empty or has characters that no key has",
        })
    }
}

impl std::error::Error for HttpError {}
