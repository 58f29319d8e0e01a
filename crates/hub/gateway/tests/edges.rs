//! Tests at the edges of answers, sessions and files: answers that stop early, lists that share a session, bodies
//! without a length, and ledgers that belong to somebody else.

use std::sync::{Arc, Mutex};

use accp_gateway::{By, Config, Gateway, GatewayError, Ledger, LedgerError, Policy, Report};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{APIS, Answer, Api, page, reads, says};
use crate::conversation::{Bench, builder, messages, request};
use crate::upstream::Mood;

/// A provider that gives these answers, one for each connection, and then closes it. Returns its URL, and the heads and
/// bodies that it gets.
pub(crate) async fn provider<A>(answers: Vec<A>) -> (String, Arc<Mutex<Vec<String>>>)
where
    A: AsRef<[u8]> + Send + Sync + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let got = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&got);
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let text = heard_whole(&mut stream).await;
            heard.lock().unwrap().push(text);
            stream.write_all(answer.as_ref()).await.unwrap();
        }
    });
    (url, got)
}

/// Reads a request with its body.
async fn heard_whole(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(bytes).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    head + &String::from_utf8(body).unwrap()
}

/// Returns an answer of a provider. With `missing` bytes more than it has, it breaks off.
pub(crate) fn answer(kind: &str, body: &str, missing: usize) -> String {
    let length = body.len() + missing;
    let kind = if kind.is_empty() {
        String::new()
    } else {
        format!("content-type: {kind}\r\n")
    };
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{kind}content-length: {length}\r\n\r\n{body}")
}

