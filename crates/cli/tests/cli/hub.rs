//! Tests of a hub, and of the commands that talk to it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use super::{Folder, Run, Words, command};

/// A process that runs until it is dropped.
pub(super) struct Running {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl Running {
    fn start(args: impl Words, folder: &Path) -> Self {
        Self::start_with(args, folder, &[])
    }

    /// Starts a process with these variables in its environment.
    pub(super) fn start_with(args: impl Words, folder: &Path, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().copied();
        Self::spawn(
            command()
                .args(args.words())
                .envs(variables)
                .current_dir(folder),
        )
    }

    /// Starts a command. Its stderr can be read with [`line`](Self::line).
    pub(super) fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        Self { child, errors }
    }

    /// Returns the number of the process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the next line of stderr.
    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Starts a hub, and returns its address, too.
    pub(super) fn hub(args: impl Words, folder: &Path) -> (Self, String) {
        let mut hub = Self::start(("serve --listen 127.0.0.1:0", args), folder);
        let url = hub.url();
        (hub, url)
    }

    /// Waits until a hub listens, and returns its address.
    pub(super) fn url(&mut self) -> String {
        let line = self.line();
        let url = line
            .split_once("hub at ")
            .and_then(|(_, rest)| rest.split(',').next());
        url.ok_or(&line).unwrap().to_owned()
    }

    /// Asks the process to end, and waits for it.
    pub(super) fn stop(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(
            std::process::Command::new("kill")
                .arg(&pid)
                .status()
                .unwrap()
                .success()
        );
        let mut rest = String::new();
        self.errors.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn run(args: impl Words) -> Run {
    super::accp(args, "")
}

#[test]
fn two_agents_talk_through_a_hub_and_the_log_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, url) = Running::hub("", folder.path());
    let agent = ("agent cook --hub", &url, "-- echo 'Pumpkin soup & rye'");
    let mut cook = Running::start(agent, folder.path());
    assert!(cook.line().starts_with("cook is in session main"));
    let question = "@guest>req:chat{content:Lunch?|schema:CH}";
    run(["ask", "--hub", &url, question])
        .code_is(0)
        .stdout_starts("@cook>done:chat{content:Pumpkin_soup_&_rye|schema:CH}[");
    // The hub refuses the number of the second frame and names the expected number. The command sends the frame again
    // with that number.
    run(["ask", "--hub", &url, "--words", question]).stdout_has("Pumpkin soup & rye");
    run(["send", "--hub", &url, "@guest>req:plan{goal:tea}"]).stdout_starts("@hub>ack:frame{}[");
    let (code, _) = cook.stop();
    assert_eq!(code, Some(0));
    let (code, rest) = hub.stop();
    assert_eq!((code, rest.as_str()), (Some(0), ""));

    // Another hub continues from the log in the file.
    let (_hub, url) = Running::hub("hub.accp", folder.path());
    let log = run(["tail", "--hub", &url, "--no-follow"]);
    let goals = log
        .stdout
        .lines()
        .filter(|frame| frame.contains("req:plan{goal:tea}"));
    assert_eq!(goals.count(), 1, "{}", log.stdout);
    run(["tail", "--hub", &url, "--no-follow", "--words"])
        .stdout_has("guest requests plan: goal tea");
}

