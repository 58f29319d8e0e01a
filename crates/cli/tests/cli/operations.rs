//! Tests of the promises in `docs/operations.md` and in the files for operators.

use std::collections::BTreeSet;
use std::fs;

use super::hub::{Running, run};
use super::{command, finish, http, workspace};

/// A text that the tests put into frames, values, tokens and paths. It must never occur in a log.
const SECRET: &str = "xyzzy";

fn read(name: &str) -> String {
    fs::read_to_string(workspace().join(name)).unwrap()
}

/// Returns the names of metrics that occur in a text.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c))
        .filter(|word| word.starts_with("accp_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_page_for_operators_names_the_metrics_that_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub("--memory", folder.path());
    let mut answer = http().get(format!("{url}/metrics")).call().unwrap();
    let said = answer.body_mut().read_to_string().unwrap();
    let page = read("docs/operations.md");
    assert_eq!(metrics(&page), metrics(&said));
    let rules = page.split("```yaml").nth(1).unwrap();
    let rules = rules.split("```").next().unwrap();
    let alerts = rules.matches("- alert:").count();
    let sources = rules
        .split("- alert:")
        .skip(1)
        .filter(|rule| rule.contains("up{job=") || !metrics(rule).is_empty());
    assert_eq!((alerts, sources.count()), (6, 6), "{rules}");
    // The labels on the page and their values must also exist in the metrics.
    for label in page
        .split('{')
        .skip(1)
        .filter_map(|part| part.split('}').next())
    {
        if label.starts_with("fate=") || label.starts_with("way=") {
            assert!(said.contains(label), "{label}");
        }
    }
}

#[test]
fn the_page_for_operators_names_the_options_that_there_are() {
    let help = |args: &str| super::accp(args, "").stdout;
    let (serve, ready) = (help("serve --help"), help("ready --help"));
    let of_erasure: String = ["erase", "session erase", "session show"]
        .iter()
        .map(|command| help(&format!("{command} --help")))
        .collect();
    let page = read("docs/operations.md");
    let config = help("serve --print-config");
    for option in page
        .split("`--")
        .skip(1)
        .filter_map(|rest| rest.split(['`', ' ']).next())
    {
        // The command may be built without traces.
        let is_built = option != "otlp" || cfg!(feature = "otel");
        assert!(
            serve.contains(&format!("--{option}")) == is_built
                || of_erasure.contains(&format!("--{option}")),
            "--{option}"
        );
    }
    assert!(ready.contains("--hub"));
    for name in [
        "drain",
        "idle",
        "heartbeat",
        "origins",
        "connections",
        "sessions",
    ] {
        assert!(
            page.contains(name) && config.contains(&format!("{name} = ")),
            "{name}"
        );
    }
}

/// Returns the instructions of the Dockerfile as words. Continued lines are joined.
fn instructions() -> Vec<Vec<String>> {
    let text = read("Dockerfile").replace("\\\n", " ");
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    lines
        .map(|line| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter(|words| !words.is_empty())
        .collect()
}

/// Returns the words of an instruction that is a list in JSON.
fn list(words: &[String]) -> Vec<String> {
    serde_json::from_str(&words.concat()).unwrap()
}

#[test]
fn the_image_starts_what_there_is() {
    let all = instructions();
    let of = |name: &'static str| all.iter().filter(move |words| words[0] == name);
    let mut stages = BTreeSet::new();
    for copy in of("COPY") {
        let words: Vec<_> = copy[1..]
            .iter()
            .filter(|word| !word.starts_with("--"))
            .collect();
        match copy.iter().find_map(|word| word.strip_prefix("--from=")) {
            Some(stage) => drop(stages.insert(stage.to_owned())),
            None => assert!(workspace().join(words[0]).exists(), "{copy:?}"),
        }
    }
    let named = of("FROM").filter_map(|words| words.get(3).cloned());
    assert_eq!(named.collect::<BTreeSet<_>>(), stages);
    let users: Vec<_> = of("USER").map(|words| &words[1]).collect();
    assert_eq!(users, ["65532:65532"]);

    let mut line = list(&of("ENTRYPOINT").next().unwrap()[1..]);
    line.extend(list(&of("CMD").next().unwrap()[1..]));
    assert_eq!(line[0], "accp");
    let settings = of("ENV").flat_map(|words| &words[1..]);
    let settings: Vec<_> = settings.filter_map(|word| word.split_once('=')).collect();
    // The hub gets the environment variables of the image and no others, except that its store is in a folder of the
    // test.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("hub.accp");
    let mut hub = command();
    for (name, value) in &settings {
        let value = match *name {
            "ACCP_STORE" => value.replace("/data/hub.accp", store.to_str().unwrap()),
            _ => (*value).to_owned(),
        };
        hub.env(name, value);
    }
    finish(hub.args(&line[1..]).arg("--print-config"), b"")
        .code_is(0)
        .stdout_has("listen = \"0.0.0.0:7337\"");
    // Without tokens the hub does not start, and its error names the option that it needs.
    let mut hub = command();
    hub.envs(settings.iter().copied()).env("ACCP_STORE", &store);
    finish(hub.args(&line[1..]), b"")
        .code_is(2)
        .stderr_has("--tokens FILE");

    let check = of("HEALTHCHECK").next().unwrap();
    let at = check.iter().position(|word| word == "CMD").unwrap();
    assert_eq!(list(&check[at + 1..]), ["accp", "ready"]);
}

#[test]
fn a_hub_says_whether_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let tokens = format!("[[token]]\nsha256 = \"{digest}\"\nagent = \"*\"\nsessions = []\n");
    fs::write(folder.path().join("tokens.toml"), tokens).unwrap();
    let (hub, url) = Running::hub("--memory --tokens tokens.toml", folder.path());
    let ready = || super::accp(["ready", "--hub", &url], "");
    let there = ready();
    assert_eq!((there.code, there.stderr.as_str()), (Some(0), ""));
    let socket = url.replace("http://", "ws://");
    super::accp(["ready", "--hub", &socket], "").code_is(0);
    // The token of Prometheus reads the metrics but no session.
    let get = |path: &str| {
        let request = http().get(format!("{url}{path}"));
        let answer = request.header("authorization", "Bearer secret").call();
        answer.unwrap().status().as_u16()
    };
    assert_eq!(
        (get("/metrics"), get("/accp/v1/sessions/main/state")),
        (200, 403)
    );
    hub.stop();
    ready().code_is(1).stderr_has(&url);
}

#[test]
fn the_unit_starts_a_hub_that_reads_its_files() {
    let unit = read("packaging/accp.service");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    fs::create_dir(folder.path().join("accp")).unwrap();
    let of = |name: &str| {
        let prefix = format!("{name}=");
        let value = unit.lines().find_map(|line| line.strip_prefix(&prefix));
        value.unwrap().replace("%S", path).replace("%E", path)
    };
    let line = of("ExecStart");
    let words: Vec<_> = line.split(' ').collect();
    assert_eq!(words[0], "/usr/local/bin/accp");
    let start = || {
        let mut hub = command();
        let settings = of("Environment");
        hub.envs(settings.split(' ').filter_map(|word| word.split_once('=')));
        hub.args(&words[1..]);
        hub
    };
    // The errors show that the hub looks for each file at the path that the settings give.
    finish(&mut start(), b"").stderr_has("hub.toml");
    let printed = super::accp("serve --print-config", "").stdout;
    fs::write(folder.path().join("accp/hub.toml"), &printed).unwrap();
    finish(&mut start(), b"").stderr_has("tokens.toml");
    assert_eq!(finish(start().arg("--print-config"), b"").stdout, printed);
    for setting in [
        "DynamicUser=yes",
        "StateDirectory=accp",
        "ProtectSystem=strict",
    ] {
        assert!(unit.lines().any(|line| line == setting), "{setting}");
    }
}

#[test]
fn the_log_of_a_hub_holds_no_payload() {
    for form in ["text", "json"] {
        let folder = tempfile::tempdir().unwrap();
        let tokens = folder.path().join("tokens.toml");
        // The test writes the token only after the start, so that the hub reads the file again and
        // says so in its log.
        fs::write(&tokens, "").unwrap();
        let args = ["--memory", "--log", form, "--tokens", "tokens.toml"];
        let (hub, url) = Running::hub(args, folder.path());
        // The SHA-256 of `xyzzy`.
        let digest = "184858a00fd7971f810848266ebcecee5e8b69972c5ffaed622f5ee078671aed";
        let known =
            format!("[[token]]\nsha256 = \"{digest}\"\nagent = \"dev\"\nsessions = [\"lunch\"]\n");
        fs::write(&tokens, known).unwrap();
        let post = |frame: &str, token: &str, session: &str| {
            let url = format!("{url}/accp/v1/frames?session={session}");
            let request = http().post(url).content_type("application/accp");
            let request = request.header("authorization", format!("Bearer {token}"));
            request.send(frame).unwrap().status().as_u16()
        };
        let plan = |mid: &str| format!("@dev>req:plan{{goal:{SECRET}}}[mid:{mid},seq:1]");
        // The hub looks at the file once a second.
        while post(&plan("a00000000001"), SECRET, "lunch") == 401 {}
        assert_eq!(post(&format!("@dev>req:{{{SECRET}"), SECRET, "lunch"), 400);
        assert_eq!(post(&plan("a00000000003"), SECRET, SECRET), 403);
        assert_eq!(
            post(&plan("a00000000004"), &format!("{SECRET}2"), "lunch"),
            401
        );
        // The body is one byte longer than allowed, so the hub has read all of it when it answers.
        let body = SECRET.repeat(13_108)[..65_537].to_owned();
        assert_eq!(post(&body, SECRET, "lunch"), 413);
        let (code, log) = hub.stop();
        assert_eq!(code, Some(0));
        assert!(log.contains("files were read again"), "{log}");
        assert!(!log.contains(SECRET), "{log}");
        for line in log.lines().filter(|_| form == "json") {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["level"], "INFO", "{line}");
            assert_eq!(line["message"], "files were read again", "{line}");
        }
    }
}

