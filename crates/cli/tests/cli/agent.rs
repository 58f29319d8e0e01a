//! Tests of `accp agent`: how it runs its command, and how it ends the command.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::Words;
use super::hub::{Running, run};

const QUESTION: &str = "@guest>req:chat{content:Lunch?|schema:CH}";

/// A hub in memory, and an agent whose command is a shell script.
struct Kitchen {
    _hub: Running,
    url: String,
    cook: Running,
    folder: tempfile::TempDir,
}

impl Kitchen {
    fn open(options: impl Words, script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("mkfifo")
            .arg(folder.path().join("alive"))
            .status();
        assert!(made.unwrap().success());
        let (hub, url) = Running::hub("--memory", folder.path());
        let cook = cook(&url, folder.path(), options, script);
        Self {
            _hub: hub,
            url,
            cook,
            folder,
        }
    }

    fn ask(&self) -> String {
        let asked = run(["ask", "--hub", &self.url, QUESTION]);
        assert!(asked.stderr.is_empty(), "{}", asked.stderr);
        asked.stdout
    }

    fn send(&self, frame: &str) {
        run(["send", "--hub", &self.url, frame]).code_is(0);
    }

    fn alive(&self) -> Alive {
        alive(self.folder.path())
    }
}

/// Starts the agent, with a token in its environment.
fn cook(url: &str, folder: &Path, options: impl Words, script: &str) -> Running {
    let args = (
        ("agent cook --hub", url),
        options,
        ["--", "sh", "-c", script],
    );
    let mut cook = Running::start_with(&args, folder, &[("ACCP_TOKEN", "s3cret")]);
    let line = cook.line();
    assert_eq!(line, format!("cook is in session main at {url}"));
    cook
}

/// Reads what the processes of a command write to `alive`, until the last of these processes has ended, but for at
/// most a minute.
struct Alive {
    cat: Child,
    lines: BufReader<ChildStdout>,
}

