//! Tests of commands with hostile input: servers that are not hubs, servers that attack, and damaged files.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rusqlite::Connection;

use super::hub::{Running, run};
use super::{Folder, Run, command, finish, workspace};

const ASK: &str = "@guest>req:chat{content:Lunch?|schema:CH}";
const ACK: &str = "@hub>ack:frame{}[mid:910000001001,seq:1,ts:1767225600]";
const PIECE: &str =
    "@cook>stream:chat{idx:0|d:Pum|schema:ST}[mid:102000001001,seq:1,ts:1767225600]";

/// Characters that can control a terminal or hide text: sequences for a title and a colour, a C1 control character, a
/// change of direction, and invisible marks.
const HARM: &str = "\u{1b}]0;owned\u{7}\u{1b}[31m\u{9b}2J\u{202e}\u{200f}\u{61c}\u{2066}\r";

/// Checks that the output of a command shows the characters of [`HARM`] only in escaped form.
fn assert_harmless(run: &Run) {
    let said = format!("{}{}", run.stdout, run.stderr);
    for harm in HARM.chars() {
        assert!(!said.contains(harm) || harm.is_ascii_graphic(), "{said:?}");
    }
    assert!(said.contains(r"\u{9b}"), "it is told, and escaped: {said}");
}

/// Starts a server that calls `answer` with the head of each request. Returns its address.
fn stranger(answer: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), Arc::clone(&answer));
            std::thread::spawn(move || {
                let head = request(&mut stream);
                answer(&mut stream, &head);
            });
        }
    });
    url
}

/// Reads a whole request, and returns its head. Bytes of a request that the server does not read could reset the
/// connection.
fn request(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {
        let line = head.lines().last().unwrap_or_default().to_lowercase();
        if let Some(count) = line.strip_prefix("content-length:") {
            length = count.trim().parse().unwrap();
        }
    }
    let _ = reader.read_exact(&mut vec![0; length]);
    head
}

/// Starts a server that gives each request the same answer, and then closes the connection.
fn speaker(status: &str, body: &str) -> String {
    let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: ");
    let answer = format!("{head}{}\r\n\r\n{body}", body.len());
    stranger(move |stream, _| stream.write_all(answer.as_bytes()).unwrap())
}

/// Returns the command lines of all commands that read from a hub.
fn readers(url: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["send", "--hub", url, ASK],
        vec!["ask", "--hub", url, ASK],
        vec!["tail", "--hub", url],
        vec!["tail", "--hub", url, "--no-follow"],
        vec!["erase", "--hub", url, "--from", "dev"],
    ]
}

