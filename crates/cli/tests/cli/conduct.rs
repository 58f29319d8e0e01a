//! Tests of what all commands have in common: exit codes, colours, pipes, help.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

#[cfg(unix)]
use crate::cli::PROGRAM;
#[cfg(unix)]
use crate::cli::collab::INIT;
use crate::cli::{Folder, GOOD, Words as _, accp, command, finish};

#[test]
fn help_reads_well() {
    insta::assert_snapshot!(accp("--help", "").stdout, @"
    Compact, typed messages between agents: check, read, write and measure ACCP frames.

    A frame is one line of text, such as

        @planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}

    Commands read files or stdin and write to stdout; reports go to stderr.

    Usage: accp [OPTIONS] <COMMAND>

    Commands:
      demo         Show five agents at work: sessions, checkpoints, budgets, a crash, and the token cost
      check        Check frames, one a line: grammar, schema and types
      fix          Repair frames that a model wrote in the shorthands of the draft's examples
      encode       Turn JSON messages into frames, one a line
      decode       Turn frames into JSON, one object a line, with full names and defaults
      explain      Explain frames in plain words
      tokens       Count the tokens of frames, part by part, against the limits of the draft
      convert      Convert recorded conversations to frames and back, without loss
      new          Make a crate that holds the frames of your agents: a registry, a build script, a
                   test, lines for CI
      generate     Generate Rust types from a registry, as a build script would, or tool definitions for
                   a model
      grammar      Write the pest grammar of an ABNF: your own, or that of frames or packets
      primer       Write the text that teaches a model to read and write the frames of a registry
      serve        Run a hub: agents reach their sessions over HTTP and WebSocket
      gateway      Run a gateway: agents reach the API of their model through it, and pay less
      send         Send a frame to a running hub
      ask          Send a frame to a running hub, and print the frame that answers it
      tail         Print the frames of a session on a running hub, as they come
      erase        Have a running hub erase somebody's frames and values from a session
      recover      Decide how a session goes on after its store was replaced by an older copy
      agent        Take part in a session as an agent that answers by a command
      ready        Ask a running hub whether it takes requests
      session      Look into a file of sessions, check it, erase from it, and import recorded
                   conversations
      registry     Check, compare and show schema registries
      aacp         Check, read, write and measure AACP packets
      collab       Let agents work on one document through a shared folder
      context      Keep a conversation inside the window of its model, forget nothing, and break no list
      completions  Write the completion script for a shell
      man          Write the manual page of accp, or of one of its commands
      help         Print this message or the help of the given subcommand(s)

    Options:
          --debug
              Show on stderr, in plain words, every frame that a session sends, receives and keeps

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Examples:
      accp demo
      accp explain '@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}'
      accp check frames.accp
      accp decode frames.accp | accp encode
      accp convert --verify conversation.jsonl

    Exit codes:
      0  all is fine
      1  the input is at fault; the place and the cure are reported
      2  misuse, or a file cannot be read or written
    ");
}

#[test]
fn misuse_and_failure_exit_with_2() {
    let folder = Folder::with(&[]);
    for args in [
        "",
        "bogus",
        "check --bogus",
        "check no-such-file",
        "check .",
        "check --format xml",
        "check --syntax-only --registry x",
        "encode --inline --strict",
        "encode -o no/such/folder",
        "encode --externals no/such/folder",
        "decode --externals no-such-file",
        "decode --registry no-such-file",
        "tokens --model x --encoding cl100k_base",
        "demo --store x.db --keep",
        "demo --store no/such/folder/x.db",
        "session",
        "session list",
        "session list no-such-file",
        "session show --context --format json x",
        "registry lint",
        "registry lint no-such-file",
        "registry diff no-such-file no-such-file",
    ] {
        let run = folder.run(args, "");
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(!run.stderr.is_empty(), "{args:?}");
    }
    assert!(folder.names().is_empty());
}

#[test]
fn a_failure_names_the_file() {
    accp("check no-such-file", "").stderr_starts("error: no-such-file: ");
    let folder = Folder::with(&[]);
    let run = folder.run("fix -o no/such/file", "");
    assert_eq!(
        run.stderr,
        "error: no/such/file: there is no folder no/such; make it first\n"
    );
}

#[test]
fn colours_are_for_terminals_and_never_against_no_color() {
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = command();
        command
            .args(["check", "no-such-file"])
            .envs(variables.iter().copied());
        let stderr = finish(&mut command, b"").stderr.contains('\x1b');
        let mut command = crate::cli::command();
        command.arg("check").envs(variables.iter().copied());
        let stdout = finish(&mut command, b"garbage").stdout.contains('\x1b');
        (stdout, stderr)
    };
    assert_eq!(coloured(&[]), (false, false));
    assert_eq!(coloured(&[("CLICOLOR_FORCE", "1")]), (true, true));
    assert_eq!(
        coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]),
        (false, false)
    );
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = command()
        .args(["check", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let frames = "@a>req:plan{}\n".repeat(1_000);
        // The thread writes until the command closes its input. So the command must end as soon
        // as nobody reads its output.
        while stdin.write_all(frames.as_bytes()).is_ok() {}
    });
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    assert_eq!(first, "{\"line\":1,\"ok\":true}\n");
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs a command that gets one line, and whose stdin then stays open. Returns the first line of its stdout, or `None` if
/// none comes.
fn first_answer(args: &str, line: &str) -> Option<String> {
    let mut child = command()
        .args(args.words())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{line}").unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || drop(sender.send(stdout.lines().next())));
    let first = receiver.recv_timeout(std::time::Duration::from_secs(30));
    drop(stdin);
    child.wait().unwrap();
    reader.join().unwrap();
    first.ok().flatten().map(Result::unwrap)
}

