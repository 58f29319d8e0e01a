//! Tests of `accp gateway` as a separate process, with a small provider behind it. After a gateway was killed and
//! started again, it continues its sessions.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value as Json, json};

use super::{Folder, Run, Words as _, command, finish};

/// Reads a message of HTTP: its head, and a body of the length that the head states.
fn read_message(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}

/// Starts a provider that answers each request with an empty content and a count of tokens. Returns its URL, and a
/// receiver of the requests.
fn provider() -> (String, Receiver<String>) {
    provider_with(|_| json!([]))
}

/// Starts a provider. It answers each request with the content that `content` returns for the request, and with a
/// count of tokens.
fn provider_with(content: fn(&str) -> Json) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (got, gets) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let got = got.clone();
            thread::spawn(move || {
                while let Some((_, body)) = read_message(&stream) {
                    let tokens = body.len() / 4;
                    let content = content(&body);
                    let stop = content[0]["type"].as_str().unwrap_or("end_turn");
                    let answer = json!({"model": "claude-m", "role": "assistant", "content": content,
                        "stop_reason": stop, "usage": {"input_tokens": tokens, "output_tokens": 5}});
                    let answer = answer.to_string();
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                        answer.len()
                    );
                    if got.send(body).is_err() || write!(&stream, "{head}{answer}").is_err() {
                        break;
                    }
                }
            });
        }
    });
    (url, gets)
}

struct Gateway {
    process: Child,
    address: String,
}

impl Gateway {
    fn start(folder: &Path, args: &str) -> Self {
        let mut command = command();
        let args = format!("gateway --listen 127.0.0.1:0 {args}");
        command.current_dir(folder).args(args.words());
        Self::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let first = lines
            .find(|line| line.contains("gateway at http://"))
            .unwrap();
        let address = first
            .split("http://")
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap()
            .to_owned();
        let second = lines.next().unwrap();
        assert!(
            second.contains(&format!("ANTHROPIC_BASE_URL=http://{address} ")),
            "{second}"
        );
        Self { process, address }
    }

    fn ask(&self, body: &str) -> String {
        self.asked(body).0
    }

    /// Sends a request, and returns its session and its answer.
    fn asked(&self, body: &str) -> (String, Json) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {}\r\nx-api-key: sk-1\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        let (head, body) = read_message(&stream).unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}{body}");
        let session = head
            .lines()
            .find_map(|line| line.strip_prefix("x-accp-session: "));
        let answer = serde_json::from_str(&body).unwrap();
        (session.unwrap_or_default().to_owned(), answer)
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Returns a request whose list has `calls` calls of a tool. The results of the tool are records.
fn request(calls: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "Which slots are free?"})];
    for call in 0..calls {
        let rows = (0..40).map(
            |n| json!({"slot": format!("K{call}-{n}"), "day": "2031-06-01", "free": n % 3 == 0}),
        );
        let rows = Json::Array(rows.collect()).to_string();
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": format!("c{call}"), "name": "slots", "input": {}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": format!("c{call}"), "content": rows}]}));
    }
    // A cache keeps no list of fewer than 1,024 tokens, and the gateway shortens no list below that size.
    let system = "You book tables. ".repeat(400);
    json!({"model": "claude-m", "max_tokens": 9, "system": system, "messages": messages})
        .to_string()
}

fn accp(folder: &Path, line: &str) -> Run {
    finish(command().current_dir(folder).args(line.words()), b"")
}

#[test]
fn a_gateway_that_is_killed_goes_on_with_the_same_lists() {
    let folder = Folder::with(&[]);
    let folder = folder.0.path();
    let (url, gets) = provider();
    let args = format!("--upstream anthropic={url}");
    let mut before: Vec<Json> = Vec::new();
    for calls in 1..5 {
        let gateway = Gateway::start(folder, &args);
        for _ in 0..2 {
            let given = request(calls);
            let session = gateway.ask(&given);
            assert_eq!(session.len(), 32);
            let sent = gets.recv().unwrap();
            assert!(
                sent.len() * 10 < given.len() * 9,
                "{} of {}",
                sent.len(),
                given.len()
            );
            let sent: Json = serde_json::from_str(&sent).unwrap();
            let messages = sent["messages"].as_array().unwrap();
            assert!(messages.starts_with(&before));
            before.clone_from(messages);
        }
        gateway.kill();
    }
}

/// Returns the answers of a model: at first, a call that reads a line of the first result; then a call of `slots`;
/// then the end.
fn reading(body: &str) -> Json {
    let json: Json = serde_json::from_str(body).unwrap();
    let has = |id: &str| body.contains(&format!("\"id\":\"{id}\""));
    let offers = json["tools"].to_string().contains("memory_read");
    if offers && !has("toolu_m") {
        json!([{"type": "tool_use", "id": "toolu_m", "name": "memory_read", "input": {"result": "c0", "from": 20, "to": 20}}])
    } else if !has("toolu_c") {
        json!([{"type": "tool_use", "id": "toolu_c", "name": "slots", "input": {}}])
    } else {
        json!([{"type": "text", "text": "Done."}])
    }
}