/// Who asks a second time does not wait for requests that go on.
#[cfg(unix)]
#[test]
fn a_second_signal_ends_a_hub_at_once() {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    use std::process::Command;

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hub.toml"), "drain = 600\n").unwrap();
    let (hub, url) = Running::hub("--memory --config hub.toml", folder.path());
    let place = url.trim_start_matches("http://");
    let mut waiting = TcpStream::connect(place).unwrap();
    let head = format!(
        "POST /accp/v1/frames HTTP/1.1\r\nHost: {place}\r\nContent-Type: application/accp\r\nContent-Length: 100\r\n\
         Expect: 100-continue\r\n\r\n"
    );
    waiting.write_all(head.as_bytes()).unwrap();
    // The hub asks for the body once it reads the request.
    let mut said = [0; 25];
    waiting.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
    let asked = Command::new("kill").arg(hub.id().to_string()).status();
    assert!(asked.unwrap().success());
    // The hub has begun to end once it takes no more connections.
    while TcpStream::connect(place).is_ok() {}
    let (code, log) = hub.stop();
    assert_eq!(code, Some(0));
    assert!(log.contains("asked to end a second time"), "{log}");
}

/// Who reads a log in JSON reads its first lines as JSON, too.
#[test]
fn each_line_of_a_log_in_json_is_an_object() {
    let folder = tempfile::tempdir().unwrap();
    let registry = r#"{"tokenizer":"cl100k_base","schemas":{}}"#;
    fs::write(folder.path().join("registry.json"), registry).unwrap();
    let args =
        "serve --memory --listen 127.0.0.1:0 --registry registry.json --log json --log-level error";
    let mut hub = Running::start_with(args, folder.path(), &[]);
    for said in ["hub at http://127.0.0.1:", "the tokenizer cl100k_base"] {
        let line = hub.line();
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["level"], "INFO", "{line}");
        assert!(line["timestamp"].is_string(), "{line}");
        assert!(line["message"].as_str().unwrap().contains(said), "{line}");
    }
    assert_eq!(hub.stop().0, Some(0));
}