/// Waits until the command runs. Returns a reader for what the command writes from then on.
fn alive(folder: &Path) -> Alive {
    let cat = Command::new("timeout")
        .args(["60", "cat", "alive"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn();
    let mut cat = cat.unwrap();
    let mut lines = BufReader::new(cat.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let alive = Alive { cat, lines };
    assert_eq!(line, "begun\n", "the command has not begun");
    alive
}

impl Alive {
    /// Waits until no process can write any more, and returns the rest of the text.
    fn rest(mut self) -> String {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        let ended = self.cat.wait().unwrap();
        assert!(ended.success(), "the command has not ended: {rest}");
        rest
    }
}

/// A command that has a child which only SIGKILL can end. If the child is not killed, it writes `survived`.
const STUBBORN: &str = "
    exec 3>alive
    trap 'echo asked >&3; exit 1' TERM
    (trap '' TERM; sleep 20; echo survived >&3) &
    echo begun >&3
    wait";

#[test]
fn a_command_that_prints_without_end_is_ended() {
    let script =
        "exec 3>alive; echo begun >&3; head -c 300000000 /dev/zero | tr '\\0' x; echo survived >&3";
    let kitchen = Kitchen::open("--max-output 65536", script);
    let said = std::thread::scope(|scope| {
        let said = scope.spawn(|| kitchen.ask());
        assert_eq!(kitchen.alive().rest(), "");
        said.join().unwrap()
    });
    let fail = "@cook>fail:error{code:E4002|msg:the_command_prints_more_than_65536_bytes|";
    assert!(said.starts_with(fail), "{said}");
    let status = fs::read_to_string(format!("/proc/{}/status", kitchen.cook.id()));
    if let Ok(status) = status {
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = most.and_then(|most| most.split_whitespace().next()?.parse().ok());
        assert!(kibibytes < Some(200_000_u64), "{kibibytes:?} KiB");
    }
}

#[test]
fn an_answer_of_just_the_limit_is_one() {
    let kitchen = Kitchen::open("--max-output 4", "printf soup");
    let said = kitchen.ask();
    assert!(said.starts_with("@cook>done:chat{content:soup|"), "{said}");
}

#[test]
fn a_command_does_not_see_the_token() {
    let kitchen = Kitchen::open("", "echo \"${ACCP_TOKEN-none} is the token\"");
    let said = kitchen.ask();
    assert!(
        said.starts_with("@cook>done:chat{content:none_is_the_token|"),
        "{said}"
    );
}

/// A hub in memory has a new store after each start. So after a restart, its log is not the log that the agent has
/// seen.
#[test]
fn an_agent_begins_anew_at_a_hub_whose_store_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, url) = Running::hub("--memory", folder.path());
    let mut agent = cook(&url, folder.path(), "", "echo soup");
    let ask = || {
        run(["ask", "--hub", &url, QUESTION])
            .code_is(0)
            .stdout_starts("@cook>done:chat{content:soup|");
    };
    ask();
    assert_eq!(hub.stop().0, Some(0));
    let address = url.trim_start_matches("http://");
    let args = ("serve --memory --listen", address);
    let mut hub = Running::start_with(args, folder.path(), &[]);
    assert_eq!(hub.url(), url);
    let mut told = String::new();
    while !told.starts_with("cook is in session main") {
        told = agent.line();
        assert!(!told.is_empty(), "the agent has ended");
    }
    ask();
}

#[test]
fn an_agent_that_ends_takes_its_command_along() {
    let kitchen = Kitchen::open("--grace 1", STUBBORN);
    kitchen.send(QUESTION);
    let first = kitchen.alive();
    let (url, folder) = (kitchen.url, kitchen.folder);
    let (code, _) = kitchen.cook.stop();
    assert_eq!(code, Some(0));
    assert_eq!(first.rest(), "asked\n");
    // The request still has no answer, so the next agent with this name gets it.
    let _cook = cook(&url, folder.path(), "", "exec 3>alive; echo begun >&3");
    assert_eq!(alive(folder.path()).rest(), "");
}

/// What a command did before its agent ended may have happened, so the next run of the command hears of it.
#[test]
fn a_command_hears_that_an_earlier_run_may_have_had_its_request() {
    let script =
        "exec 3>alive; printf 'begun\\nagain: %s\\n' \"${ACCP_REDELIVERED-no}\" >&3; sleep 60";
    let kitchen = Kitchen::open("--grace 1", script);
    kitchen.send(QUESTION);
    let first = kitchen.alive();
    // The hub has to hear that the agent has the request.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let (url, folder) = (kitchen.url, kitchen.folder);
    assert_eq!(kitchen.cook.stop().0, Some(0));
    assert_eq!(first.rest(), "again: no\n");
    let _cook = cook(&url, folder.path(), "", &script.replace("; sleep 60", ""));
    assert_eq!(alive(folder.path()).rest(), "again: 1\n");
}

#[test]
fn a_cancelled_request_ends_its_command() {
    let kitchen = Kitchen::open("--grace 0", STUBBORN);
    kitchen.send(&QUESTION.replace("schema:CH}", "schema:CH}[mid:abc101000001]"));
    let alive = kitchen.alive();
    kitchen.send("@guest>cancel:task{}[cid:abc101000001]");
    assert!(!alive.rest().contains("survived"));
}

#[test]
fn only_the_operator_reads_stderr() {
    let script = "echo first >&2; echo 'db.example: no route' >&2; exit 3";
    let mut kitchen = Kitchen::open("", script);
    let said = kitchen.ask();
    let fail = "@cook>fail:error{code:E4002|msg:the_command_ended_with_exit_status\\:_3|";
    assert!(said.starts_with(fail), "{said}");
    let told: Vec<_> = (0..3).map(|_| kitchen.cook.line()).collect();
    assert_eq!(told[1..], ["first", "db.example: no route"], "{told:?}");

    let mut kitchen = Kitchen::open("--send-stderr", script);
    let said = kitchen.ask();
    assert!(
        said.contains("exit_status\\:_3\\:_db.example\\:_no_route"),
        "{said}"
    );
    let told: Vec<_> = (0..3).map(|_| kitchen.cook.line()).collect();
    assert_eq!(told[1..], ["first", "db.example: no route"], "{told:?}");
}

#[test]
fn a_command_that_cannot_run_is_named_to_the_operator_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub("--memory", folder.path());
    let command = folder.path().join("recipe");
    fs::write(&command, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
    let named = command.to_str().unwrap();
    let args = ["agent", "cook", "--hub", &url, "--", named];
    let mut cook = Running::start_with(args, folder.path(), &[]);
    assert!(cook.line().starts_with("cook is in session main"));
    fs::remove_file(&command).unwrap();
    let asked = run(["ask", "--hub", &url, QUESTION]);
    asked.stdout_has("fail:error");
    assert!(!asked.stdout.contains("recipe"), "{}", asked.stdout);
    let told: Vec<_> = (0..2).map(|_| cook.line()).collect();
    assert!(told[1].contains(named), "{told:?}");
}

/// Returns the signals that this process ignores, each as a bit; processes that it starts ignore them, too. Only
/// Linux reports them.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap())
}

