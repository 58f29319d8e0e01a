//! A client that talks over HTTP to a running hub.

mod address;
mod answer;
mod values;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use accp_frame::{Envelope, Frame, Typed, profiles::ErrorFail};
use serde_json::Value as Json;
use ureq::http::{Response, StatusCode};
use ureq::typestate::WithBody;
use ureq::{Agent, Body, RequestBuilder, Timeout};

pub(crate) use self::address::{HubAddress, cure_of_tls};
pub(crate) use self::answer::{Answer, Log};
use self::answer::{Lines, WholeAnswer, broken, late, not_a_hub, shortened};
use crate::words::UNLIMITED;
use accp_console::outcome::Failure;
use accp_console::output::{note, on_one_line};

/// How many times a frame is sent again if another frame takes its number first.
const TRIES: u32 = 64;
/// The longest time to open a connection.
const CONNECT: Duration = Duration::from_secs(20);
/// The most bytes of an answer that refuses a request.
const ERROR_BYTES: u64 = 64 << 10;
/// The most bytes of a report of an erasure: millions of positions.
const ERASURE_BYTES: u64 = 64 << 20;

/// The options that say where a hub is.
#[derive(Debug, clap::Args)]
pub(crate) struct HubArgs {
    #[command(flatten)]
    pub(crate) address: HubAddress,
    /// The session
    #[arg(
        long,
        short,
        value_name = "NAME",
        env = "ACCP_SESSION",
        default_value = "main",
        value_parser = session_name
    )]
    pub(crate) session: String,
    /// The token to show to the hub. Other users see it in the list of processes: prefer --token-file
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,
    /// The file whose first line is the token to show to the hub [default: the token in `ACCP_TOKEN`]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Checks that a text can be the name of a session. With any other text, the URL could lead to another session.
fn session_name(text: &str) -> Result<String, String> {
    let checked = accp_hub::check_session_name(text);
    checked.map_err(|names| format!("expected {names}"))?;
    Ok(text.to_owned())
}

/// The most bytes of a file with a token.
const TOKEN: u64 = 64 << 10;

