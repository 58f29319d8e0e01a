//! A hub that runs elsewhere, over HTTP.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use accp_runtime::profiles::ErrorFail;
use accp_runtime::{Envelope, Frame, Typed};
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::outcome::Failure;
use crate::output::note;
use crate::words::printable;

/// The times a frame goes out, when others take the numbers that it tries.
const TRIES: usize = 8;

/// The options that say where a hub is.
#[derive(Debug, clap::Args)]
pub(crate) struct HubArgs {
    /// The address of the hub
    #[arg(
        long,
        value_name = "URL",
        env = "ACCP_HUB",
        default_value = "http://127.0.0.1:7337"
    )]
    pub(crate) hub: String,
    /// The session
    #[arg(
        long,
        short,
        value_name = "NAME",
        env = "ACCP_SESSION",
        default_value = "main"
    )]
    pub(crate) session: String,
    /// The token to show to the hub. Other users see it in the list of processes: prefer --token-file
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,
    /// The file whose first line is the token to show to the hub [default: the token in `ACCP_TOKEN`]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// The most bytes of a file with a token.
const TOKEN: u64 = 64 << 10;

impl HubArgs {
    /// Returns the token to show to the hub, if there is one. Warns if others can read it.
    pub(crate) fn token(&self) -> Result<Option<String>, Failure> {
        let (token, from) = if let Some(token) = &self.token {
            note(
                "warning: other users of this machine see --token in the list of processes; use --token-file FILE or \
                 ACCP_TOKEN",
            );
            (token.clone(), "--token".to_owned())
        } else if let Some(file) = &self.token_file {
            (in_file(file)?, file.display().to_string())
        } else {
            match std::env::var("ACCP_TOKEN") {
                Ok(token) if !token.is_empty() => (token, "ACCP_TOKEN".to_owned()),
                Ok(_) | Err(std::env::VarError::NotPresent) => return Ok(None),
                Err(error) => return Err(Failure::Misuse(format!("ACCP_TOKEN: {error}"))),
            }
        };
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_token {
            return Err(Failure::Input(format!(
                "{from}: expected a token of visible ASCII characters, without spaces"
            )));
        }
        Ok(Some(token))
    }
}

/// Returns the first line of a file, and warns if others can read it.
fn in_file(path: &Path) -> Result<String, Failure> {
    let file = File::open(path).map_err(Failure::at(path))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file
            .metadata()
            .map_err(Failure::at(path))?
            .permissions()
            .mode();
        if mode & 0o044 != 0 {
            let path = path.display();
            note(format_args!(
                "warning: other users of this machine can read {path}; run chmod 600 {path}"
            ));
        }
    }
    let mut line = String::new();
    let mut file = BufReader::new(file.take(TOKEN));
    file.read_line(&mut line).map_err(Failure::at(path))?;
    Ok(line.trim_end().to_owned())
}

/// A hub, as a client of HTTP sees it.
pub(crate) struct Hub<'a> {
    args: &'a HubArgs,
    token: Option<String>,
    http: Agent,
    base: String,
}