#[test]
fn every_signal_that_ends_the_agent_ends_its_command() {
    let signals = [
        ("HUP", 1),
        ("INT", 2),
        ("QUIT", 3),
        ("ABRT", 6),
        ("USR1", 10),
        ("USR2", 12),
        ("ALRM", 14),
    ];
    // A shell starts commands in its background with INT and QUIT ignored.
    let ignored = ignored();
    let signals = signals
        .iter()
        .filter(|(_, number)| ignored >> (number - 1) & 1 == 0);
    for (signal, _) in signals {
        let kitchen = Kitchen::open("--grace 0", STUBBORN);
        kitchen.send(QUESTION);
        let alive = kitchen.alive();
        let sent = Command::new("kill")
            .args(["-s", signal, &kitchen.cook.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        assert!(!alive.rest().contains("survived"), "{signal}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn under_nohup_an_agent_goes_on_when_its_terminal_closes() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub("--memory", folder.path());
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", r#"trap '' HUP; exec "$@""#, "sh"]);
    ignoring.arg(env!("CARGO_BIN_EXE_accp"));
    ignoring.args(["agent", "cook", "--hub", &url, "--", "echo", "Soup"]);
    let mut cook = Running::spawn(&mut ignoring);
    assert!(cook.line().starts_with("cook is in session main"));
    let sent = Command::new("kill")
        .args(["-s", "HUP", &cook.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    run(["ask", "--hub", &url, QUESTION]).stdout_has("Soup");
}

#[test]
fn what_a_command_leaves_behind_ends_with_it() {
    for redirected in ["", ">/dev/null"] {
        let script = format!(
            "exec 3>alive; (sleep 20; echo survived >&3) {redirected} & echo begun >&3; echo Soup"
        );
        let kitchen = Kitchen::open("", &script);
        let said = std::thread::scope(|scope| {
            let said = scope.spawn(|| kitchen.ask());
            assert_eq!(kitchen.alive().rest(), "");
            said.join().unwrap()
        });
        assert!(said.starts_with("@cook>done:chat{content:Soup|"), "{said}");
    }
}

#[test]
fn a_frame_of_another_agent_is_an_error_for_both() {
    for frame in [
        "@bob>done:chat{content:Soup|schema:CH}",
        "@hub>sync:close{}",
    ] {
        let mut kitchen = Kitchen::open("", &format!("echo '{frame}'"));
        let said = kitchen.ask();
        let fail = "@cook>fail:error{code:E4002|msg:the_command_prints_a_frame_of_another_agent|";
        assert!(said.starts_with(fail), "{said}");
        let told: Vec<_> = (0..2).map(|_| kitchen.cook.line()).collect();
        assert!(told[1].contains("this agent is cook"), "{told:?}");
    }
}

/// If the command prints a frame with a mistake, the answer is an error. The output must not become the text of an
/// answer, because then a failure would look like a success.
#[test]
fn a_frame_that_does_not_parse_is_an_error_with_its_place() {
    for (script, part) in [
        (
            "echo '@cook>fail:error{code:E4002|msg:cannot open: no such file|retry:false|schema:ER}'",
            "at_byte",
        ),
        (
            r"printf '@cook>stream:infer{idx:0|data:a|schema:ST}\n@cook>done:chat{content:b|schema:CH}\n'",
            "one_frame_alone_answers",
        ),
    ] {
        let kitchen = Kitchen::open("", script);
        let answer = kitchen.ask();
        assert!(
            answer.starts_with("@cook>fail:error{code:E4002|"),
            "{answer}"
        );
        assert!(answer.contains(part), "{answer}");
    }
    // A text that begins with a name, but not like a frame, is an answer in words.
    let kitchen = Kitchen::open("", "echo '@guest: soup {hot} at 12:30'");
    let answer = kitchen.ask();
    assert!(answer.starts_with("@cook>done:chat{content:"), "{answer}");
}

/// A piece of a stream does not end the chain of the request. The command has ended after the piece, so the agent
/// ends the chain.
#[test]
fn a_piece_of_a_stream_is_followed_by_an_end() {
    let piece = "@cook>stream:infer{idx:0|data:soup|done:true|schema:ST}";
    let kitchen = Kitchen::open("", &format!("echo '{piece}'"));
    let answer = kitchen.ask();
    let lines: Vec<_> = answer.lines().collect();
    assert_eq!(lines.len(), 2, "{answer}");
    assert!(lines[0].starts_with("@cook>stream:infer{"), "{answer}");
    assert!(lines[1].starts_with("@cook>end:"), "{answer}");
}

#[test]
fn an_answer_that_the_hub_refuses_is_answered_with_an_error() {
    let refused = "echo '@cook>done:chat{content:$cold.k999_9|schema:CH}'";
    let mut kitchen = Kitchen::open("", refused);
    for _ in 0..2 {
        let asked = run(["ask", "--hub", &kitchen.url, QUESTION]);
        asked
            .code_is(1)
            .stdout_has("fail:error{code:E9999|msg:the_answer_of_the_handler_was_refused");
        let told = (0..9).map(|_| kitchen.cook.line());
        let mut told =
            told.filter(|line| line.contains("the hub has not taken the answer to guest"));
        assert!(told.next().is_some(), "the operator learns of it");
    }
    let (url, folder) = (kitchen.url.clone(), kitchen.folder.path());
    kitchen.cook = cook(&url, folder, "", "echo soup");
    assert!(kitchen.ask().contains("content:soup"));
}

#[test]
fn a_name_that_no_session_has_is_refused_before_it_reaches_a_hub() {
    for name in ["main#x", "%6dain", "b.1&agent=ann", "Buero 1", ""] {
        for command in ["send", "ask", "tail", "agent", "erase"] {
            let args = match command {
                "tail" => vec![],
                "agent" => vec!["cook", "--", "true"],
                "erase" => vec!["--from", "dev"],
                _ => vec![QUESTION],
            };
            let asked = run((command, ["--session", name], args.as_slice()));
            asked.code_is(2).stderr_has("1 to 128 letters, digits");
        }
    }
}

/// Otherwise the agent would join, and fail each request.
#[test]
fn an_agent_whose_command_cannot_be_started_does_not_join() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = Running::hub("--memory", folder.path());
    let note = folder.path().join("note");
    fs::write(&note, "soup").unwrap();
    let [note, here] = [&*note, folder.path()].map(|path| path.to_str().unwrap());
    for (command, why) in [
        ("/nosuch", "No such file or directory"),
        (
            "accp-no-such-command",
            "no folder of PATH has a program of this name",
        ),
        (note, "`chmod +x` makes it so"),
        (here, "this is a folder"),
    ] {
        run(["agent", "cook", "--hub", &url, "--", command])
            .code_is(2)
            .stderr_has(format!("error: the command {command}: "))
            .stderr_has(why);
    }
    run(["ask", "--hub", &url, QUESTION])
        .code_is(1)
        .stderr_has("E2001");
}

/// A hub and its agent may start at the same time, so the agent waits a little for a hub that does not listen yet.
#[test]
fn an_agent_waits_for_a_hub_that_starts_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let url = format!("http://{address}");
    let args = ("agent cook --hub", &*url, "-- echo soup");
    let mut cook = Running::start_with(args, folder.path(), &[]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let serve = ("serve --memory --listen", &*address);
    let mut hub = Running::start_with(serve, folder.path(), &[]);
    assert_eq!(hub.url(), url);
    assert_eq!(cook.line(), format!("cook is in session main at {url}"));
    run(["ask", "--hub", &url, QUESTION])
        .code_is(0)
        .stdout_starts("@cook>done:chat{content:soup|");
}

#[test]
fn an_agent_ends_if_no_hub_comes() {
    let folder = tempfile::tempdir().unwrap();
    let args = "agent cook --hub http://127.0.0.1:1 -- echo soup";
    let mut cook = Running::start_with(args, folder.path(), &[]);
    let line = cook.line();
    assert!(
        line.starts_with("error: no hub at ws://127.0.0.1:1: "),
        "{line}"
    );
    assert!(line.ends_with("`accp serve` starts one"), "{line}");
}