/// `tail -f hub.log | accp check` shows a fault when its line comes, and not when the log has ended.
#[test]
fn a_line_is_answered_while_more_may_come() {
    let packet = "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:badge_list";
    let json = accp("decode", GOOD).stdout;
    let fields = accp("aacp decode --format json", packet).stdout;
    let carrier = accp("aacp bridge --to frame", packet).stdout;
    for (args, line) in [
        ("check", "no frame"),
        ("check --format json", GOOD),
        ("decode", GOOD),
        ("encode", json.trim_end()),
        ("explain", GOOD),
        ("fix", GOOD),
        ("tokens --format json", GOOD),
        ("aacp validate --format json", packet),
        ("aacp decode", packet),
        ("aacp encode", fields.trim_end()),
        ("aacp lint --format json", packet),
        ("aacp bridge --to frame", packet),
        ("aacp bridge --to packet", carrier.trim_end()),
    ] {
        let whole = accp(args, format!("{line}\n")).stdout;
        let first = first_answer(args, line);
        assert_eq!(first.as_deref(), whole.lines().next(), "{args}");
        assert!(first.is_some(), "{args}");
    }
}

/// What is made from a file does not take its place: the source would be gone.
#[test]
fn an_output_does_not_take_the_place_of_its_source() {
    let list = r#"[{"role":"user","content":"Lunch?"}]"#;
    let files = [
        ("own.json", "{}"),
        ("own.abnf", "a = \"b\"\n"),
        ("list", list),
    ];
    let folder = Folder::with(&files);
    for args in [
        "generate own.json -o own.json",
        "generate --aacp --vocabulary own.json -o own.json",
        "grammar own.abnf -o ./own.abnf",
        "grammar own.abnf --overrides own.json -o own.json",
        "context compress list --window 8000 --root kept --report list",
    ] {
        folder.run(args, "").code_is(2).stderr_has("is named twice");
    }
    for (name, text) in files {
        assert_eq!(folder.read(name), text);
    }
}