/// Returns the chunks of a chat, without the end of the stream.
pub(crate) fn chunks(deltas: &[Json], reason: Option<&str>) -> String {
    let chunk = |delta: &Json, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk = json!({"id": "chat-1", "created": 1, "model": "gpt-m", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let mut all: String = deltas.iter().map(|delta| chunk(delta, None)).collect();
    if reason.is_some() {
        all += &chunk(&json!({}), reason);
    }
    all
}

/// Returns a delta that calls the gateway's tool.
pub(crate) fn call() -> Json {
    let arguments = json!({"result": "c0", "from": 20, "to": 21}).to_string();
    let function = json!({"name": "memory_read", "arguments": arguments});
    json!({"tool_calls": [{"index": 0, "id": "r1", "type": "function", "function": function}]})
}

/// Asks for an answer over a list whose results have lost their middles.
pub(crate) async fn ask(url: String, more: Json) -> reqwest::Response {
    let config = Config {
        openai: url,
        policy: Policy::Save,
        window: Some(6_000),
        ..Config::default()
    };
    let bench = Bench::with(config).await;
    let mut body = Api::Chat.body(&Api::Chat.list(6), true);
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    let answer = bench.post(Api::Chat.path(), "k1", body.to_string()).await;
    // The gateway goes on as long as its task runs.
    std::mem::forget(bench);
    answer
}

pub(crate) const EVENTS: &str = "text/event-stream";

#[tokio::test]
async fn a_stream_that_closes_after_its_reason_has_ended() {
    let first = chunks(&[json!({"content": "I look."}), call()], Some("tool_calls"));
    let last = chunks(&[json!({"content": "Table 9."})], Some("stop"));
    for (missing, is_whole) in [(0, true), (7, false)] {
        // Neither the first turn nor the last one says `[DONE]`.
        let answers = vec![
            answer(EVENTS, &first, missing),
            answer(EVENTS, &last, missing),
        ];
        let (url, got) = provider(answers).await;
        let seen = ask(url, json!({})).await;
        let mut seen = seen;
        let mut text = String::new();
        let end = loop {
            match seen.chunk().await {
                Ok(Some(piece)) => text += std::str::from_utf8(&piece).unwrap(),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        assert_eq!(end, is_whole, "{text}");
        assert!(
            text.contains("I look.") && text.contains("Table 9."),
            "{text}"
        );
        assert!(text.contains("\"finish_reason\":\"stop\""), "{text}");
        assert!(!text.contains("memory_read"), "{text}");
        let asked = got.lock().unwrap()[1].clone();
        let line = page(0).lines().nth(19).unwrap().to_owned();
        assert!(
            asked.contains(&line),
            "the model gets the lines that it asked for"
        );
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_gives_no_reason_and_all_that_came() {
    let came = chunks(
        &[json!({"content": "{\"table\":"}), json!({"content": "9"})],
        None,
    );
    for (more, missing) in [
        (json!({}), 0),
        (json!({"response_format": {"type": "json_schema"}}), 9),
        (json!({"response_format": {"type": "json_schema"}}), 0),
    ] {
        let (url, _) = provider(vec![answer(EVENTS, &came, missing)]).await;
        let mut seen = ask(url, more.clone()).await;
        let mut text = String::new();
        while let Ok(Some(piece)) = seen.chunk().await {
            text += std::str::from_utf8(&piece).unwrap();
        }
        assert_eq!(text, came, "{more}");
    }
}

#[tokio::test]
async fn an_answer_is_read_by_what_was_asked_for_if_it_has_no_type() {
    let whole = |message: &Json, reason: &str| {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        let usage = json!({"prompt_tokens": 5, "completion_tokens": 2});
        json!({"id": "chat-1", "model": "gpt-m", "choices": [choice], "usage": usage}).to_string()
    };
    let mut calls = json!({"role": "assistant", "content": "I look."});
    calls["tool_calls"] = call()["tool_calls"].clone();
    let says = json!({"role": "assistant", "content": "Table 9."});
    for kind in ["", "Application/JSON"] {
        let answers = vec![
            answer(kind, &whole(&calls, "tool_calls"), 0),
            answer(kind, &whole(&says, "stop"), 0),
        ];
        let (url, _) = provider(answers).await;
        let seen = ask(url, json!({"stream": false, "stream_options": null})).await;
        let Answer { text, calls, .. } = Api::Chat.read(&seen.bytes().await.unwrap(), false);
        assert_eq!(
            (&*text, calls.len()),
            ("I look.\n\nTable 9.", 0),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn counts_without_measure_are_cut_and_cost_no_rows() {
    let usage = json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX,
        "prompt_tokens_details": {"cached_tokens": u64::MAX}});
    let choice = json!({"index": 0, "message": {"content": "x"}, "finish_reason": "stop"});
    let body = json!({"model": "gpt-m", "choices": [choice], "usage": usage}).to_string();
    let (openai, _) = provider(vec![answer("application/json", &body, 0); 3]).await;
    let config = Config {
        openai,
        ..Config::default()
    };
    let mut bench = Bench::with(config).await;
    for _ in 0..3 {
        let list = Api::Chat.body(&Api::Chat.list(1), false).to_string();
        let seen = bench.post(Api::Chat.path(), "k1", list).await;
        assert_eq!(seen.text().await.unwrap(), body);
    }
    let ledger = bench.stop().await;
    assert_eq!(ledger.entries(None).unwrap().len(), 3);
    for by in By::ALL {
        assert_eq!(Report::of(&ledger, by).unwrap().rows[0].requests, 3);
    }
}

/// Returns a request of a session that holds many lists.
fn of_session(mut body: Json) -> Json {
    body["metadata"] = json!({"user_id": "u1"});
    body
}

#[tokio::test]
async fn a_refusal_that_nobody_can_judge_changes_no_session() {
    let mut bench = Bench::start(Policy::Append).await;
    let ask = async |calls| {
        let body = of_session(request(messages(calls))).to_string();
        let answer = bench.post("/v1/messages", "k1", body).await;
        answer.status().as_u16()
    };
    bench.upstream.is_first([Mood::Refuses(0), Mood::Busy]);
    assert_eq!(ask(2).await, 429);
    assert_eq!(ask(3).await, 200);
    let kinds: Vec<_> = bench.stop().await.entries(None).unwrap();
    let kinds: Vec<_> = kinds
        .iter()
        .map(|entry| (&*entry.policy, entry.repeated))
        .collect();
    assert_eq!(kinds, [("append", true), ("append", false)]);
}

#[tokio::test]
async fn the_model_reads_on_while_other_lists_of_the_session_come() {
    let config = Config {
        policy: Policy::Save,
        window: Some(6_000),
        ..Config::default()
    };
    let bench = Bench::with(config).await;
    let api = Api::Messages;
    bench
        .upstream
        .says([vec![reads("c0", 20, 21)], vec![says("The first answer.")]]);
    bench.upstream.is_first([Mood::Waits]);
    let body = of_session(api.body(&api.list(6), true)).to_string();
    let open = bench.post(api.path(), "k1", body).await;
    // These requests get default answers, because the answers of the script have been used.
    for number in 0..20 {
        let list = [json!({"role": "user", "content": format!("Another list, {number}.")})];
        let body = of_session(api.body(&list, false)).to_string();
        let other = bench.post(api.path(), "k1", body).await;
        assert_eq!(other.status(), 200);
    }
    bench.upstream.goes_on.notify_one();
    drop(open.bytes().await.unwrap());
    let line = page(0).lines().nth(19).unwrap().to_owned();
    let got = bench.upstream.got();
    let reads = got.iter().filter(|got| {
        let list = got.json()["messages"].to_string();
        list.contains("toolu_c0_20") && list.contains(&line)
    });
    assert_eq!(
        reads.count(),
        1,
        "the model gets the lines: {}",
        got.last().unwrap().json()
    );
}

#[tokio::test]
async fn bodies_pass_whatever_their_head_says_of_them() {
    let bench = Bench::start(Policy::Off).await;
    // HTTP/2 needs no length.
    let client = builder().http2_prior_knowledge().build().unwrap();
    let pieces = futures_util::stream::iter(["{\"a\":", "1}"].map(Ok::<_, std::io::Error>));
    let body = reqwest::Body::wrap_stream(pieces);
    let sent = client.post(bench.url("/v1/files")).body(body).send().await;
    assert_eq!(sent.unwrap().status(), 200);
    assert_eq!(bench.upstream.last().body, "{\"a\":1}");
    // A client may offer another protocol with a request that has a body.
    let address = bench.url("").replace("http://", "");
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let body = request(messages(1)).to_string();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n\
         http2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\nx-api-key: k1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    assert_eq!(bench.upstream.last().body, body);
}

#[tokio::test]
async fn a_path_that_leads_elsewhere_reaches_no_provider() {
    let bench = Bench::start(Policy::Off).await;
    let address = bench.url("").replace("http://", "");
    for (path, status) in [
        ("/v1/files/%2e%2e/models", "400"),
        ("*", "400"),
        ("/accp/v1/gateway/raport", "404"),
    ] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let head = format!(
            "OPTIONS {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: k\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.get(9..12), Some(status), "{path}: {answer}");
    }
    assert!(bench.upstream.got().is_empty());
}

#[tokio::test]
async fn a_page_of_another_site_reaches_no_provider() {
    let bench = Bench::start(Policy::Append).await;
    let send = async |api: Api, name: &str, value: &str| {
        let request = bench.client.post(bench.url(api.path()));
        let request = request.header("x-api-key", "k1").header(name, value);
        let body = api.body(&api.list(1), false).to_string();
        let answer = request.body(body).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    for api in APIS {
        for (name, value) in [("origin", "http://evil.example"), ("host", "evil.example")] {
            let (status, text) = send(api, name, value).await;
            let error: Json = serde_json::from_str(&text).unwrap();
            assert_eq!(status, 403, "{api:?}, {name}: {text}");
            assert_eq!(error["error"]["type"], "invalid_request_error");
            assert!(text.contains("evil.example"), "{text}");
        }
    }
    assert!(bench.upstream.got().is_empty());
    // Pages of this machine, and programs with a browser in them, are not other sites.
    for origin in ["http://localhost:5173", "null", "vscode-webview://0a1b"] {
        let (status, text) = send(Api::Chat, "origin", origin).await;
        assert_eq!(status, 200, "{origin}: {text}");
    }
    assert_eq!(bench.upstream.got().len(), 3);
}

#[tokio::test]
async fn a_provider_that_breaks_off_may_have_taken_the_request() {
    let (openai, got) = provider(vec![String::new()]).await;
    let config = Config {
        openai,
        ..Config::default()
    };
    let mut bench = Bench::with(config).await;
    let body = Api::Chat.body(&Api::Chat.list(1), false).to_string();
    let seen = bench.post(Api::Chat.path(), "k1", body).await;
    assert_eq!(seen.status(), 502);
    let text = seen.text().await.unwrap();
    assert!(
        text.contains("broke off before its answer") && text.contains("may have taken the request"),
        "{text}"
    );
    assert_eq!(got.lock().unwrap().len(), 1, "it is not sent twice");
    let entries = bench.stop().await.entries(None).unwrap();
    let fault = entries[0].fault.as_ref().unwrap();
    assert!(fault.contains("broke off before its answer"), "{fault}");
}

#[tokio::test]
async fn one_gateway_has_a_ledger_and_it_is_its_owner_s() {
    let bench = Bench::start(Policy::Append).await;
    bench.ask(&request(messages(2))).await;
    let file = bench.ledger_file();
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        ..Config::default()
    };
    let second = Gateway::bind(config, file.as_ref()).await;
    assert!(matches!(
        second,
        Err(GatewayError::Ledger(LedgerError::InUse))
    ));
    // Readers need no lock.
    drop(Ledger::open(file.as_ref()).unwrap());
    #[cfg(unix)]
    for file in std::fs::read_dir(bench.folder.path()).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", file.path().display());
    }
}

#[test]
fn the_database_of_another_program_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.db");
    let mine = rusqlite::Connection::open(&file).unwrap();
    mine.execute_batch("CREATE TABLE mine (x)").unwrap();
    drop(mine);
    let before = std::fs::read(&file).unwrap();
    assert!(matches!(Ledger::open(&file), Err(LedgerError::Foreign)));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // A ledger of an older version has no mark, and still counts as a ledger.
    let old = folder.path().join("old.accp");
    drop(Ledger::open(&old).unwrap());
    let mark = rusqlite::Connection::open(&old).unwrap();
    mark.pragma_update(None, "application_id", 0).unwrap();
    drop(mark);
    Ledger::open(&old).unwrap();
}
