//! Tests that only one hub can use a file of sessions, and that other commands can still read or copy the file.

use std::fs;
use std::net::TcpListener;

use super::hub::Running;
use super::{Folder, Run, accp};

fn serve(folder: &Folder, file: &str) -> Run {
    folder.run(["serve", file, "--listen", "127.0.0.1:0"], "")
}

fn send(url: &str, goal: &str) {
    let frame = format!("@guest>req:plan{{goal:{goal}}}");
    accp(["send", "--hub", url, &frame], "").code_is(0);
}

/// Returns the number of frames of guests in the first session of a file.
fn goals(folder: &Folder, file: &str) -> usize {
    let run = folder.run(
        ["session", "export", file, "main", "--format", "frames"],
        "",
    );
    run.code_is(0);
    run.stdout.matches("req:plan{goal:").count()
}

#[test]
fn a_second_hub_is_refused_and_the_first_is_named_until_it_is_killed() {
    let folder = Folder::with(&[]);
    let (first, url) = Running::hub("hub.accp", folder.0.path());
    send(&url, "tea");
    let second = serve(&folder, "./hub.accp");
    assert_eq!((second.code, &*second.stdout), (Some(2), ""));
    let address = url.trim_start_matches("http://");
    let holder = format!("process {} at {address}", first.id());
    assert_eq!(
        second.stderr,
        format!(
            "error: ./hub.accp: another hub has this file: {holder}; use that hub, end it, or name \
             another file\n"
        )
    );
    send(&url, "rye");

    drop(first); // kills the hub
    let (next, url) = Running::hub("hub.accp", folder.0.path());
    send(&url, "oats");
    assert_eq!(next.stop().0, Some(0));
    assert_eq!(goals(&folder, "hub.accp"), 3);
}

#[test]
fn readers_and_copies_go_on_while_a_hub_runs() {
    let folder = Folder::with(&[]);
    let (hub, url) = Running::hub("hub.accp", folder.0.path());
    send(&url, "tea");
    for command in ["list", "verify"] {
        folder.run(["session", command, "hub.accp"], "").code_is(0);
    }
    let copy = folder.path("copy.accp");
    let conn = rusqlite::Connection::open(folder.path("hub.accp")).unwrap();
    conn.execute("VACUUM INTO ?1", [copy.to_str().unwrap()])
        .unwrap();
    drop(conn);
    assert_eq!(goals(&folder, "copy.accp"), 1);
    // The command refuses to erase while a hub has the file open.
    let erase = "session erase hub.accp main --from guest";
    let run = folder.run(erase, "");
    run.code_is(2);
    run.stderr_has("`accp erase` asks a hub");
    send(&url, "rye");
    assert_eq!(hub.stop().0, Some(0));
    folder.run(erase, "").code_is(0);
    assert_eq!(goals(&folder, "hub.accp"), 0);
}

/// If its file cannot be opened, a hub ends with an error: here the path is a folder, or the folder of the file is
/// missing.
#[test]
fn a_hub_and_its_file_part_only_with_an_error() {
    let folder = Folder::with(&[]);
    fs::create_dir(folder.path("hub.accp")).unwrap();
    serve(&folder, "hub.accp").code_is(2);
    serve(&folder, "missing/hub.accp")
        .code_is(2)
        .stderr_has("check that the folder exists");
}

/// A hub leaves devices, sockets and pipes alone: it puts no lock beside them, and does not ask for another mode.
#[cfg(unix)]
#[test]
fn a_hub_takes_a_regular_file_alone() {
    let folder = Folder::with(&[]);
    let socket = std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
    let run = serve(&folder, "socket");
    run.code_is(2)
        .stderr_starts("error: socket: this is not a regular file: ");
    assert_eq!(folder.names(), ["socket"]);
    drop(socket);
}

#[test]
fn a_hub_that_cannot_listen_leaves_no_store_behind() {
    let folder = Folder::with(&[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("--listen {}", taken.local_addr().unwrap());
    for (options, code, why) in [
        (&*taken, 2, "choose another address with --listen"),
        ("--listen 0.0.0.0:0", 2, "is not loopback"),
        (
            "--listen 127.0.0.1:0 --tokens tokens.toml",
            1,
            "tokens.toml",
        ),
    ] {
        let run = folder.run(&*format!("serve new.accp {options}"), "");
        run.code_is(code).stderr_has(why);
        assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 0, "{why}");
    }
}