impl HubArgs {
    /// Returns the token to show to the hub, if there is one. Prints a warning if other users can read the token.
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

/// Returns the first line of a file. Prints a warning if other users can read the file.
fn in_file(path: &Path) -> Result<String, Failure> {
    let file = File::open(path).map_err(Failure::at(path))?;
    let found = file.metadata().map_err(Failure::at(path))?;
    // Opening a folder succeeds, and the cure for a file of its rights would lock it up.
    if found.is_dir() {
        return Err(Failure::at(path)(io::ErrorKind::IsADirectory.into()));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if found.permissions().mode() & 0o044 != 0 {
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

/// How long a command waits for a hub.
#[derive(Debug, clap::Args)]
pub(crate) struct TimeArgs {
    /// The number of seconds to wait for an answer of the hub
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

impl TimeArgs {
    pub(crate) fn time(&self) -> Duration {
        seconds(self.timeout)
    }
}

/// Returns a duration of `count` seconds, but at most a year: adding a longer duration to a time could overflow.
pub(crate) fn seconds(count: u64) -> Duration {
    const YEAR: u64 = 365 * 24 * 60 * 60;
    Duration::from_secs(count.min(YEAR))
}

/// A client for one session of a hub.
pub(crate) struct Hub<'a> {
    args: &'a HubArgs,
    token: Option<String>,
    http: Agent,
    base: String,
    /// The longest time to wait for an answer.
    time: Duration,
}

impl<'a> Hub<'a> {
    pub(crate) fn new(args: &'a HubArgs, time: Duration) -> Result<Self, Failure> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would send the token to a server that the user has not named.
            .max_redirects(0)
            .tls_config(args.address.tls()?)
            .timeout_connect(Some(CONNECT.min(time)))
            .build();
        Ok(Self {
            args,
            token: args.token()?,
            http: config.into(),
            base: args.address.http(),
            time,
        })
    }

    /// Sends a frame under the number that the hub expects, and waits up to `wait` seconds for its answer. Sends
    /// values that are too long for the frame first. Returns the frames with which the hub answers; `None` if the hub
    /// answers with no frame.
    pub(crate) fn post(&self, text: &str, wait: Option<u64>) -> Result<Option<Answer>, Failure> {
        let (head, mut envelope, is_numbered) = envelope(text)?;
        let (named, session) = (envelope.session_id.as_deref(), &*self.args.session);
        // The values of the frame go ahead of it, so this is checked before anything goes out.
        if let Some(named) = named.filter(|named| *named != session) {
            return Err(Failure::Input(format!(
                "the frame is for the session {named} (`sid`), and --session is {session}: name the same session in both"
            )));
        }
        let uploads = self.upload_values(&head, &mut envelope, is_numbered)?;
        let head = uploads.head.unwrap_or(head);
        self.send(&head, envelope, is_numbered, wait)
    }

    /// Sends a frame with this head and this envelope. If the hub expects another number, sends the frame again under
    /// that number, unless the user has given the number.
    fn send(
        &self,
        head: &str,
        mut envelope: Envelope<'_>,
        is_numbered: bool,
        wait: Option<u64>,
    ) -> Result<Option<Answer>, Failure> {
        let until = Instant::now() + self.time;
        for tries in 0..TRIES {
            pause(tries);
            let mut frame = head.to_owned();
            envelope
                .write(&mut frame)
                .map_err(|error| Failure::Input(error.to_string()))?;
            let path = format!("frames?session={}", self.args.session);
            let mut request = self.to_send(&path, "application/accp", until);
            if let Some(wait) = wait {
                request = request.header("prefer", format!("wait={wait}"));
            }
            let answer = self.answered(request.send(&frame))?;
            if answer.status() == StatusCode::ACCEPTED {
                return Ok(None);
            }
            if answer.status().is_success() {
                let waits = answer.headers().get("preference-applied");
                let waits = waits.and_then(|value| value.to_str().ok()?.strip_prefix("wait="));
                let waits = waits.and_then(|seconds| seconds.parse().ok());
                return Ok(Some(Answer {
                    lines: self.lines(answer, false),
                    waits,
                }));
            }
            let answer = self.whole(answer, ERROR_BYTES)?;
            match expected(&answer.text).filter(|_| !is_numbered) {
                Some(next) => envelope.sequence = Some(next),
                None => return Err(self.refused(&answer)),
            }
        }
        Err(busy())
    }

    /// Opens the log of the session after a position. With `follow`, the log goes on with new frames, and the client
    /// waits for them without a limit.
    pub(crate) fn log(&self, after: u64, follow: bool) -> Result<Log, Failure> {
        let session = &self.args.session;
        let path = format!("sessions/{session}/frames?after={after}&follow={follow}");
        let request = self.with_token(self.http.get(self.url(&path)));
        let request = request
            .header("accept", "application/x-ndjson")
            .config()
            .timeout_resolve(Some(self.time))
            .timeout_send_request(Some(self.time))
            .timeout_recv_response(Some(self.time))
            .timeout_per_read((!follow).then_some(self.time))
            .build();
        let answer = self.answered(request.call())?;
        if answer.status().is_success() {
            return Ok(Log(self.lines(answer, follow)));
        }
        Err(self.refused(&self.whole(answer, ERROR_BYTES)?))
    }

    /// Makes the hub erase data of the session. Returns the JSON with which the hub answers.
    pub(crate) fn erase(&self, body: &str) -> Result<Json, Failure> {
        let answer = self.change("erase", body, ERASURE_BYTES, "sides")?;
        let is_side = |side: &Json| side["positions"].is_array();
        let sides = answer["sides"].as_array();
        let has_sides = sides.is_some_and(|sides| sides.iter().all(is_side));
        if has_sides {
            return Ok(answer);
        }
        Err(not_a_hub(&self.base, &answer.to_string()))
    }

    /// Makes the hub continue a session whose store is an old copy: by `recover` or by `fork`. Returns the JSON with
    /// which the hub answers.
    pub(crate) fn decide(&self, how: &str) -> Result<Json, Failure> {
        self.change(how, "", ERROR_BYTES, "session")
    }

    /// Makes the hub change the session. Returns the JSON with which the hub answers. The JSON must have the member
    /// `member`, and at most `most` bytes.
    fn change(&self, how: &str, body: &str, most: u64, member: &str) -> Result<Json, Failure> {
        let path = format!("sessions/{}/{how}", self.args.session);
        let request = self.to_send(&path, "application/json", Instant::now() + self.time);
        let answer = self.answered(request.send(body))?;
        let is_done = answer.status().is_success();
        let answer = self.whole(answer, most)?;
        if !is_done {
            return Err(self.refused(&answer));
        }
        let outcome = serde_json::from_str(&answer.text).ok();
        let outcome = outcome.filter(|outcome: &Json| outcome.get(member).is_some());
        outcome.ok_or_else(|| not_a_hub(&self.base, &answer.text))
    }

    fn url(&self, path: &str) -> String {
        format!("{}/accp/v1/{path}", self.base)
    }

    fn with_token<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// Begins a request with a body. The whole answer has to arrive by `until`.
    fn to_send(&self, path: &str, kind: &str, until: Instant) -> RequestBuilder<WithBody> {
        let left = until.saturating_duration_since(Instant::now());
        let request = self.with_token(self.http.post(self.url(path)));
        let request = request.content_type(kind).config();
        request.timeout_global(Some(left)).build()
    }

    /// Returns the answer. A redirection is a failure, because the token must not go to another server.
    fn answered(
        &self,
        made: Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>, Failure> {
        let base = &self.base;
        let answer = made.map_err(|error| self.unanswered(&error))?;
        let status = answer.status();
        if !status.is_redirection() {
            return Ok(answer);
        }
        let place = answer.headers().get("location");
        let place = place.map_or(Cow::Borrowed("nowhere"), |place| {
            String::from_utf8_lossy(place.as_bytes())
        });
        Err(Failure::Misuse(format!(
            "{base} answers {status} and points to {}; the hub itself has to answer: name it with --hub",
            shortened(&place)
        )))
    }

    /// Makes the failure for a request that got no answer.
    fn unanswered(&self, error: &ureq::Error) -> Failure {
        let base = &self.base;
        let is_nobody = match error {
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => true,
            // A server had accepted the connection, and may have handled the request.
            ureq::Error::Io(error) if is_cut(error) => {
                return Failure::Misuse(format!(
                    "the connection to {base} broke before the answer came: {error}; the request may have arrived: \
                     see `accp tail` before you repeat it (--hub names another hub)"
                ));
            }
            // After any other I/O error there was no connection.
            ureq::Error::Io(_) => true,
            ureq::Error::Timeout(_) => return late(base, self.time),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
                return Failure::Misuse(format!("--hub {base}: {error}; write http://HOST:PORT"));
            }
            _ => false,
        };
        Failure::Misuse(match (cure_of_tls(error), is_nobody) {
            (Some(cure), true) => format!("no connection to {base}: {error}; {cure}"),
            (None, true) => {
                format!(
                    "no hub at {base}: {error}; `accp serve` starts one, and --hub names another"
                )
            }
            (cure, false) => {
                let cure = cure.unwrap_or("--hub names another");
                format!("what answers at {base} does not answer as a hub: {error}; {cure}")
            }
        })
    }

    fn lines(&self, answer: Response<Body>, follow: bool) -> Lines {
        Lines::new(answer, &self.base, self.time, follow)
    }

    /// Reads a body to its end, in time, and leaves out the line end that the answer to a piece of a stream has.
    fn whole(&self, answer: Response<Body>, most: u64) -> Result<WholeAnswer, Failure> {
        let status = answer.status();
        let body = answer.into_body().into_reader();
        let (sender, receiver) = mpsc::channel();
        // A request that follows a log has no timeout, so a read could block forever. So another thread reads, and
        // this thread waits only for the allowed time.
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = body.take(most + 1).read_to_end(&mut bytes);
            // After the timeout the receiver is gone, so the result is dropped.
            let _ = sender.send(read.map(|_| bytes));
        });
        let read = receiver.recv_timeout(self.time);
        let read = read.map_err(|_| late(&self.base, self.time))?;
        let bytes = read.map_err(|error| broken(&self.base, self.time, &error))?;
        if bytes.len() as u64 > most {
            let what = format!("{status}, and a body of more than {most} bytes");
            return Err(not_a_hub(&self.base, &what));
        }
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        Ok(WholeAnswer { status, text })
    }

    fn refused(&self, answer: &WholeAnswer) -> Failure {
        let WholeAnswer { status, text } = answer;
        let text = match Typed::<ErrorFail<'_>>::decode(text) {
            Ok(error) => {
                let (code, at) = (&error.frame.code, error.frame.at);
                let at = at.map_or(String::new(), |at| format!(" at byte {at}"));
                let due = error.frame.expected_sequence;
                let due = due.map_or(String::new(), |due| format!(", seq:{due}"));
                format!("{code}{at}: the hub expects {}{due}", error.frame.msg)
            }
            Err(_) => format!("{} answers {status}: {}", self.base, shortened(text)),
        };
        let text = on_one_line(&text).into_owned();
        match status.as_u16() {
            401 => Failure::Misuse(format!("{text}; --token-file or ACCP_TOKEN gives one")),
            404 if text.contains("a session") => Failure::Input(format!(
                "{text}: `{}` has not begun, and --session names another",
                self.args.session
            )),
            _ => Failure::Input(text),
        }
    }
}

/// Waits before a frame is sent again under another number: the first time not at all, then for random times that
/// become longer. So many senders with the same name do not disturb each other again and again.
fn pause(tries: u32) {
    let mut random = [0];
    if tries > 1 && getrandom::fill(&mut random).is_ok() {
        let most: u64 = 1 << tries.min(8);
        thread::sleep(Duration::from_millis(most * u64::from(random[0]) / 256));
    }
}

fn busy() -> Failure {
    let why = "other senders under this name take each number first; send the frame again, or longer (--timeout)";
    Failure::Input(why.to_owned())
}

/// Returns the frame without its metadata, the metadata completed for sending, and whether the frame already had a
/// number.
fn envelope(text: &str) -> Result<(String, Envelope<'static>, bool), Failure> {
    let frame = Frame::parse_with(text, &UNLIMITED).map_err(|error| {
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

/// Draws a message id of 12 characters. The first is a letter from `a` to `f`, because the ids of members that have a
/// number in the session begin with a digit. The other eleven are decimal digits, because three decimal digits are
/// one token. The number of tokens matters because an answer has the id in its metadata, and the draft limits the
/// tokens of metadata (section 3.4).
fn new_mid() -> Result<String, Failure> {
    const LETTERS: u64 = 6;
    const NUMBERS: u64 = 100_000_000_000;
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Misuse(format!("the system gives no random bytes: {error}")))?;
    let drawn = u64::from_le_bytes(bytes) % (LETTERS * NUMBERS);
    Ok(format!(
        "{:x}{:011}",
        0xa + drawn / NUMBERS,
        drawn % NUMBERS
    ))
}

/// Returns the number that the hub expects; `None` unless the hub has refused a frame because of its number (E3003).
fn expected(answer: &str) -> Option<u64> {
    let error = Typed::<ErrorFail<'_>>::decode(answer).ok()?.frame;
    let next = error.expected_sequence.filter(|_| error.code == "E3003")?;
    u64::try_from(next).ok()
}

/// Returns whether the error means that an open connection broke.
fn is_cut(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}