#[test]
fn what_has_left_is_read_again_after_a_kill() {
    let folder = Folder::with(&[]);
    let folder = folder.0.path();
    let (url, gets) = provider_with(reading);
    let args = format!("--upstream anthropic={url} --policy save --window 6000");
    let line =
        |call: usize, n: usize| format!("guest {call}-{n} asks for table {}", n * 7919 % 1009);
    let result = |call: usize| {
        (0..150)
            .map(|n| line(call, n))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let mut messages = vec![json!({"role": "user", "content": "Which slots are free?"})];
    for call in 0..6 {
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": format!("c{call}"), "name": "slots", "input": {"day": call}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": format!("c{call}"), "content": result(call)}]}));
    }
    let body = |messages: &[Json]| {
        json!({"model": "claude-m", "max_tokens": 9, "messages": messages}).to_string()
    };
    let gateway = Gateway::start(folder, &args);
    let (_, answer) = gateway.asked(&body(&messages));
    gateway.kill();
    assert_eq!(answer["content"][0]["id"], "toolu_c");
    assert_eq!(answer["content"].as_array().unwrap().len(), 1);
    let lists: Vec<Json> = gets
        .try_iter()
        .map(|body| serde_json::from_str(&body).unwrap())
        .collect();
    assert_eq!(lists.len(), 2);
    assert!(!lists[0].to_string().contains(&line(0, 19)));
    let before = lists[1]["messages"].as_array().unwrap();
    assert_eq!(before.last().unwrap()["content"][0]["content"], line(0, 19));
    messages.push(json!({"role": "assistant", "content": answer["content"]}));
    messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_c", "content": "K1"}]}));
    let gateway = Gateway::start(folder, &args);
    let (_, answer) = gateway.asked(&body(&messages));
    gateway.kill();
    assert_eq!(answer["content"][0]["text"], "Done.");
    let now: Json = serde_json::from_str(&gets.recv().unwrap()).unwrap();
    assert!(now["messages"].as_array().unwrap().starts_with(before));
    assert!(gets.try_recv().is_err(), "one request was enough");
}

#[test]
fn a_ledger_says_what_was_saved_and_signs_it() {
    let folder = Folder::with(&[]);
    let folder = folder.0.path();
    let (url, _gets) = provider();
    let missing = accp(folder, "gateway report");
    missing.code_is(2).stderr_has("gateway.accp");
    let gateway = Gateway::start(folder, &format!("--upstream anthropic={url}"));
    let session = gateway.ask(&request(3));
    let rows = || accp(folder, "gateway report --by session --json").stdout;
    let mut report = rows();
    while serde_json::from_str::<Json>(&report).unwrap()["all"]["requests"] != 1 {
        report = rows();
    }
    let report: Json = serde_json::from_str(&report).unwrap();
    assert_eq!(report["rows"][0]["of"], session);
    assert!(report["all"]["cost"].as_f64() < report["all"]["plain"].as_f64());
    let table = accp(folder, "gateway report --by model").stdout;
    assert!(table.contains("claude-m"), "{table}");
    let receipt = accp(folder, &format!("gateway receipt {session}"));
    receipt.code_is(0);
    std::fs::write(folder.join("receipt.json"), &receipt.stdout).unwrap();
    let key = accp(folder, "gateway key").stdout;
    let checked = accp(
        folder,
        &format!("gateway verify receipt.json --key {}", key.trim()),
    );
    checked.stdout_starts("The signature holds.");
    let forged = receipt.stdout.replace("\"requests\":1", "\"requests\":7");
    std::fs::write(folder.join("receipt.json"), forged).unwrap();
    let checked = accp(folder, "gateway verify receipt.json");
    checked.code_is(1).stderr_has("the receipt has changed");
    gateway.kill();
}

#[test]
fn settings_that_do_not_fit_are_refused_with_a_cure() {
    let folder = Folder::with(&[]);
    for (args, cure) in [
        ("--upstream openai", "anthropic=URL or openai=URL"),
        ("--upstream openai=llm.example.com", "the URL of an API"),
        (
            "--upstream openai=http://llm.example.com/?v=1",
            "without `?`",
        ),
        (
            "--upstream openai=http://llm.example.com/#v1",
            "without `?`",
        ),
        (
            "--upstream openai=http://one.example --upstream openai=http://two.example",
            "give one URL for each API",
        ),
        ("--keep none", "off or shadow"),
        ("--holdout 2", "from 0 to 1"),
        ("--listen 0.0.0.0:0", "--allow-remote"),
        ("--policy less", "append, save or window"),
        ("--policy window", "--window 100000"),
        ("--window 9000", "--policy save or window"),
        ("--policy save --keep none", "off or shadow"),
        ("--predict window", "add --policy shadow"),
        ("--policy shadow --predict off", "append, save or window"),
        ("--policy shadow --predict window", "--window 100000"),
        ("--key-file none.key", "none.key"),
        ("--upstream-ca none.pem", "none.pem"),
    ] {
        let run = accp(folder.0.path(), &format!("gateway {args}"));
        run.code_is(2).stderr_has(cure);
        assert!(!folder.path("gateway.accp").exists(), "{args}");
    }
}