#[test]
fn what_cannot_be_sent_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub("--memory", folder.path());
    for (frame, code, part) in [
        ("@guest>req:plan{goal", 1, "E1001 at byte 20"),
        (
            "@guest>req:chat{c:Hello|schema:CH}",
            1,
            "the field `content`",
        ),
        ("@hub>req:plan{}", 1, "hub"),
    ] {
        run(["send", "--hub", &url, frame])
            .code_is(code)
            .stderr_has(part);
    }
    let ask = |question| run(["ask", "--hub", &url, "--timeout", "0", question]);
    ask("@guest>req:plan{}").code_is(1).stderr_has(
        "E2001: the hub expects an agent of the session that takes req:plan, and none that has joined does",
    );
    // An agent that uses only HTTP never says which requests it takes. So the hub expects that this agent may answer.
    run(["send", "--hub", &url, "@cook>sync:note{}"]).code_is(0);
    ask("@guest>req:plan{}").code_is(1).stderr_has("E3001");
    // Nobody answers an answer, so the command does not send it and wait.
    ask("@guest>done:plan{said:unsent}").code_is(1).stderr_has(
        "E1002: a frame with intent done is an answer and gets none; `accp send` sends it",
    );
    let log = run(["tail", "--hub", &url, "--no-follow"]);
    assert!(!log.stdout.contains("unsent"), "{}", log.stdout);
    let numbered = "@eve>sync:note{}[mid:d12345678901,seq:999]";
    run(["send", "--hub", &url, numbered])
        .code_is(1)
        .stderr_has("E3003: the hub expects the next sequence number, seq:");
    run(["tail", "--hub", &url, "--session", "other"])
        .code_is(1)
        .stderr_has("a session that is there: `other` has not begun, and --session names another");
    let elsewhere = "@eve>sync:note{}[sid:lunch]";
    run(["send", "--hub", &url, elsewhere])
        .code_is(1)
        .stderr_has("the frame is for the session lunch (`sid`), and --session is main");
    run(["send", "--hub", &url, "--session", "lunch", elsewhere]).code_is(0);
    run("send --hub nonsense @guest>req:plan{}")
        .code_is(2)
        .stderr_has("--hub nonsense: ")
        .stderr_has("write http://HOST:PORT");
    run("send --hub http://127.0.0.1:1 @guest>req:plan{}")
        .code_is(2)
        .stderr_has("`accp serve` starts one");
}

/// Linux takes at most 128 KiB for an argument, so a longer frame comes by stdin.
#[test]
fn a_frame_of_any_length_comes_by_stdin() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub("--memory", folder.path());
    let cook = ("agent cook --hub", &*url, "-- wc -c");
    let mut cook = Running::start_with(cook, folder.path(), &[]);
    assert_eq!(cook.line(), format!("cook is in session main at {url}"));
    let text = "a".repeat(200_000);
    let question = format!("@guest>req:chat{{content:{text}|schema:CH}}\n");
    let asked = super::accp(("ask --hub", &*url, "-"), &question);
    asked.code_is(0);
    let count = asked.stdout.strip_prefix("@cook>done:chat{content:");
    let count = count.and_then(|rest| rest.split('|').next()?.parse().ok());
    assert!(count > Some(text.len()), "{}", asked.stdout);
    let sent = super::accp(("send --hub", &*url, "-"), "@guest>req:plan{}\n");
    sent.code_is(0).stdout_starts("@hub>ack:frame{");
    for (input, part) in [
        ("", "E1001 at byte 0"),
        ("@guest>req:plan{}\n@guest>req:plan{}\n", "E1001 at byte 17"),
    ] {
        let sent = super::accp(("send --hub", &*url, "-"), input);
        sent.code_is(1).stderr_has(part);
    }
}

/// Each command sends one piece, under the number that the hub expects.
#[test]
fn pieces_of_a_stream_are_sent_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub("--memory", folder.path());
    let piece =
        |words: &str| format!("@cook>stream:chat{{content:{words}|schema:CH}}[cid:abc101000001]");
    for words in ["Soup", "of_the", "day"] {
        run(["send", "--hub", &url, &piece(words)])
            .code_is(0)
            .stdout_starts("@hub>ack:frame{");
    }
    let tail = run(["tail", "--hub", &url, "--no-follow"]);
    let pieces = tail
        .stdout
        .lines()
        .filter(|line| line.starts_with("@cook>stream:"));
    assert_eq!(pieces.count(), 3, "{}", tail.stdout);
}

#[test]
fn a_hub_with_tokens_tells_agents_apart() {
    let folder = tempfile::tempdir().unwrap();
    // The SHA-256 of `secret`.
    let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let tokens =
        format!("[[token]]\nsha256 = \"{digest}\"\nagent = \"guest\"\nsessions = [\"main\"]\n");
    std::fs::write(folder.path().join("tokens.toml"), tokens).unwrap();
    let (_hub, url) = Running::hub("--memory --tokens tokens.toml", folder.path());
    let frame = "@guest>req:plan{}";
    run(["send", "--hub", &url, "--token", "secret", frame]).code_is(0);
    run(["send", "--hub", &url, frame])
        .code_is(2)
        .stderr_has("--token-file or ACCP_TOKEN");
    run(("send --token secret --hub", &url, "@eve>req:plan{}")).stderr_has("E5001");
    run(("send --token secret -s other --hub", &url, frame)).stderr_has("E5002");
}

