//! Tests that only the owner can open files with content of conversations or sessions, regardless of which command
//! makes them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::aacp_fallback::{CS, ENGLISH, PACKET};
use super::collab::INIT;
use super::hub::Running;
use super::{Folder, Words, accp, finish, workspace};

/// Returns a command that runs `accp` with the umask that most users have.
fn masked(folder: &Path, args: impl Words) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", r#"umask 022 && exec "$@""#, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_accp")).args(args.words());
    command.current_dir(folder);
    command
}

/// Runs a command that must succeed.
fn run(folder: &Folder, args: impl Words) {
    finish(&mut masked(folder.0.path(), args), b"").code_is(0);
}

/// Returns the modes of all files and folders below a folder.
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            all.insert(name, about.permissions().mode() & 0o777);
            if about.is_dir() {
                left.push(path);
            }
        }
    }
    all
}

/// Checks that a command has made the files in `made`. Returns all files and folders that other users can open.
fn open_to_others(folder: &Folder, made: &str) -> Vec<String> {
    let modes = modes(folder.0.path());
    for name in made.split_whitespace() {
        assert!(modes.contains_key(name), "{name} of {modes:#?}");
    }
    let open = modes.into_iter().filter(|(_, mode)| mode & 0o077 != 0);
    open.map(|(name, mode)| format!("{name} {mode:o}"))
        .collect()
}

fn read(name: &str) -> String {
    fs::read_to_string(workspace().join(name)).unwrap()
}