/// Runs every command that reads from a hub, with a time limit of one second where the command has one.
fn run_all(url: &str, more: &str) -> Vec<Run> {
    let all = readers(url);
    std::thread::scope(|scope| {
        let runs: Vec<_> = all
            .iter()
            .map(|args| scope.spawn(move || run((args, more))))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

/// Writes this text slowly, again and again, until the other side has closed the connection.
fn drip(stream: &mut TcpStream, drop: &str) {
    stream
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    loop {
        let is_gone = matches!(stream.read(&mut [0; 64]), Ok(0));
        if is_gone || stream.write_all(drop.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn every_command_ends_when_a_hub_does_not_answer() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let silent = stranger(|stream, _| drip(stream, ""));
    let slow_head = stranger(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
        drip(stream, "x: y\r\n");
    });
    let slow_body = stranger(|stream, _| {
        stream.write_all(HEAD.as_bytes()).unwrap();
        drip(stream, "1\r\na\r\n");
    });
    let slow_lines = stranger(|stream, head| {
        stream.write_all(HEAD.as_bytes()).unwrap();
        // A client that follows a log waits for the next line without a limit.
        let is_followed = head.contains("follow=true");
        drip(
            stream,
            if is_followed {
                "1\r\na\r\n"
            } else {
                "1\r\n\n\r\n"
            },
        );
    });
    let slow_refusal = stranger(|stream, _| {
        let head = HEAD.replace("200 OK", "500 Oh");
        stream.write_all(head.as_bytes()).unwrap();
        drip(stream, "1\r\na\r\n");
    });
    std::thread::scope(|scope| {
        for url in [&slow_refusal, &silent, &slow_head, &slow_body, &slow_lines] {
            scope.spawn(move || {
                for run in run_all(url, "--timeout 1") {
                    assert!(matches!(run.code, Some(1 | 2)), "{}", run.stderr);
                    let part = run.stderr.contains(" s; --timeout waits longer")
                        || run.stderr.contains("the rest does not come within");
                    assert!(part && run.stderr.contains(url), "{}", run.stderr);
                }
            });
        }
    });
}

#[test]
fn a_line_and_a_body_are_bounded() {
    const PIECE: usize = 1 << 16;
    let most = Arc::new(AtomicUsize::new(0));
    let sent = Arc::clone(&most);
    let endless = stranger(move |stream, _| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let chunk = format!("{PIECE:x}\r\n{}\r\n", "x".repeat(PIECE));
        let mut count = 0;
        while stream.write_all(chunk.as_bytes()).is_ok() {
            count += PIECE;
        }
        sent.fetch_max(count, Ordering::Relaxed);
    });
    for run in run_all(&endless, "") {
        run.code_is(1);
        run.stderr_has("of more than");
    }
    // The count also includes bytes in buffers that the command never read. So the limit is large.
    assert!(most.load(Ordering::Relaxed) < 128 << 20, "{most:?}");
}

#[test]
fn no_redirect_is_followed() {
    let (asked, was_asked) = mpsc::channel();
    let elsewhere = stranger(move |stream, head| {
        asked.send(head.to_owned()).unwrap();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", ACK.len());
        stream.write_all((answer + ACK).as_bytes()).unwrap();
    });
    for code in ["301", "302", "303", "307", "308"] {
        let status = format!("{code} Moved\r\nlocation: {elsewhere}/accp");
        let hub = speaker(&status, "");
        for run in run_all(&hub, "") {
            run.code_is(2);
            let place = format!("points to {elsewhere}/accp");
            run.stderr_has(&place);
        }
        run(["ready", "--hub", &hub]).code_is(1);
    }
    assert!(was_asked.try_recv().is_err());
}

#[test]
fn what_is_not_an_answer_of_a_hub_is_no_success() {
    for body in ["<html>\n<p>Welcome</p>", "", "{}", "[]", "\n"] {
        let page = speaker("200 OK", body);
        for run in run_all(&page, "") {
            // An empty log ends at once, so an empty body may be a valid answer.
            let is_empty = body.trim().is_empty();
            assert!(
                run.code == Some(1) || (is_empty && run.stderr.is_empty()),
                "{body:?}: {:?} {}",
                run.code,
                run.stderr
            );
        }
    }
    let page = speaker("200 OK", "<html>");
    for run in run_all(&page, "") {
        let part = format!("what answers at {page} does not answer as a hub: <html>");
        run.stderr_has(&part);
    }
    // A server answers, so the error must not report that there is no hub.
    for status in ["500 Oh", "404 No", "200"] {
        for run in run_all(&speaker(status, "no\u{9b}"), "") {
            assert!(!run.stderr.contains("no hub at"), "{}", run.stderr);
            assert_harmless(&run);
        }
    }
    let closed = stranger(|_, _| {});
    for run in run_all(&closed, "") {
        run.code_is(2);
        assert!(!run.stderr.contains("no hub at"), "{}", run.stderr);
        run.stderr_has("the request may have arrived");
    }
}

#[test]
fn an_answer_without_an_end_is_not_one() {
    let ends = speaker("200 OK", &format!("{PIECE}\n"));
    let fail = "@hub>fail:error{code:E3001|msg:late|schema:ER}[mid:100000000000,seq:1,ts:1]";
    let body = format!("{PIECE}\n{fail}\n");
    let cut = stranger(move |stream, _| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let chunk = format!("{head}{:x}\r\n{body}\r\n", body.len());
        stream.write_all(chunk.as_bytes()).unwrap();
    });
    for url in [ends, cut] {
        for words in ["", "--words"] {
            run((["ask", "--timeout", "3", "--hub", &url, ASK], words))
                .code_is(1)
                .stderr_has("is not whole")
                .stdout_has("cook");
        }
    }
}

#[test]
fn a_hub_cannot_write_to_a_terminal() {
    let url = speaker("403 No", &format!("{HARM}\nerror: fake"));
    let mut all = readers(&url);
    all.push(vec!["agent", "cook", "--hub", &url, "--", "true"]);
    for args in all {
        let run = run(&args);
        assert_ne!(run.code, Some(0));
        assert_harmless(&run);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
    for sides in ["\"none\"", "null", "{}", "[7]"] {
        let url = speaker(
            "200 OK",
            &format!("{{\"session\":\"main\",\"sides\":{sides}}}"),
        );
        for format in ["text", "json"] {
            let run = run(["erase", "--hub", &url, "--from", "dev", "--format", format]);
            assert_ne!(run.code, Some(0), "{sides}");
            assert!(
                run.stdout.is_empty() && !run.stderr.contains("nothing is left"),
                "{}",
                run.stderr
            );
        }
    }
    let told = serde_json::json!({ "sides": [{ "side": HARM, "positions": [1], "keys": [HARM] }] });
    let url = speaker("200 OK", &told.to_string());
    let run = run(["erase", "--hub", &url, "--from", "dev"]);
    run.code_is(0);
    assert_harmless(&run);
}

#[test]
fn a_file_cannot_write_to_a_terminal() {
    let frame = format!("@dev>req:plan{{goal:{HARM}}}\n@dev>req:{HARM}plan{{}}\n");
    let frame = frame.replace('\r', "");
    let folder = Folder::with(&[("frames", &frame)]);
    for name in ["check", "fix", "decode", "explain", "tokens"] {
        for colours in ["0", "1"] {
            let mut run = command();
            run.args([name, "frames"]).current_dir(folder.path("."));
            let run = finish(run.env("CLICOLOR_FORCE", colours), b"");
            run.code_is(1);
            let said = format!("{}{}", run.stdout, run.stderr);
            for harm in [
                '\u{7}', '\u{9b}', '\u{202e}', '\u{200f}', '\u{61c}', '\u{2066}',
            ] {
                assert!(!said.contains(harm), "{name}: {said:?}");
            }
            assert!(!said.contains("\u{1b}]"), "{name}: {said:?}");
            assert!(said.contains(r"\u{9b}"), "{name}: {said}");
        }
    }
    let message = serde_json::json!({
        "agent": "dev", "intent": "req", "operation": "plan", HARM: 1, "payload": { HARM: 1 },
    });
    let run = folder.run("encode", message.to_string());
    assert_ne!(run.code, Some(0), "{}", run.stdout);
    assert_harmless(&run);

    let made = folder.run("registry show --format json TA", "");
    let mut schema: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    schema["doc"] = format!("{HARM}\nforged").into();
    schema["frames"][0]["doc"] = "Meant.\nforged".into();
    let name = schema.as_object_mut().unwrap().remove("name").unwrap();
    let registry = serde_json::json!({ "schemas": { name.as_str().unwrap(): schema } });
    fs::write(folder.path("registry.json"), registry.to_string()).unwrap();
    for command in [
        "registry show registry.json",
        "explain --registry registry.json '@a>req:schedule{asgn:b|task:c|schema:TA}'",
    ] {
        let shown = folder.run(command, "");
        shown.code_is(0);
        assert_harmless(&shown);
        let mut lines = shown.stdout.lines();
        assert!(
            !lines.any(|line| line.starts_with("forged")),
            "{}",
            shown.stdout
        );
    }
}

/// Returns a store with a session and values in its cold state.
fn store() -> Folder {
    let folder = Folder::with(&[]);
    let sample = workspace().join("crates/memory/recordings/tests/samples/odd_claude_code.jsonl");
    let import = [
        "session",
        "import",
        "-o",
        "chats.db",
        sample.to_str().unwrap(),
    ];
    folder.run(import, "").code_is(0);
    folder
}

fn spoil(folder: &Folder, sql: &str) {
    let conn = Connection::open(folder.path("chats.db")).unwrap();
    let changed = conn.execute(
        sql,
        rusqlite::params_from_iter(sql.contains('?').then_some(HARM)),
    );
    assert!(changed.unwrap() > 0, "{sql}");
}

#[test]
fn a_damaged_store_cannot_write_to_a_terminal() {
    let look = |sql: &str| {
        let folder = store();
        spoil(&folder, sql);
        let mut told = 0;
        for args in ["list", "show", "verify", "replay", "show --context"] {
            let run = folder.run(("session", args, "chats.db"), "");
            let said = format!("{}{}", run.stdout, run.stderr);
            for harm in HARM.chars().filter(|harm| !harm.is_ascii_graphic()) {
                assert!(!said.contains(harm), "{args:?}: {said:?}");
            }
            told += usize::from(said.contains(r"\u{9b}"));
        }
        told
    };
    assert!(look("UPDATE side SET session = ?1") > 0);
    look("UPDATE side SET agent = ?1");
    let cold = "UPDATE cold SET key = ?1 WHERE key = (SELECT min(key) FROM cold)";
    assert!(look(cold) > 0);
}

#[test]
fn an_export_tells_of_a_damaged_value() {
    let folder = store();
    let whole = folder.run("session export chats.db --resolve", "");
    assert_eq!((whole.code, &*whole.stderr), (Some(0), ""));
    spoil(
        &folder,
        "UPDATE blob SET bytes = CAST('!' || substr(bytes, 2) AS BLOB)",
    );
    let values = folder.run("session export chats.db --values values", "");
    let resolved = folder.run("session export chats.db --resolve", "");
    values.code_is(1);
    assert_eq!(resolved.code, values.code, "{}", resolved.stderr);
    assert!(!resolved.stderr.is_empty());
}

#[cfg(unix)]
#[test]
fn what_is_not_a_file_is_no_store() {
    let folder = Folder::with(&[]);
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    for args in ["show", "list", "verify", "export", "replay"] {
        folder
            .run(("session", args, "pipe"), "")
            .code_is(2)
            .stderr_has("not a regular file");
    }
    folder
        .run("serve .", "")
        .code_is(2)
        .stderr_has("this is a folder");
}

#[test]
fn a_log_that_stops_says_where_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, url) = Running::hub("", folder.path());
    run(["send", "--hub", &url, ASK]).code_is(0);
    let mut tail = command();
    tail.args(["tail", "--hub", &url]);
    let mut tail = tail
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Lunch?")));
    assert_eq!(hub.stop().0, Some(0));
    let ended = tail.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the log of main stops after position"),
        "{said}"
    );

    // The `--after` from the message must continue with the next frame.
    let (_, after) = said.split_once("--after ").unwrap();
    let after = after.split_whitespace().next().unwrap();
    let (_hub, url) = Running::hub("", folder.path());
    let more = "@guest>req:plan{goal:tea}";
    run(["send", "--hub", &url, more]).code_is(0);
    let rest = run(["tail", "--hub", &url, "--after", after, "--no-follow"]);
    rest.code_is(0);
    rest.stdout_has("goal:tea");
    assert!(!rest.stdout.contains("Lunch?"), "{}", rest.stdout);
}

/// A health check that fails says what answers in the place of the hub.
#[test]
fn ready_tells_what_is_not_a_hub() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    let other = stranger(|stream, _| {
        let answer = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).unwrap();
    });
    let without_http = stranger(|stream, _| stream.write_all(b"SSH-2.0-x\r\n").unwrap());
    for (url, seconds, told) in [
        (
            silent_url,
            "1",
            "no answer in the time of --timeout 1: see whether the hub still runs",
        ),
        (other, "30", "404 Not Found; a hub does not answer so"),
        (
            without_http,
            "30",
            "a hub that speaks TLS has https:// in --hub",
        ),
    ] {
        run(["ready", "--hub", &url, "--timeout", seconds])
            .code_is(1)
            .stderr_has(told);
    }
}