#[test]
fn a_hub_takes_signed_tokens_beside_those_of_a_file() {
    let samples = include_str!("../../../hub/hub/tests/jwt/samples.json");
    let samples: serde_json::Value = serde_json::from_str(samples).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("jwks.json", samples["jwks"].to_string());
    let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    write(
        "tokens.toml",
        format!("[[token]]\nsha256 = \"{digest}\"\nagent = \"guest\"\nsessions = [\"lunch\"]\n"),
    );
    let signed = samples["tokens"]["RS256"].as_str().unwrap();
    let issuer = "--jwks jwks.json --issuer https://login.example.com";
    let both = "--memory --tokens tokens.toml --audience accp";
    let (_hub, url) = Running::hub((both, issuer), folder.path());
    let post = |url: &str, token: &str, frame: &str| {
        run(["send", "--hub", url, "--token", token, "-s", "lunch", frame])
    };
    for (token, frame) in [("secret", "@guest>req:plan{}"), (signed, "@dev>req:plan{}")] {
        post(&url, token, frame).code_is(0);
    }
    post(&url, signed, "@guest>req:plan{}").stderr_has("E5001");
    post(&url, "guess", "@dev>req:plan{}").code_is(2);

    // This hub expects the agent in another claim, which the token does not have.
    let claim = "--memory --audience other --agent-claim agent";
    let (_hub, url) = Running::hub((claim, issuer), folder.path());
    post(&url, signed, "@dev>req:plan{}")
        .code_is(2)
        .stderr_has("a claim that names an agent");

    run("serve --memory --issuer https://login.example.com")
        .code_is(2)
        .stderr_has("--jwks");
    write("jwks.json", "{\"keys\": []}".to_owned());
    let jwks = folder.path().join("jwks.json");
    run(["serve", "--memory", "--jwks", jwks.to_str().unwrap()])
        .code_is(1)
        .stderr_has("jwks.json: expected a key for RS256");
}

#[test]
fn a_hub_that_cannot_start_says_why() {
    run("serve --memory --listen 0.0.0.0:0")
        .code_is(2)
        .stderr_has("--tokens FILE");
    run("serve '' --listen 127.0.0.1:0")
        .code_is(2)
        .stderr_has("ACCP_STORE");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hub.toml");
    std::fs::write(&file, "listen = \"127.0.0.1:0\"\nhartbeat = 3\n").unwrap();
    let config = run(["serve", "--memory", "--config", file.to_str().unwrap()]);
    config.code_is(1);
    config.stderr_has("line 2");
    let printed = run("serve --print-config");
    std::fs::write(&file, &printed.stdout).unwrap();
    let again = run(("serve --print-config --config", [&file]));
    assert_eq!(again.stdout, printed.stdout);
    printed.stdout_has("frames_per_second = 1000");
}

/// Settings that have no default are comments of what the command prints. Without their marks, they are all in force.
/// The registry of a hub may be made for another encoding than the one that the hub counts in.
#[test]
fn a_hub_says_that_it_does_not_count_as_its_registry_does() {
    let registry = r#"{"tokenizer":"cl100k_base","schemas":{}}"#;
    let folder = Folder::with(&[("registry.json", registry)]);
    let args = "--memory --registry registry.json";
    let (mut hub, _) = Running::hub(args, folder.0.path());
    let line = hub.line();
    assert!(
        line.contains("the tokenizer cl100k_base; a hub counts with o200k_base"),
        "{line}"
    );
}

#[test]
fn a_hub_that_does_not_answer_is_told_with_a_cure() {
    // The system's clock does not reach the end of the second time.
    for time in ["5", "18446744073709551615"] {
        run(["ready", "--hub", "http://127.0.0.1:1", "--timeout", time])
            .code_is(1)
            .stderr_has("/readyz: ")
            .stderr_has("`accp serve` starts a hub, and --hub names another");
    }
}