/// Returns a folder with files that only the user can open, so that any other open file was made by a
/// command.
fn inputs(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::with(files);
    for (name, _) in files {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    folder
}

#[test]
fn the_files_of_a_hub_are_its_owner_s() {
    let folder = inputs(&[]);
    let serve = "serve --listen 127.0.0.1:0";
    let mut hub = Running::spawn(&mut masked(folder.0.path(), serve));
    let url = hub.url();
    let frame = "@guest>req:plan{goal:tea}";
    accp(["send", "--hub", &url, frame], "").code_is(0);
    let made = "hub.accp hub.accp-wal hub.accp-shm hub.accp-hub";
    assert_eq!(open_to_others(&folder, made), [""; 0]);
}

#[test]
fn a_hub_warns_of_a_file_that_others_can_read() {
    let folder = inputs(&[]);
    run(&folder, "demo --store hub.accp");
    let serve = "serve --listen 127.0.0.1:0";
    let quiet = |folder: &Folder| {
        let mut hub = Running::spawn(&mut masked(folder.0.path(), serve));
        let line = hub.line();
        line.starts_with("hub at ").then_some(()).ok_or(line)
    };
    quiet(&folder).unwrap();
    // A hub that was killed leaves files such as `hub.accp-wal` beside its store.
    for (name, mode) in [("hub.accp", 0o644), ("hub.accp-wal", 0o660)] {
        let path = folder.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    // The warning is part of the log, which another thread writes. So the warning may come after the line that says
    // where the hub is.
    let mut hub = Running::spawn(&mut masked(folder.0.path(), serve));
    let first = hub.line();
    let all = format!("{first}\n{}", hub.stop().1);
    let line = all.lines().find(|line| line.contains("WARN")).expect(&all);
    let file = fs::canonicalize(folder.path("hub.accp")).unwrap();
    let file = file.display();
    let cure = format!("chmod 600 {file} {file}-wal");
    assert!(line.ends_with(&cure), "{line}");
    // A hub that has ended normally may have removed such a file.
    for name in ["hub.accp", "hub.accp-wal"] {
        let path = folder.path(name);
        if !path.exists() {
            continue;
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    quiet(&folder).unwrap();
}

#[test]
fn files_with_what_somebody_said_are_their_owner_s() {
    let message = json!({ "agent": "a", "intent": "req", "operation": "plan",
        "payload": { "note": "x".repeat(3_000) } });
    let bakery = read("examples/bakery.jsonl");
    let folder = inputs(&[
        ("bakery.jsonl", &bakery),
        ("message.jsonl", &format!("{message}\n")),
        ("frames.accp", "@a>req:plan{goal:tea}\n"),
    ]);
    for args in [
        "demo --store team.db",
        "session import bakery.jsonl -o chats.db",
        "session export chats.db stock/1 -o export.jsonl --values values",
        "convert bakery.jsonl -o out.accp",
        "convert --restore out.accp -o back.jsonl",
        "encode message.jsonl --externals side -o encoded",
        "decode frames.accp -o decoded",
        "fix frames.accp -o fixed",
    ] {
        run(&folder, args);
    }
    let made = "team.db chats.db export.jsonl values out.accp out.accp.externals.jsonl back.jsonl \
        side encoded decoded fixed";
    assert_eq!(open_to_others(&folder, made), [""; 0]);
    // The command replaces a file that other users could read. They cannot read the new file.
    let path = folder.path("fixed");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    run(&folder, "fix frames.accp -o fixed");
    assert_eq!(open_to_others(&folder, "fixed"), [""; 0]);
}

#[test]
fn the_folders_of_a_context_are_its_owner_s() {
    let folder = inputs(&[("list.json", &super::context_tools::list())]);
    let place = "--root new/Memory --session trip";
    let compress = "context compress --window 4096 --report report list.json";
    run(&folder, (compress, place));
    let call = r#"context call context_recover {"topic":"HAT170"}"#;
    run(&folder, (call, place));
    let made = "new new/Memory/cache/cold.accp new/Memory/cache/index.db new/Memory/cache/.lock \
        new/Memory/cache/offloaded report";
    assert_eq!(open_to_others(&folder, made), [""; 0]);
}

#[test]
fn the_registry_of_instructions_is_its_owner_s() {
    let answer = json!({ "english": ENGLISH, "dom": "CS", "answer": PACKET });
    let folder = inputs(&[("answers.jsonl", &format!("{answer}\n"))]);
    let encode = ("aacp encode --registry r.aacp --english", [ENGLISH], CS);
    run(&folder, encode);
    assert_eq!(open_to_others(&folder, "r.aacp"), [""; 0]);
}

/// Agents may share a folder between users, so other users can open the files in it. They cannot open the files that
/// each participant keeps for itself.
#[test]
fn a_shared_folder_stays_shared() {
    let folder = inputs(&[]);
    run(&folder, ("collab", INIT, "--folder round"));
    let link = "collab link --folder round";
    let ada = (link, "--participant ada --store ada.accp");
    // The owner of the proposal is the host. The other participant waits for the host.
    let _ada = Running::spawn(&mut masked(folder.0.path(), ada));
    let bob = "--participant bob --store bob.accp --until-sent";
    run(&folder, (link, bob));
    let open = open_to_others(&folder, "ada.accp bob.accp round/protocol.json");
    assert!(
        open.iter().all(|name| name.starts_with("round")),
        "{open:?}"
    );
    assert!(
        open.contains(&"round/protocol.json 644".to_owned()),
        "{open:?}"
    );
}

#[test]
fn code_and_grammars_follow_the_umask() {
    let folder = inputs(&[]);
    for args in [
        "generate --aacp -o code.rs",
        "grammar export --format lark -o frames.lark",
    ] {
        run(&folder, args);
    }
    let open = open_to_others(&folder, "");
    assert_eq!(open, ["code.rs 644", "frames.lark 644"]);
}

/// A file that this user may not read is a failure with its reason, and so is a store in a folder where a reader cannot
/// make the files that it needs.
#[test]
fn files_without_rights_say_so() {
    let folder = inputs(&[("own.json", "{}"), ("frames", "@a>req:plan{}")]);
    run(&folder, "demo --store team.db");
    fs::create_dir(folder.path("sealed")).unwrap();
    fs::copy(folder.path("team.db"), folder.path("sealed/team.db")).unwrap();
    let mode = |name: &str, mode| {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("own.json", 0o000);
    mode("team.db", 0o000);
    if fs::read(folder.path("own.json")).is_ok() {
        println!("skipped: this user (root) may read every file");
        return;
    }
    for args in [
        "session list team.db",
        "session verify team.db",
        "registry lint own.json",
        "registry hash own.json",
        "generate own.json",
        "check --registry own.json frames",
    ] {
        folder
            .run(args, "")
            .code_is(2)
            .stderr_has("Permission denied");
    }
    mode("sealed", 0o555);
    folder
        .run("session list sealed/team.db", "")
        .code_is(2)
        .stderr_has("copy the file, with its `-wal` if there is one, to another folder");
    mode("sealed", 0o755);
}