/// A gateway that cannot listen makes no ledger, and a ledger that another gateway has is misuse, as with a hub.
#[test]
fn a_gateway_that_cannot_start_makes_no_ledger() {
    let folder = Folder::with(&[]);
    let one = Gateway::start(folder.0.path(), "--ledger one.accp");
    let other = accp(
        folder.0.path(),
        &format!("gateway --listen {} --ledger other.accp", one.address),
    );
    other.code_is(2).stderr_has("--listen");
    assert!(!folder.path("other.accp").exists());
    let same = accp(
        folder.0.path(),
        "gateway --listen 127.0.0.1:0 --ledger one.accp",
    );
    same.code_is(2).stderr_has("another gateway");
    one.kill();
}

/// Of two requests, the slower one is the 99th percentile.
#[test]
fn a_report_of_two_requests_names_the_slower_one() {
    let folder = Folder::with(&[]);
    let folder = folder.0.path();
    let (url, _gets) = provider();
    let gateway = Gateway::start(folder, &format!("--upstream anthropic={url}"));
    gateway.ask(&request(3));
    gateway.ask(&request(1).replace("Which slots are free?", "Which tables are free?"));
    let all = loop {
        let report = accp(folder, "gateway report --json").stdout;
        let report: Json = serde_json::from_str(&report).unwrap();
        if report["all"]["requests"] == 2 {
            break report;
        }
    };
    gateway.kill();
    let added = |row: &Json, at: usize| row["added_us"][at].as_u64().unwrap();
    let [one, two] = [0_usize, 1].map(|row| added(&all["rows"][row], 0));
    let both = [0, 1].map(|at| added(&all["all"], at));
    assert_eq!(both, [one.min(two), one.max(two)]);
}

#[test]
fn random_bytes_that_begin_with_a_blank_are_a_key() {
    let folder = Folder::with(&[]);
    let mut key = [0x99; 32];
    key[0] = b'\t';
    std::fs::write(folder.path("random.key"), key).unwrap();
    let folder = folder.0.path();
    for _ in 0..2 {
        Gateway::start(folder, "--key-file random.key").kill();
    }
    let other = accp(folder, "gateway --listen 127.0.0.1:0");
    other.code_is(1).stderr_has("with --key-file");
}

#[test]
fn a_ledger_that_cannot_be_written_is_named_with_a_cure() {
    let folder = Folder::with(&[("file", "")]);
    for ledger in ["missing/gateway.accp", "file/gateway.accp"] {
        let line = format!("gateway --listen 127.0.0.1:0 --ledger {ledger}");
        let run = accp(folder.0.path(), &line);
        run.code_is(2);
        let error = format!("error: {ledger}: the ledger cannot be written (");
        run.stderr_has(&error);
        run.stderr_has("with --ledger");
    }
}

/// A file that is not a text is bad input, and not a file that cannot be read.
#[test]
fn a_receipt_that_is_not_a_text_is_bad_input() {
    let folder = Folder::with(&[]);
    std::fs::write(folder.path("receipt.json"), b"{\"a\":\xff}").unwrap();
    let run = accp(folder.0.path(), "gateway verify receipt.json");
    run.code_is(1);
    let told = "error: receipt.json: byte 5 is not UTF-8; give a receipt";
    run.stderr_starts(told);
}

/// Each request takes two open files, and many systems let a program begin with few.
#[cfg(target_os = "linux")]
#[test]
fn a_gateway_takes_as_many_connections_as_the_system_allows() {
    let folder = Folder::with(&[]);
    let mut few = Command::new("sh");
    few.current_dir(folder.0.path());
    let script = r#"ulimit -Sn 64; exec "$0" gateway --listen 127.0.0.1:0"#;
    few.args(["-c", script, super::PROGRAM]);
    let gateway = Gateway::spawn(&mut few);
    let connect = || TcpStream::connect(&gateway.address).unwrap();
    let open: Vec<_> = (0..100).map(|_| connect()).collect();
    let mut last = connect();
    let patience = std::time::Duration::from_secs(30);
    last.set_read_timeout(Some(patience)).unwrap();
    last.write_all(b"GET /accp/v1/gateway/ready HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        .unwrap();
    let (head, _) = read_message(&last).expect("an answer in time");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    drop(open);
    gateway.kill();
}