#[test]
fn a_model_that_speaks_mcp_is_an_agent_of_the_hub() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub("--memory", folder.path());
    let ask = |path: &str, origin: Option<&str>| {
        let mut request = super::http()
            .post(format!("{url}/mcp/{path}"))
            .content_type("application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let client = r#"{"name":"test","version":"1"}"#;
        let params = format!(
            r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{client}}}"#
        );
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
        let mut answer = request.send(&body).unwrap();
        let said = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), said)
    };
    let (status, said) = ask("main/model", None);
    assert_eq!(status, 200, "{said}");
    assert!(
        said.contains("\"instructions\":\"@hub>sync:registry{"),
        "{said}"
    );
    let (status, said) = ask("main/model", Some("https://evil.example"));
    assert_eq!(status, 403, "{said}");
    // The model joined the session like any other agent.
    run(["tail", "--hub", &url, "--no-follow"]).stdout_has("agents:[model]");
}

#[test]
fn a_client_of_a2a_is_an_agent_of_the_hub() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub("--memory", folder.path());
    let mut cook = Running::start(
        ["agent", "cook", "--hub", &url, "--", "echo", "Soup"],
        folder.path(),
    );
    assert!(cook.line().starts_with("cook is in session main"));
    let guest = format!("{url}/a2a/main/guest");
    let card = ureq::get(format!("{guest}/.well-known/agent-card.json")).call();
    let card = card.unwrap().body_mut().read_to_string().unwrap();
    assert!(card.contains(&format!("\"url\":\"{guest}\"")), "{card}");
    let elsewhere = format!("{url}/a2a/dinner/guest/.well-known/agent-card.json");
    assert_eq!(ureq::get(elsewhere).call().unwrap().status(), 200);
    for (session, is_there) in [("main", true), ("dinner", false)] {
        let state = ureq::get(format!("{url}/accp/v1/sessions/{session}/state")).call();
        let state = state.map(|mut state| state.body_mut().read_to_string().unwrap());
        assert_eq!(state.is_ok(), is_there, "{state:?}");
        assert!(
            !state.is_ok_and(|state| state.contains("guest")),
            "a look is no visit"
        );
    }
    let message = r#"{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Lunch?"}]}"#;
    let asked = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{message}}}}}"#
    );
    let answer = ureq::post(&guest)
        .content_type("application/json")
        .header("A2A-Version", "1.0")
        .send(&asked);
    let said = answer.unwrap().body_mut().read_to_string().unwrap();
    assert!(said.contains("TASK_STATE_COMPLETED"), "{said}");
    assert!(said.contains("\"text\":\"Soup\""), "{said}");
    let log = run(["tail", "--hub", &url, "--no-follow"]);
    let asked = "@guest>req:chat{role:user|content:Lunch?|schema:CH}";
    log.stdout_has(asked);
}

/// An agent whose registry differs from that of its hub says which differences break a reader.
#[test]
fn an_agent_says_which_schemas_differ() {
    let folder = tempfile::tempdir().unwrap();
    for (file, kind) in [("hub.json", "decimal"), ("agent.json", "integer")] {
        let scale = format!(
            r#"{{ "schemas": {{ "scale": {{ "code": "SCL", "fields": ["load"], "types": {{ "load": "{kind}" }} }} }} }}"#
        );
        std::fs::write(folder.path().join(file), scale).unwrap();
    }
    let (_hub, url) = Running::hub("--memory --registry hub.json", folder.path());
    let args = (("agent lab --registry agent.json --hub", &*url), "-- true");
    let mut lab = Running::start(args, folder.path());
    let mut told = Vec::new();
    let is_last = |line: &String| line.contains("another registry than this agent");
    while !told.last().is_some_and(is_last) {
        let line = lab.line();
        assert!(!line.is_empty(), "the agent has ended: {told:?}");
        told.push(line);
    }
    let expected = "note: the registry of hub (old) differs from that of this agent (new): \
                    /schemas/scale/types/load: the type of `load` changed from decimal to integer; \
                    breaks either reader: it refuses a value of the other type, or reads another value (E1004)";
    assert!(told.iter().any(|line| line == expected), "{told:?}");
}