/// Calls `accp recover` until it succeeds. Before, the agent must have connected to the hub and shown what it has
/// seen.
fn decide(url: &str, how: &str) -> String {
    let mut decided = Err(String::new());
    for _ in 0..2_000 {
        let asked = run(("recover --hub", url, how));
        if asked.code == Some(0) {
            return asked.stdout;
        }
        decided = Err(asked.stderr);
    }
    decided.unwrap()
}

/// Reads the stderr of a process until a line has this text.
fn until(process: &mut Running, text: &str) {
    loop {
        let line = process.line();
        assert!(!line.is_empty(), "the process has ended without `{text}`");
        if line.contains(text) {
            return;
        }
    }
}

/// The store is replaced by an older copy while an agent goes on running that has seen more than the copy has. The
/// registry is not the standard one.
#[test]
fn a_session_goes_on_after_its_store_was_replaced_by_an_older_copy() {
    const REGISTRY: &str = r#"{ "schemas": { "order": { "code": "OR", "fields": ["dish"],
        "frames": [{ "intent": "req", "operation": "order" }, { "intent": "done", "operation": "order" }] } } }"#;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("menu.json"), REGISTRY).unwrap();
    let (mut hub, url) = Running::hub("hub.accp --registry menu.json", folder.path());
    let address = url.trim_start_matches("http://").to_owned();
    let start = || {
        let args = ("serve hub.accp --registry menu.json --listen", &*address);
        let mut hub = Running::start_with(args, folder.path(), &[]);
        assert_eq!(hub.url(), url);
        hub
    };
    let cook = || {
        let answer = ["--", "echo", "@cook>done:order{dish:soup|schema:OR}"];
        let args = ("agent cook --registry menu.json --hub", &*url, answer);
        let mut cook = Running::start_with(args, folder.path(), &[]);
        assert!(cook.line().starts_with("cook is in session main"));
        cook
    };
    let order = |dish: &str| {
        let frame = format!("@guest>req:order{{dish:{dish}|schema:OR}}");
        let menu = at("menu.json");
        run((
            "ask --hub",
            &*url,
            ["--registry", menu.to_str().unwrap(), &frame],
        ))
        .code_is(0)
        .stdout_starts("@cook>done:order{dish:soup|schema:OR}");
    };
    let log = || run(["tail", "--hub", &url, "--no-follow"]).stdout;
    let mut first = cook();
    order("bread");
    for (how, told) in [("", "are back"), ("--fork", "the log goes on after")] {
        assert_eq!(hub.stop().0, Some(0));
        std::fs::copy(at("hub.accp"), at("copy")).unwrap();
        hub = start();
        order("rice");
        assert_eq!(hub.stop().0, Some(0));
        std::fs::copy(at("copy"), at("hub.accp")).unwrap();
        hub = start();
        until(&mut hub, "the store is an old copy");
        // A frame is refused, with the reason and the commands that help.
        run([
            "send",
            "--hub",
            &url,
            "@guest>req:order{dish:tea|schema:OR}",
        ])
        .code_is(1)
        .stderr_has(
            "the hub expects a session whose store lacks nothing: this store is an old copy",
        )
        .stderr_has("`accp recover --fork` goes on without it");
        assert!(decide(&url, how).contains(told));
        let log = log();
        let rice = log.matches("req:order{dish:rice").count();
        assert_eq!(rice, 1, "{how}: {log}");
        if how == "--fork" {
            // After the fork, the agent has seen entries that the log no longer has. So the agent connects again with
            // an empty store.
            until(&mut first, "cook is in session main");
        }
        order("fish");
    }
    // If the log lacks nothing, the command refuses to fork it.
    run(["recover", "--hub", &url, "--fork"])
        .code_is(1)
        .stderr_has("lacks nothing");
    run(["recover", "--hub", &url])
        .code_is(1)
        .stderr_has("an agent that has them: this host has lost no entries");
    drop(first);
}
