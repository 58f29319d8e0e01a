//! Tests of commands at a hub whose certificate is of an authority that browsers do not know.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::hub::{Running, run};
use super::{command, finish};

const FRAME: &str = "@guest>req:plan{}";
const CURE: &str = "--authority names the file with the certificate of its authority";
const OTHER_SCHEME: &str =
    "a hub that speaks TLS has https:// in --hub, and another hub has http://";

/// Makes a certificate for loopback, `hub.pem`, and its key, `hub.key`. Starts a hub with them.
fn hub(folder: &Path) -> (Running, String) {
    let openssl = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:prime256v1", "-subj", "/CN=hub"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-keyout", "hub.key", "-out", "hub.pem"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(openssl.status.success(), "{openssl:?}");
    Running::hub("--memory --tls-cert hub.pem --tls-key hub.key", folder)
}

#[test]
fn a_command_trusts_the_authority_that_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let (_hub, url) = hub(folder.path());
    assert!(url.starts_with("https://"), "{url}");
    let file = folder.path().join("hub.pem");
    let file = file.to_str().unwrap();
    run(["ready", "--hub", &url, "--authority", file]).code_is(0);
    let ready = ["ready", "--hub", &url];
    let ready = finish(command().args(ready).env("ACCP_AUTHORITY", file), b"");
    ready.code_is(0);
    let cook = [
        "agent",
        "cook",
        "--hub",
        &url,
        "--authority",
        file,
        "--",
        "echo",
        "soup",
    ];
    let mut cook = Running::start_with(cook, folder.path(), &[]);
    assert_eq!(cook.line(), format!("cook is in session main at {url}"));
    let question = "@guest>req:chat{content:Lunch?|schema:CH}";
    run(["ask", "--hub", &url, "--authority", file, question])
        .code_is(0)
        .stdout_starts("@cook>done:chat{content:soup|");
    run(["ready", "--hub", &url]).code_is(1).stderr_has(CURE);
    run(["send", "--hub", &url, FRAME])
        .code_is(2)
        .stderr_has(format!("no connection to {url}: "))
        .stderr_has(CURE);
}

#[test]
fn an_authority_that_is_none_says_what_is_wrong_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.pem");
    fs::write(&file, "").unwrap();
    let said = format!("{}: no certificate in it", file.display());
    for name in ["ready", "tail"] {
        let asked = [
            name,
            "--hub",
            "https://127.0.0.1:1",
            "--authority",
            file.to_str().unwrap(),
        ];
        run(asked).code_is(1).stderr_has(&said);
    }
    run([
        "ready",
        "--hub",
        "https://127.0.0.1:1",
        "--authority",
        "gone.pem",
    ])
    .code_is(2)
    .stderr_has("gone.pem: ");
}

#[test]
fn a_command_that_speaks_tls_where_the_hub_does_not_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let (_secure, secure) = hub(folder.path());
    let (_plain, plain) = Running::hub("--memory", folder.path());
    let urls = [
        secure.replace("https://", "http://"),
        plain.replace("http://", "https://"),
    ];
    for url in &urls {
        run(["ready", "--hub", url])
            .code_is(1)
            .stderr_has(OTHER_SCHEME);
        run(["send", "--hub", url, FRAME])
            .code_is(2)
            .stderr_has(OTHER_SCHEME);
    }
}