/// A path of an open file is no file of its own. To replace it would lose what others write into it.
#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_open_already_is_added_to() {
    let folder = Folder::with(&[
        ("good.accp", GOOD),
        ("mixed.accp", "no frame\n@a>req:plan{}"),
    ]);
    let decoded = folder.run("decode good.accp", "").stdout;
    let plan = accp("decode", "@a>req:plan{}").stdout;
    let shell = |script: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script, "sh", PROGRAM]);
        finish(shell.current_dir(folder.path(".")), b"").code_is(0);
        folder.read("log")
    };
    for path in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let script = format!("{{ echo first; $1 decode good.accp -o {path}; echo last; }} > log");
        assert_eq!(shell(&script), format!("first\n{decoded}last\n"), "{path}");
    }
    let log = shell("echo first > log; $1 decode good.accp -o /dev/stdout >> log");
    assert_eq!(log, format!("first\n{decoded}"));
    let log = shell("echo first > log; $1 decode good.accp -o /dev/fd/3 3>> log");
    assert_eq!(log, format!("first\n{decoded}"));
    let log = shell("{ echo first; $1 decode good.accp -o /dev/stderr; echo last; } > log 2>&1");
    assert_eq!(log, format!("first\n{decoded}last\n"));
    // What a pipe has got cannot be taken back, so nobody is told that it was not written.
    let log = shell("$1 decode mixed.accp -o /dev/stdout 2> report > log || cat report >> log");
    assert!(log.starts_with(&plan), "{log}");
    assert!(!log.contains("was not written"), "{log}");
    let log = shell(
        "{ $1 decode mixed.accp -o /dev/fd/3 3>&1 2> report || true; } | cat > log; cat report >> log",
    );
    assert!(log.starts_with(&plan), "{log}");
    assert!(!log.contains("was not written"), "{log}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = command();
    command
        .args(["decode"])
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(GOOD.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: stdout: "), "{stderr}");
}

#[test]
fn a_dash_is_stdin_and_stdout() {
    let run = accp("fix - -o -", GOOD);
    assert_eq!((run.code, run.stdout), (Some(0), format!("{GOOD}\n")));
}

/// Every command reads files from other systems in the same way. It accepts other line ends and a byte order mark.
/// For bytes that are not UTF-8, it reports a fault with their place.
#[test]
fn files_from_other_systems() {
    let frame = "@a>req:plan{x:1}[mid:m,seq:1]\r\n";
    let json =
        "{\"agent\":\"a\",\"intent\":\"req\",\"operation\":\"plan\",\"payload\":{\"x\":\"~\"}}\r\n";
    let latin = |text: &str, at: &str| {
        let (before, after) = text.split_once(at).unwrap();
        [before.as_bytes(), b"\xe9", after.as_bytes()].concat()
    };
    for command in ["check", "decode", "explain", "fix", "tokens", "encode"] {
        let (text, at) = match command {
            "encode" => (json, "~"),
            _ => (frame, "1}"),
        };
        for good in [text.to_owned(), format!("\u{feff}{text}")] {
            let run = accp([command], &good);
            run.code_is(0);
            assert_eq!(accp([command], good.replace('\r', "")).stdout, run.stdout);
        }
        let run = accp([command], latin(text, at));
        run.code_is(1);
        let said = run.stdout + &run.stderr;
        let place = if command == "encode" {
            "stdin:1:"
        } else {
            "stdin:1:15"
        };
        assert!(said.contains(place), "{command}: {said}");
        assert!(said.contains("not UTF-8"), "{command}: {said}");
    }
}

/// Paragraphs of the help are wrapped to the width, and have no breaks from the source.
#[test]
fn paragraphs_of_the_help_fill_their_lines() {
    const WIDTH: usize = 100;
    for command in ["collab", "context", "session", "registry"] {
        let help = accp([command, "--help"], "").stdout;
        let (about, _) = help.split_once("Usage: ").unwrap();
        for paragraph in about.split("\n\n") {
            let lines: Vec<_> = paragraph.lines().collect();
            for pair in lines.windows(2) {
                let word = pair[1].split(' ').next().unwrap();
                let joined = pair[0].chars().count() + 1 + word.chars().count();
                assert!(joined > WIDTH, "{command}: {pair:?}");
            }
        }
    }
}

/// At the limit for files a command fails with a reason, as on a full disk. The signal for it would end the command.
#[cfg(unix)]
#[test]
fn the_limit_for_files_is_a_failure() {
    let frames = format!("{GOOD}\n").repeat(2_000);
    let folder = Folder::with(&[("frames", &frames)]);
    folder
        .run(("collab", INIT, "--folder round"), "")
        .code_is(0);
    for args in [
        "decode -o out frames",
        "collab append --folder round --participant ada --event deliverable_drafted --reply-to 1 \
         --doc papers/adr.md --role primary --summary Done",
    ] {
        // `ulimit` limits the size of files to this number of 512-byte blocks.
        let mut limited = std::process::Command::new("sh");
        limited.current_dir(folder.0.path());
        limited.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\"", PROGRAM]);
        let run = finish(limited.args(args.words()), b"");
        run.code_is(2)
            .stderr_has("raise the limit for files (`ulimit -f`)");
    }
    assert_eq!(folder.names(), ["frames", "round"]);
}

/// A command that is interrupted leaves no unfinished file in the folder of its output.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_command_leaves_no_file() {
    let folder = Folder::with(&[]);
    let mut command = command();
    command
        .current_dir(folder.0.path())
        .args(["decode", "-o", "out"])
        .stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The command waits for its input, with its output open.
    let place = folder.0.path().canonicalize().unwrap();
    let open = std::path::PathBuf::from(format!("/proc/{}/fd", child.id()));
    let is_open = || {
        let mut files = std::fs::read_dir(&open).unwrap().flatten();
        files.any(|file| std::fs::read_link(file.path()).is_ok_and(|file| file.starts_with(&place)))
    };
    let began = std::time::Instant::now();
    while !is_open() {
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for option in ["--help", "--version"] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = command();
        let output = command.arg(option).stdout(full.unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with("error: stdout: "), "{stderr}");
    }
}

/// Names of the input may have line breaks. An error that has such a name stays one line, so that nobody can make a line
/// that looks like another error.
#[test]
fn a_line_break_in_a_name_breaks_no_error() {
    let list = r#"[{"role":"user","content":"Rye?"},{"role":"assistant","content":null,"tool_calls":[
        {"id":"c1\nerror: fake","type":"function","function":{"name":"look","arguments":"{}"}}]},
        {"role":"sower\nerror: fake","content":"Four."}]"#;
    let folder = Folder::with(&[
        ("list.json", &list.replace('\n', "")),
        ("registry.json", r#"{"schemas":{},"a\nerror: fake":1}"#),
    ]);
    let frame =
        r#"{"agent":"a","intent":"req","operation":"plan","payload":{},"a\nerror: fake":1}"#;
    for (args, input) in [
        ("convert --format-out anthropic list.json", ""),
        ("context check list.json", ""),
        ("context compress --window 4000 list.json", ""),
        ("registry lint registry.json", ""),
        ("check --registry registry.json", ""),
        ("encode", frame),
        ("check 'no\nerror: fake'", ""),
    ] {
        let run = folder.run(args, input);
        assert_ne!(run.code, Some(0), "{args}");
        let printed = run.stdout + &run.stderr;
        let mut lines = printed.lines();
        assert!(
            !lines.any(|line| line.starts_with("error: fake")),
            "{printed}"
        );
        assert!(printed.contains("\\nerror: fake"), "{printed}");
    }
}
