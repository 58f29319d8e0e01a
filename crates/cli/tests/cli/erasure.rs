//! Tests of `accp session erase`, and of what `--redact` leaves out.

use std::fs;
use std::sync::Arc;

use accp_runtime::session::{Input, Options, Outbound, Rules, Time, Transmit};
use accp_runtime::{AgentId, DynamicFrame, Registry};
use accp_store::{Driver, SqliteStore};
use accp_tokens::Bpe;

use crate::cli::Folder;
use crate::cli::hub::Running;
use crate::cli::session::{bakery, fine};

#[test]
fn data_is_erased_and_the_file_verifies() {
    let folder = bakery();
    let erase = |more: &str| {
        let args = ("session erase chats.db stock/1", more);
        let run = folder.run(args, "");
        format!("{:?}\n{}{}", run.code, run.stdout, run.stderr)
    };
    let has = |what: &str| {
        let files = fs::read_dir(folder.path("."))
            .unwrap()
            .map(|file| file.unwrap().path());
        let mut stores = files.filter(|file| file.to_string_lossy().contains("chats.db"));
        stores.any(|file| {
            let bytes = fs::read(file).unwrap();
            bytes
                .windows(what.len())
                .any(|window| window == what.as_bytes())
        })
    };
    let said = "loaves_on_Friday";
    insta::assert_snapshot!(erase("--from user --dry-run"), @"
    Some(0)
    side         would erase                             bytes  values
    accp (host)  8 frames: 7, 12, 16, 18, 20-21, 23, 26  2221
    ");
    assert!(has(said), "a dry run changes nothing");
    insta::assert_snapshot!(erase("--from user"), @"
    Some(0)
    side         erased                                  bytes  values
    accp (host)  8 frames: 7, 12, 16, 18, 20-21, 23, 26  2221
    copies elsewhere stay: those of agents with stores of their own, and backups
    ");
    assert!(!has(said));
    insta::assert_snapshot!(erase("--from user"), @"
    Some(0)
    nothing is left to erase
    ");
    insta::assert_snapshot!(fine(&folder, "session verify chats.db"), @"
    plan/1: fine: 11 entries, folded from its first entry;
      0 references can be read, 0 checkpoints list 0 frames that moved
    stock/1: fine: 28 entries (8 of them erased), folded from its snapshot;
      0 references can be read, 1 checkpoint lists 0 frames that moved
    ");
    insta::assert_snapshot!([
        erase(""),
        erase("--from eve"),
        erase("--positions 99"),
        erase("--positions 9..3"),
        erase("--key k1"),
    ].join("\n"), @"
    Some(2)
    error: name what to erase: --from AGENT, --positions 3..9 or --key k101_7

    Some(2)
    error: chats.db: no agent `eve` is or was in the session: it has accp, assistant, system, tool, user

    Some(2)
    error: chats.db: 99..99 are not positions of the log: they go from 1 to 28, the first before the last

    Some(2)
    error: invalid value '9..3' for '--positions <POSITIONS>': 9 is after 3: swap the two

    For more information, try '--help'.

    Some(2)
    error: chats.db: there is no value under `k1`: a key is written without its tier, as k101_7
    ");

    let store = SqliteStore::open(folder.path("chats.db")).unwrap();
    insta::assert_snapshot!(erase("--positions 7"), @"
    Some(2)
    error: chats.db: another process has the file open: end that process, or have it do the work: `accp erase` asks a hub
    ");
    drop(store);
}

/// The name of a session stands for all its logs. The name of a log stands only for this log.
#[test]
fn the_log_that_is_named_is_erased_alone() {
    let folder = Folder::with(&[]);
    folder.run("demo --store team.db", "").code_is(0);
    let holds = |log: &str| {
        let frames = ("session export team.db --format frames", log);
        fine(&folder, frames).contains("@research>")
    };
    let erase = |log: &str| {
        let args = ("session erase team.db --from research --lapse", log);
        folder.run(args, "")
    };
    let logs = ["pipeline", "pipeline@analyst", "pipeline@dev"];
    assert_eq!(logs.map(holds), [true; 3]);
    let run = erase("pipeline@dev");
    run.code_is(0).stdout_has("dev ");
    assert!(!run.stderr.contains("logs of session"), "{}", run.stderr);
    assert_eq!(logs.map(holds), [true, true, false]);
    let run = erase("pipeline");
    run.code_is(0);
    run.stderr_has(" logs of session `pipeline`: pipeline@analyst, ");
    assert_eq!(logs.map(holds), [false; 3]);
}

/// A file that has lost the registry of its session is read, and erased, with the registry that the user names.
#[test]
fn a_lost_registry_is_named_and_can_be_given() {
    let folder = Folder::with(&[("registry.json", r#"{"schemas":{}}"#)]);
    let (hub, url) = Running::hub("hub.accp", folder.0.path());
    let frame = "@guest>req:plan{goal:tea}";
    let send = ["send", "--hub", &*url, "--session", "lunch", frame];
    folder.run(send, "").code_is(0);
    assert_eq!(hub.stop().0, Some(0));
    let conn = rusqlite::Connection::open(folder.path("hub.accp")).unwrap();
    assert_eq!(conn.execute("DELETE FROM registry", ()).unwrap(), 1);
    drop(conn);
    for command in [
        "session list hub.accp",
        "session show hub.accp",
        "session verify hub.accp",
        "session erase hub.accp --from guest --lapse",
    ] {
        let run = folder.run(command, "");
        run.code_is(1)
            .stderr_has("no registry with this hash was given (`--registry`)")
            .stderr_has("take a copy of the store back from a backup");
        let run = folder.run((command, "--registry registry.json"), "");
        run.code_is(0);
    }
}

/// Damage can part a value from its key, so that an erasure would not find the value. The command erases nothing then,
/// and does not say that the data is gone.
#[test]
fn a_value_without_its_key_keeps_a_file_from_being_erased() {
    let text = "Zitronenfalter ".repeat(40);
    let chat = format!(
        r#"{{"messages":[{{"role":"user","content":"{text}"}},{{"role":"assistant","content":"ok"}}]}}"#
    );
    let folder = Folder::with(&[("chats.jsonl", &chat)]);
    let import = "session import chats.jsonl -o chats.db";
    folder.run(import, "").code_is(0);
    for (name, damage, place) in [
        (
            "keyless.db",
            "DELETE FROM cold",
            "table `blob` keeps bytes under digest ",
        ),
        (
            "keys.db",
            "UPDATE cold SET side = 9",
            "table `cold` has a row of side 9, which does not exist",
        ),
        (
            "bytes.db",
            "UPDATE blob SET side = 9",
            "table `blob` has a row of side 9, which does not exist",
        ),
    ] {
        fs::copy(folder.path("chats.db"), folder.path(name)).unwrap();
        let conn = rusqlite::Connection::open(folder.path(name)).unwrap();
        assert_eq!(conn.execute(damage, ()).unwrap(), 1);
        drop(conn);
        let run = folder.run(["session", "erase", name, "--from", "user"], "");
        run.code_is(1).stderr_has(place);
        assert_eq!(run.stdout, "");
        let shown = folder.run(["session", "replay", "--frames", name], "");
        shown.stdout_has("@user>");
    }
    let erase = "session erase chats.db --from user";
    folder.run(erase, "").code_is(0).stdout_has("k101_1");
}

/// An erasure removes frames from hot state, so the next checkpoint does not list them. `verify` must not report this
/// as a fault.
#[test]
fn a_checkpoint_after_an_erasure_is_no_fault() {
    let folder = Folder::with(&[]);
    let now = Time::from_secs(1_714_000_000);
    let open = || {
        let registry = Arc::new(Registry::standard());
        let options = Options::new("long", AgentId::new("hub").unwrap(), registry);
        let options = options.counting(Arc::new(Bpe::o200k_base()));
        let store = SqliteStore::open(folder.path("long.db")).unwrap();
        let link = Vec::<Transmit>::new();
        Driver::open_host(store, link, options, Rules::default(), now).unwrap()
    };
    let mut host = open();
    for number in 0..4 {
        let task = DynamicFrame::new("hub", "req", "plan").unwrap();
        let task = task.with("x", number);
        host.send(&Outbound::message(&task), now).unwrap();
    }
    host.carry_out(now).unwrap();
    let last = host.session().position().to_string();
    drop(host);
    let erase = ["session", "erase", "long.db", "--positions", &last];
    folder.run(erase, "").code_is(0);
    let mut host = open();
    let session = host.session_mut().unwrap();
    session.handle(Input::Phase, now).unwrap();
    host.carry_out(now).unwrap();
    drop(host);
    let verified = fine(&folder, "session verify long.db");
    assert!(verified.contains("(1 of them erased)"), "{verified}");
    assert!(verified.contains("1 checkpoint "), "{verified}");
}

/// If an erasure was killed, the file still has erased bytes, and a second file marks this. Commands report it, and
/// the next erasure completes the work.
#[test]
fn an_erasure_that_was_cut_short_is_told_and_completed() {
    let folder = bakery();
    let cut_short = || fs::write(folder.path("chats.db-erase"), "").unwrap();
    let is_told = || {
        let run = folder.run("session verify chats.db", "");
        let text = "chats.db: an erasure is not complete";
        assert_eq!(
            run.stderr.contains(text),
            run.code == Some(1),
            "{}",
            run.stderr
        );
        run.code == Some(1)
    };
    assert!(!is_told());
    cut_short();
    assert!(is_told());
    let erase = "session erase chats.db stock/1 --from user";
    folder.run((erase, "--dry-run"), "").code_is(0);
    assert!(is_told());
    folder.run(erase, "").code_is(0);
    assert!(!is_told());
    cut_short();
    let (hub, _) = Running::hub("chats.db --log-level warn", folder.0.path());
    assert_eq!(hub.stop().0, Some(0));
    assert!(!is_told());
}

/// The limit for files can keep the file from being written anew. The command says then that the data has left the
/// tables, and that its bytes are still in the file.
#[cfg(unix)]
#[test]
fn an_erasure_that_cannot_write_the_file_anew_says_what_is_left() {
    let folder = bakery();
    let words: Vec<_> = (0..60_000).map(|number| format!("word{number}")).collect();
    let text = words.join(" ");
    let chat = format!(
        r#"{{"messages":[{{"role":"user","content":"{text}"}},{{"role":"assistant","content":"ok"}}]}}"#
    );
    fs::write(folder.path("long.jsonl"), chat).unwrap();
    let import = "session import long.jsonl -o chats.db";
    folder.run(import, "").code_is(0);
    let erase = "session erase chats.db stock/1 --from user";
    // The commit of the erasure stays below this limit, and a copy of the file is above it.
    let limited = format!("ulimit -f 256; exec \"$0\" {erase}");
    let mut shell = std::process::Command::new("sh");
    shell.current_dir(folder.path("."));
    let run = crate::cli::finish(shell.args(["-c", &limited, crate::cli::PROGRAM]), b"");
    run.code_is(2)
        .stderr_has(
            "chats.db: the data is erased from the tables, and its bytes are still in the file",
        )
        .stderr_has("then erase again");
    let verify = "session verify chats.db";
    let told = folder.run(verify, "");
    told.code_is(1).stderr_has("an erasure is not complete");
    folder.run(erase, "").code_is(0);
    folder.run(verify, "").code_is(0);
}

/// Commands for stores do not make a missing file, and do not change a file that is not a store.
#[test]
fn what_is_not_a_store_is_left_alone() {
    let notes = "Dear all,\n".repeat(100);
    let folder = Folder::with(&[("empty.db", ""), ("notes.txt", &notes)]);
    let other = rusqlite::Connection::open(folder.path("other.db")).unwrap();
    other.execute_batch("CREATE TABLE milk (bottles)").unwrap();
    drop(other);
    let names = folder.names();
    let bytes = |name: &str| fs::read(folder.path(name)).unwrap();
    let before = ["empty.db", "notes.txt", "other.db"].map(bytes);
    for command in [
        "list",
        "show",
        "replay",
        "export",
        "verify",
        "erase --from eve",
        "erase --from eve --dry-run",
    ] {
        for (file, code, why) in [
            ("missing.db", 2, "missing.db: No such file"),
            (".", 2, "is a directory"),
            ("empty.db", 1, "empty.db: the store is empty"),
            ("notes.txt", 1, "name another file, or a new one"),
            ("other.db", 1, "name another file, or a new one"),
        ] {
            let run = folder.run(("session", command, file), "");
            run.code_is(code).stderr_has(why);
        }
    }
    assert_eq!(folder.names(), names);
    assert_eq!(["empty.db", "notes.txt", "other.db"].map(bytes), before);
}

#[test]
fn what_is_redacted_has_no_word_of_a_frame() {
    let folder = bakery();
    let whole = fine(&folder, "session export chats.db stock/1");
    assert!(whole.contains("flour"));
    for args in [
        "export chats.db stock/1 --redact",
        "export chats.db stock/1 --redact --format frames",
        "replay chats.db stock/1 --redact",
        "replay chats.db stock/1 --redact --frames",
        "show chats.db stock/1 --redact",
        "show chats.db stock/1 --redact --context",
        "show chats.db stock/1 --redact --format json",
    ] {
        let shown = fine(&folder, ("session", args));
        assert!(!shown.contains("flour"), "{args:?}: {shown}");
        assert!(shown.contains("assistant"), "{args:?}: {shown}");
    }
}

/// Without tokens nobody is an administrator, so the hub names the command that erases from a file.
#[test]
fn a_hub_without_tokens_names_the_command_that_erases() {
    let folder = Folder::with(&[]);
    let (_hub, url) = Running::hub("--memory", folder.0.path());
    let frame = "@guest>req:plan{goal:tea}";
    folder.run(["send", "--hub", &url, frame], "").code_is(0);
    folder
        .run(["erase", "--hub", &url, "--from", "guest"], "")
        .code_is(1)
        .stderr_has("stop it and use `accp session erase`");
}
