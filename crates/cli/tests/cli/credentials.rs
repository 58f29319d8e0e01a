//! Tests of the tokens that commands show to a hub: where a token comes from, and the warning if other users can read
//! it.

use std::fs;
use std::path::{Path, PathBuf};

use super::hub::{Running, run};
use super::{Run, Words, command, finish};

/// The SHA-256 of `secret`.
const DIGEST: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
const FRAME: &str = "@guest>req:plan{}";

fn hub(folder: &Path) -> (Running, String) {
    let tokens =
        format!("[[token]]\nsha256 = \"{DIGEST}\"\nagent = \"*\"\nsessions = [\"main\"]\n");
    fs::write(folder.join("tokens.toml"), tokens).unwrap();
    Running::hub("--memory --tokens tokens.toml", folder)
}

/// Writes a file with these permissions.
fn file(folder: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    path
}

fn send(url: &str, options: impl Words) -> Run {
    run((("send --hub", url), options, FRAME))
}

#[test]
fn a_token_in_a_file_or_in_the_environment_is_shown_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = hub(folder.path());
    let path = file(folder.path(), "token", "secret\nthis is not read\n", 0o600);
    let sent = send(&url, ["--token-file", path.to_str().unwrap()]);
    assert_eq!((sent.code, &*sent.stderr), (Some(0), ""));
    let args = ["send", "--hub", &url, FRAME];
    let sent = finish(command().args(args).env("ACCP_TOKEN", "secret"), b"");
    assert_eq!((sent.code, &*sent.stderr), (Some(0), ""));
    // `accp agent` sends the token, too.
    let args = [
        "agent",
        "cook",
        "--hub",
        &url,
        "--token-file",
        "token",
        "--",
        "true",
    ];
    let mut cook = Running::start_with(args, folder.path(), &[]);
    assert_eq!(cook.line(), format!("cook is in session main at {url}"));
}

#[test]
fn a_token_that_others_can_read_gives_a_warning_with_the_cure() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = hub(folder.path());
    let sent = send(&url, "--token secret");
    sent.code_is(0);
    let said = "warning: other users of this machine see --token in the list of processes; use --token-file FILE or ACCP_TOKEN\n";
    assert_eq!(sent.stderr, said);
    let path = file(folder.path(), "token", "secret\n", 0o644);
    let path = path.to_str().unwrap();
    let sent = send(&url, ["--token-file", path]);
    sent.code_is(0);
    let said =
        format!("warning: other users of this machine can read {path}; run chmod 600 {path}\n");
    assert_eq!(sent.stderr, if cfg!(unix) { said } else { String::new() });
}

#[test]
fn a_token_that_is_none_says_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["", "\nsecret\n", "two words\n", "caf\u{e9}\n"] {
        let path = file(folder.path(), "token", text, 0o600);
        let path = path.to_str().unwrap();
        let sent = send("http://127.0.0.1:1", ["--token-file", path]);
        sent.code_is(1);
        let said = format!("{path}: expected a token of visible ASCII characters, without spaces");
        sent.stderr_has(&said);
    }
    let gone = folder.path().join("gone");
    let gone = gone.to_str().unwrap();
    send("http://127.0.0.1:1", ["--token-file", gone])
        .code_is(2)
        .stderr_has(gone);
    // A folder that others can read is no file with a token: `chmod 600` would lock it up.
    let here = folder.path().to_str().unwrap();
    let sent = send("http://127.0.0.1:1", ["--token-file", here]);
    sent.code_is(2);
    assert_eq!(sent.stderr, format!("error: {here}: is a directory\n"));
    let both = send("http://127.0.0.1:1", ["--token-file", gone, "--token", "x"]);
    both.code_is(2);
}
