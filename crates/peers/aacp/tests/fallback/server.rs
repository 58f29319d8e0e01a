//! Calls of a model on a server. The server is a stub on this machine, in both styles.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use accp_aacp::Vocabulary;
use accp_aacp::fallback::{
    Answer, Fallback, FallbackError, HttpEncoder, MemoryRegistry, ModelErrorKind, Options,
    Registry as _, Request, Source, SqliteRegistry, Style, SystemClock,
};
use serde_json::{Value, json};

const STYLES: [Style; 2] = [Style::OpenAi, Style::Anthropic];
const ENGLISH: &str = "Collect the parking permits of Ada Byron for August 2024";
const PACKET: &str =
    "FETCH|CS|return:AGENT|p:2|aacp:1.1|res:parking_permit|period:2024-08|filter:emp=Ada-Byron";

/// What the stub does with a request.
#[derive(Clone)]
enum Reply {
    /// The model says this.
    Says(String),
    /// The body of the answer is this.
    Body(u16, String),
    /// No answer. The connection stays open.
    Hangs,
    /// The connection is closed.
    Closes,
    /// The body has no end.
    Endless,
}

/// A stub of a server.
struct Stub {
    url: String,
    address: SocketAddr,
    /// The connections that the stub takes, by the addresses of their clients, and how many were counted.
    taken: Mutex<(Receiver<SocketAddr>, usize)>,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Stub {
    fn new(style: Style, reply: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let heard = Arc::clone(&requests);
        let (count, taken) = channel();
        thread::spawn(move || {
            let mut open = Vec::new();
            while let Ok((stream, client)) = listener.accept() {
                if count.send(client).is_err() {
                    break;
                }
                let (reply, heard) = (reply.clone(), Arc::clone(&heard));
                if matches!(reply, Reply::Hangs) {
                    open.push(stream);
                } else {
                    thread::spawn(move || serve(stream, style, &reply, &heard));
                }
            }
        });
        Self {
            url: format!("http://{address}"),
            address,
            taken: Mutex::new((taken, 0)),
            requests,
        }
    }

    /// Returns how many connections the stub has taken so far. The stub takes connections in their order, so this
    /// method opens one more, and counts the connections before it.
    fn calls(&self) -> usize {
        let own = TcpStream::connect(self.address).unwrap();
        let own = own.local_addr().unwrap();
        let (taken, count) = &mut *self.taken.lock().unwrap();
        *count += taken.iter().take_while(|client| *client != own).count();
        *count
    }

    fn encoder(&self, style: Style) -> HttpEncoder {
        let key = Some("k-123".to_owned());
        HttpEncoder::new(&self.url, style, "small", key, Vocabulary::standard()).unwrap()
    }
}

fn serve(
    mut stream: TcpStream,
    style: Style,
    reply: &Reply,
    requests: &Mutex<Vec<(String, Value)>>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        if let Some(found) = line.to_lowercase().strip_prefix("content-length:") {
            length = found.trim().parse().unwrap();
        }
        head += &line;
    }
    // A connection that `calls` opened has no request.
    if head.is_empty() {
        return;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    requests
        .lock()
        .unwrap()
        .push((head, serde_json::from_slice(&body).unwrap()));
    let (status, body) = match reply {
        Reply::Says(text) => (200, answer(style, text)),
        Reply::Body(status, body) => (*status, body.clone()),
        Reply::Hangs | Reply::Closes => return,
        Reply::Endless => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"x\":\"";
            let mut sent = stream.write_all(head.as_bytes());
            while sent.is_ok() {
                sent = stream.write_all(&[b'x'; 4096]);
            }
            return;
        }
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // A client that has closed the connection does not need the answer.
    let _ = stream.write_all((head + &body).as_bytes());
}

fn answer(style: Style, text: &str) -> String {
    let json = match style {
        Style::OpenAi => json!({ "choices": [{
            "finish_reason": "stop", "message": { "role": "assistant", "content": text },
        }] }),
        Style::Anthropic => json!({
            "stop_reason": "end_turn", "content": [{ "type": "text", "text": text }],
        }),
    };
    json.to_string()
}

fn request(receiver: &str, priority: &str) -> Request {
    Request::new(ENGLISH, "CS", receiver, priority).unwrap()
}

fn says(text: &str) -> Reply {
    Reply::Says(text.to_owned())
}

/// Asks once, with a registry in memory.
fn once(style: Style, reply: Reply, deadline: Duration) -> Result<Answer, FallbackError> {
    let stub = Stub::new(style, reply);
    let mut encoder = stub.encoder(style);
    encoder.set_deadline(deadline);
    let mut fallback = Fallback::new(MemoryRegistry::default(), encoder);
    let request = request("Desk", "3");
    let first = fallback.encode(&request, Options::default(), &mut SystemClock);
    assert_eq!(stub.calls(), 1, "one try");
    if first.is_err() {
        assert_eq!(
            fallback.registry().find(&request.key()),
            Ok(None),
            "nothing is stored"
        );
        let second = fallback.encode(&request, Options::default(), &mut SystemClock);
        assert_eq!(second, first);
        assert_eq!(stub.calls(), 2, "the next request asks again");
    }
    first
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn aacp_37_accepts_the_packet_with_the_receiver_of_the_caller() {
    for style in STYLES {
        for text in [
            PACKET.to_owned(),
            format!("```\n{PACKET}\n```"),
            json!({ "packet": PACKET }).to_string(),
        ] {
            let answer = once(style, Reply::Says(text), LONG).unwrap();
            let packet = "FETCH|CS|return:Desk|p:3|aacp:1.1|res:parking_permit|period:2024-08|\
                          filter:emp=Ada-Byron";
            assert_eq!(answer.packet.text(), packet);
            assert_eq!(
                (answer.source, answer.times_seen, answer.llm_calls),
                (Source::Llm, Some(1), 1)
            );
        }
    }
}

#[test]
fn aacp_36_refuses_what_is_not_one_packet() {
    for style in STYLES {
        for text in [
            "Sorry, I cannot do that.".to_owned(),
            format!("{PACKET}\n{PACKET}"),
            format!("{PACKET}|return:EVIL"),
            format!("Sure: {PACKET}"),
            PACKET.replace("return:AGENT", "return:"),
            String::new(),
        ] {
            let error = once(style, says(&text), LONG).unwrap_err();
            assert_eq!(error.code(), "model-refused", "{text}: {error}");
            assert!(!error.to_string().contains("EVIL"));
        }
        for body in ["", "{}", "[1]", "{\"choices\":[],\"content\":3}", "<html>"] {
            let error = once(style, Reply::Body(200, body.to_owned()), LONG).unwrap_err();
            assert_eq!(error.code(), "model-refused", "{body}: {error}");
        }
    }
}

#[test]
fn an_answer_that_was_cut_off_is_refused() {
    let openai = answer(Style::OpenAi, PACKET).replace("stop\"", "length\"");
    let anthropic = answer(Style::Anthropic, PACKET).replace("end_turn", "max_tokens");
    for (style, body) in STYLES.into_iter().zip([openai, anthropic]) {
        let error = once(style, Reply::Body(200, body), LONG).unwrap_err();
        assert_eq!(error.code(), "model-refused");
    }
}

#[test]
fn aacp_43_refuses_to_store_a_failure_and_bounds_its_cost() {
    for style in STYLES {
        for status in [302, 401, 404, 429, 500, 503] {
            let error = once(style, Reply::Body(status, answer(style, PACKET)), LONG).unwrap_err();
            assert_eq!(error.code(), "model-status");
            assert!(error.to_string().contains(&status.to_string()));
        }
        let error = once(style, Reply::Endless, LONG).unwrap_err();
        assert_eq!(error.code(), "model-too-large");
        let error = once(style, Reply::Closes, LONG).unwrap_err();
        assert_eq!(error.code(), "model-unreachable");
        let error = once(style, Reply::Hangs, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.code(), "model-timeout");
    }
}

#[test]
fn aacp_36_accepts_the_specification_as_prompt_and_hides_the_key() {
    for style in STYLES {
        let stub = Stub::new(style, Reply::Body(401, String::new()));
        let encoder = stub.encoder(style);
        assert!(!format!("{encoder:?}").contains("k-123"));
        let mut fallback = Fallback::new(MemoryRegistry::default(), encoder);
        let error = fallback.encode(&request("Desk", "3"), Options::default(), &mut SystemClock);
        let error = error.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("k-123"));
        let requests = stub.requests.lock().unwrap();
        let [(head, body)] = &requests[..] else {
            panic!("one request")
        };
        let head = head.to_lowercase();
        assert_eq!(body["model"], "small");
        let messages = body["messages"].as_array().unwrap();
        assert!(
            messages.last().unwrap()["content"]
                .as_str()
                .unwrap()
                .contains(ENGLISH)
        );
        let system = match style {
            Style::OpenAi => {
                assert!(head.starts_with("post /v1/chat/completions http/1.1"));
                assert!(head.contains("authorization: bearer k-123"));
                messages[0]["content"].as_str().unwrap()
            }
            Style::Anthropic => {
                assert!(head.starts_with("post /v1/messages http/1.1"));
                assert!(
                    head.contains("x-api-key: k-123") && head.contains("anthropic-version: 20")
                );
                assert!(body["max_tokens"].as_u64().unwrap() > 0);
                body["system"].as_str().unwrap()
            }
        };
        for word in ["FETCH", "LEGAL", "data_ptr", "aacp:1.1"] {
            assert!(system.contains(word), "{word}");
        }
        assert!(
            !system.contains("Desk"),
            "the model does not need to know who receives"
        );
    }
}

#[test]
fn a_base_url_may_end_in_its_version() {
    let stub = Stub::new(Style::OpenAi, says(PACKET));
    for end in ["", "/", "/v1", "/v1/"] {
        let url = format!("{}{end}", stub.url);
        let encoder = HttpEncoder::new(&url, Style::OpenAi, "m", None, Vocabulary::standard());
        let mut fallback = Fallback::new(MemoryRegistry::default(), encoder.unwrap());
        fallback
            .encode(&request("A", "2"), Options::default(), &mut SystemClock)
            .unwrap();
    }
    let requests = stub.requests.lock().unwrap();
    assert_eq!(requests.len(), 4);
    assert!(
        requests
            .iter()
            .all(|(head, _)| head.starts_with("POST /v1/chat/completions "))
    );
}

#[test]
fn a_server_that_cannot_be_called_safely_is_refused() {
    let new = |url: &str, key: Option<&str>| {
        let key = key.map(str::to_owned);
        let made = HttpEncoder::new(url, Style::OpenAi, "m", key, Vocabulary::standard());
        made.map(drop).map_err(|error| error.to_string())
    };
    for url in [
        "",
        "x",
        "ftp://x",
        "http://",
        "/v1",
        "http://x/?a=b",
        "http://u:p@x",
    ] {
        assert!(new(url, None).is_err(), "{url}");
    }
    for key in ["", "a b", "a\nb", "ä"] {
        assert!(new("https://x.example", Some(key)).is_err(), "{key}");
    }
    assert!(new("http://x.example", Some("k")).is_err());
    assert!(new("http://127.0.0.1.example", Some("k")).is_err());
    for (url, key) in [
        ("http://x.example", None),
        ("https://x.example/base", Some("k")),
        ("http://localhost:1", Some("k")),
        ("http://[::1]:1", Some("k")),
    ] {
        assert_eq!(new(url, key), Ok(()), "{url}");
    }
}

/// 64 threads with one new instruction, on one file: one call, and 64 equal packets.
#[test]
fn aacp_44_accepts_a_crowd_with_one_call() {
    const CROWD: usize = 64;
    for style in STYLES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.aacp");
        let stub = Stub::new(style, says(PACKET));
        let barrier = Barrier::new(CROWD);
        let answers: Vec<Answer> = thread::scope(|scope| {
            let threads: Vec<_> = (0..CROWD)
                .map(|_| {
                    scope.spawn(|| {
                        let registry = SqliteRegistry::open(&path).unwrap();
                        let mut fallback = Fallback::new(registry, stub.encoder(style));
                        barrier.wait();
                        let request = request("Desk", "2");
                        fallback
                            .encode(&request, Options::default(), &mut SystemClock)
                            .unwrap()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert_eq!(stub.calls(), 1);
        assert!(
            answers
                .iter()
                .all(|answer| answer.packet == answers[0].packet)
        );
        assert_eq!(
            answers.iter().map(|answer| answer.llm_calls).sum::<u32>(),
            1
        );
        let mut seen: Vec<_> = answers.iter().map(|answer| answer.times_seen).collect();
        seen.sort_unstable();
        assert!(
            seen.into_iter().eq((1..=64).map(Some)),
            "each request is counted once"
        );
    }
}

/// Instructions that are similar to a stored one never get its packet: each of them gets another packet, or causes a
/// call.
#[test]
fn neighbours_of_a_stored_instruction_never_get_its_packet() {
    let stub = Stub::new(Style::OpenAi, says(PACKET));
    let mut fallback = Fallback::new(MemoryRegistry::default(), stub.encoder(Style::OpenAi));
    let mut ask = |english: &str, dom: &str, receiver: &str| {
        let request = Request::new(english, dom, receiver, "2").unwrap();
        let answer = fallback.encode(&request, Options::default(), &mut SystemClock);
        (answer.unwrap().packet.text().to_owned(), stub.calls())
    };
    let first = ask(ENGLISH, "CS", "Desk");
    assert_eq!(first.1, 1);
    assert_eq!(ask(ENGLISH, "CS", "Desk"), first);
    let (other, calls) = ask(ENGLISH, "CS", "Other");
    assert_eq!((other, calls), (first.0.replace("Desk", "Other"), 1));
    let (september, calls) = ask(&ENGLISH.replace("August", "September"), "CS", "Desk");
    assert_eq!(
        (september, calls),
        (first.0.replace("2024-08", "2024-09"), 1)
    );
    assert_eq!(
        ask(&ENGLISH.replace("Collect", "Delete"), "CS", "Desk").1,
        2
    );
    let (domain, calls) = ask(ENGLISH, "HR", "Desk");
    assert_eq!((domain, calls), (first.0.replace("|CS|", "|HR|"), 3));
}

#[test]
fn kinds_of_failures_have_names_that_lead_back() {
    for kind in [
        ModelErrorKind::Unreachable,
        ModelErrorKind::TimedOut,
        ModelErrorKind::Status,
        ModelErrorKind::TooLarge,
        ModelErrorKind::Refused,
    ] {
        assert_eq!(ModelErrorKind::named(kind.as_str()), Some(kind));
    }
}
