//! Tests of the settings of a hub.

use super::Folder;
use super::hub::{Running, run};

#[test]
fn the_printed_settings_are_all_that_there_are() {
    let printed = run("serve --print-config");
    let in_force = |line: &str| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let is_setting = bare.starts_with('[') || bare.contains(" = ");
        is_setting.then(|| format!("{bare}\n"))
    };
    let all: String = printed.stdout.lines().filter_map(in_force).collect();
    let folder = Folder::with(&[("hub.toml", &all)]);
    let line = "serve postgres://db.example/accp --print-config --config hub.toml";
    let run = folder.run(line, "");
    run.code_is(0);
    for setting in [
        "[tls]\ncertificate = ",
        "key = ",
        "[replica]\n",
        "advertise = ",
        "lease = 10\n",
        "authority = ",
    ] {
        run.stdout_has(setting);
    }
    assert!(!run.stdout.contains('#'), "{}", run.stdout);
}

/// A hub does not start with settings with which it would serve nobody. The error names the file and the setting.
#[test]
fn settings_with_which_a_hub_serves_nobody_are_refused() {
    let year = "write 1 to 31536000 seconds";
    let form = "write the scheme, the name and the port as a browser sends them";
    for (settings, cure) in [
        ("agent = \"*\"", "`*` is not an agent id"),
        ("heartbeat = 0", year),
        ("heartbeat = 18446744073709551615", year),
        ("drain = 99999999999", "write 0 to 31536000 seconds"),
        ("origins = [\"*\"]", form),
        ("origins = [\"null\"]", "load the page from a server"),
        ("origins = [\"https://example.com/\"]", form),
        ("origins = [\"https://Example.com\"]", form),
        (
            "origins = [\"https://example.com:443\"]",
            "leave the port out",
        ),
        ("limits.header_seconds = 0", year),
        ("limits.wait = 99999999999", "write 0 to 31536000 seconds"),
        ("limits.frame = 0", "write 1024 or more"),
        ("limits.headers = 100", "write 8192 or more"),
        ("limits.connections = 0", "write 1 or more"),
        (
            "limits.connections = 9999999999",
            "write 1073741824 or less",
        ),
        ("limits.frames_per_second = 0", "write 1 or more"),
        ("limits.bodies = 0", "write 1024 or more"),
        ("limits.agents = 0", "write 1 or more"),
    ] {
        let folder = Folder::with(&[("hub.toml", settings)]);
        let run = folder.run("serve --memory --print-config --config hub.toml", "");
        run.code_is(1)
            .stderr_has(format!("hub.toml: {settings}: "))
            .stderr_has(cure);
    }
    let fine = "idle = 0\norigins = [\"https://example.com:8443\", \"http://[::1]:3000\"]\nlimits.wait = 0\n";
    let folder = Folder::with(&[("hub.toml", fine)]);
    let run = folder.run("serve --memory --print-config --config hub.toml", "");
    run.code_is(0);
}

/// A store keeps its sessions under the name of their host. A hub with another name does not begin them anew.
#[test]
fn a_hub_with_another_name_says_whose_the_sessions_are() {
    let folder = Folder::with(&[("desk.toml", "agent = \"desk\"")]);
    let here = folder.0.path();
    let frame = "@guest>req:plan{}";
    let desk = "hub.accp --config desk.toml";
    let (hub, url) = Running::hub(desk, here);
    run(["send", "--hub", &url, frame])
        .code_is(0)
        .stdout_starts("@desk>ack:frame{");
    hub.stop();
    let (hub, url) = Running::hub("hub.accp", here);
    let why = "the name `desk` as `agent` in the settings of the hub";
    run(["send", "--hub", &url, frame])
        .code_is(1)
        .stderr_has(why);
    run(["tail", "--hub", &url, "--no-follow"])
        .code_is(1)
        .stderr_has(why);
    run(["send", "--hub", &url, "--session", "other", frame]).code_is(0);
    hub.stop();
    let (_hub, url) = Running::hub(desk, here);
    run(["tail", "--hub", &url, "--no-follow"])
        .code_is(0)
        .stdout_starts("@desk>sync:open{");
}

#[test]
fn an_address_that_is_none_says_how_to_write_one() {
    for address in ["localhost:7337", "127.0.0.1", ":7337", "[::1]"] {
        run(["serve", "--memory", "--listen", address])
            .code_is(2)
            .stderr_has("write an IP address and a port, as in 127.0.0.1:7337");
    }
}

/// An error in a file of settings or of tokens says what to write, without the names of Rust types.
#[test]
fn a_file_that_cannot_be_read_says_what_to_write() {
    let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let entry = format!("[[token]]\nsha256 = \"{digest}\"\nagent = \"dev\"\n");
    let no_list = entry.clone() + "sessions = \"lunch\"\n";
    let empty = entry + "sessions = [\"lunch\"]\n";
    let number = "expected a whole number of 0 or more";
    for (option, text, cure) in [
        (
            "--config",
            "listen = \"127.0.0.1\"",
            "as in \"127.0.0.1:7337\"",
        ),
        ("--config", "limits.requests = -1", number),
        ("--config", "drain = 1.5", number),
        (
            "--config",
            "origins = \"https://a.example\"",
            "write a list",
        ),
        ("--tokens", &*no_list, "write a list"),
        (
            "--tokens",
            &*empty,
            "token 1: `sha256` is that of an empty text",
        ),
    ] {
        let folder = Folder::with(&[("file.toml", text)]);
        let args = "serve --memory --listen 127.0.0.1:0";
        let run = folder.run((args, option, "file.toml"), "");
        run.code_is(1).stderr_has("file.toml: ").stderr_has(cure);
        for name in ["usize", "u64", "u32"] {
            assert!(!run.stderr.contains(name), "{}", run.stderr);
        }
    }
}

#[test]
fn a_url_that_no_card_can_name_is_refused() {
    for url in [
        "",
        "not a url",
        "hub.example",
        "ftp://hub.example",
        "https:///a2a",
    ] {
        run(["serve", "--memory", "--print-config", "--public-url", url])
            .code_is(2)
            .stderr_has("--public-url https://hub.example");
    }
    let url = "https://hub.example/agents";
    run(["serve", "--memory", "--print-config", "--public-url", url]).code_is(0);
}

/// A token whose sessions cannot exist would open nothing, and its agent would only hear that it may not enter.
#[test]
fn a_token_for_sessions_that_cannot_exist_is_refused() {
    // The address is taken, so that a hub which accepts the file ends, too.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    for name in ["", "a b", "*-team", "team-*-7", "**"] {
        let tokens = format!(
            "[[token]]\nsha256 = \"{digest}\"\nagent = \"dev\"\nsessions = [\"*\", \"{name}\"]\n"
        );
        let folder = Folder::with(&[("tokens.toml", &tokens)]);
        let args = [
            "serve",
            "--memory",
            "--tokens",
            "tokens.toml",
            "--listen",
            &at,
        ];
        folder
            .run(args, "")
            .code_is(1)
            .stderr_has(format!("tokens.toml: token 1: `sessions` has \"{name}\": "))
            .stderr_has("1 to 128 letters, digits");
    }
}