impl<'a> Hub<'a> {
    pub(crate) fn new(args: &'a HubArgs) -> Result<Self, Failure> {
        let base = args.hub.trim_end_matches('/');
        // The same address serves WebSockets, so people may name it so.
        let base = match base.strip_prefix("ws") {
            Some(rest) if rest.starts_with("://") || rest.starts_with("s://") => {
                format!("http{rest}")
            }
            _ => base.to_owned(),
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(20)))
            .build();
        Ok(Self {
            args,
            token: args.token()?,
            http: config.into(),
            base,
        })
    }

    /// Sends a frame, under the number that the hub expects, and waits for the answer to it for so many
    /// seconds. Returns the frame that the hub answers with; `None` when it says nothing.
    pub(crate) fn post(&self, text: &str, wait: Option<u64>) -> Result<Option<String>, Failure> {
        let (head, mut envelope, is_numbered) = envelope(text)?;
        for _ in 0..TRIES {
            let mut frame = head.clone();
            envelope
                .write(&mut frame)
                .map_err(|error| Failure::Input(error.to_string()))?;
            let url = format!("{}/accp/v1/frames?session={}", self.base, self.args.session);
            let mut request = self.http.post(&url).content_type("application/accp");
            if let Some(token) = &self.token {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            if let Some(wait) = wait {
                request = request.header("prefer", format!("wait={wait}"));
            }
            let mut answer = request
                .send(&frame)
                .map_err(|error| self.unreachable(&error))?;
            let said = answer.body_mut().read_to_string();
            let said = said.map_err(|error| self.unreachable(&error))?;
            if answer.status().is_success() {
                return Ok(Some(said.trim_end().to_owned()).filter(|said| !said.is_empty()));
            }
            match expected(&said).filter(|_| !is_numbered) {
                Some(next) => envelope.sequence = Some(next),
                None => return Err(refused(&answer, &said)),
            }
        }
        let busy = "others take each number first; send the frame again";
        Err(Failure::Input(busy.to_owned()))
    }

    /// Calls `each` with the frames after a position, as they come.
    pub(crate) fn frames(
        &self,
        after: u64,
        follow: bool,
        mut each: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let session = &self.args.session;
        let url = format!(
            "{}/accp/v1/sessions/{session}/frames?after={after}&follow={follow}",
            self.base
        );
        let mut request = self.http.get(&url);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut answer = request.call().map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            let said = answer.body_mut().read_to_string().unwrap_or_default();
            return Err(refused(&answer, &said));
        }
        for line in BufReader::new(answer.into_body().into_reader()).lines() {
            each(&line.map_err(|error| Failure::Io(self.base.clone(), error))?)?;
        }
        Ok(())
    }

    /// Has the hub erase data of the session, and returns the JSON with which it answers.
    pub(crate) fn erase(&self, body: &str) -> Result<String, Failure> {
        let session = &self.args.session;
        let url = format!("{}/accp/v1/sessions/{session}/erase", self.base);
        let mut request = self.http.post(&url).content_type("application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut answer = request
            .send(body)
            .map_err(|error| self.unreachable(&error))?;
        let said = answer.body_mut().read_to_string();
        let said = said.map_err(|error| self.unreachable(&error))?;
        if answer.status().is_success() {
            return Ok(said);
        }
        Err(refused(&answer, &said))
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        Failure::Misuse(format!(
            "no hub at {}: {error}; `accp serve` starts one, and --hub names another",
            self.base
        ))
    }
}

/// Returns the frame up to its metadata, its metadata with what a frame needs, and whether the frame
/// had a number already.
fn envelope(text: &str) -> Result<(String, Envelope<'static>, bool), Failure> {
    let frame = Frame::parse(text).map_err(|error| {
        Failure::Input(format!(
            "{error}; `accp check` shows the place, and `accp fix` may repair it"
        ))
    })?;
    let mut envelope = frame
        .envelope()
        .map_err(|error| Failure::Input(error.to_string()))?;
    let is_numbered = envelope.sequence.is_some();
    if envelope.msg_id.is_none() {
        envelope.msg_id = Some(new_mid()?.into());
    }
    envelope.sequence.get_or_insert(1);
    if envelope.timestamp.is_none() {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = since.map_or(0, |since| since.as_secs());
        envelope.timestamp = i64::try_from(now).ok();
    }
    let head = Frame {
        metadata: Vec::new(),
        ..frame
    };
    Ok((head.to_string(), envelope, is_numbered))
}

/// Draws a message id: 12 hexadecimal digits, of which the first is a letter. Those of members that a
/// hub has numbered begin with a digit.
fn new_mid() -> Result<String, Failure> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Misuse(format!("the system gives no random bytes: {error}")))?;
    let drawn = u64::from_le_bytes(bytes) % (6 << 44);
    Ok(format!("{:012x}", drawn + (0xa << 44)))
}

/// Returns the number that the hub expects, if it refuses the one it got (E3003).
fn expected(said: &str) -> Option<u64> {
    let error = Typed::<ErrorFail<'_>>::decode(said).ok()?.frame;
    let next = error.expected_sequence.filter(|_| error.code == "E3003")?;
    u64::try_from(next).ok()
}

fn refused(answer: &Response<Body>, said: &str) -> Failure {
    let status = answer.status();
    let text = match Typed::<ErrorFail<'_>>::decode(said) {
        Ok(error) => {
            let (code, at) = (&error.frame.code, error.frame.at);
            let at = at.map_or(String::new(), |at| format!(" at byte {at}"));
            format!("{code}{at}: the hub expects {}", error.frame.msg)
        }
        Err(_) => format!("the hub answers {status}: {said}"),
    };
    let text = printable(&text).into_owned();
    match status.as_u16() {
        401 => Failure::Misuse(format!("{text}; --token-file or ACCP_TOKEN gives one")),
        _ => Failure::Input(text),
    }
}
