//! Tests of the gate of a hub from outside: the hub is a separate process, and clients without rights send requests.

mod client;
mod ends;
mod growth;
mod limits;
mod models;
mod names;
mod stored;
mod tasks;

use std::fs;
use std::path::Path;

use accp_hub::Tokens;
use serde_json::json;
use tempfile::TempDir;

use super::Words;
use super::hub::Running;
use client::{A2A, Client, MCP, Open, message};
use stored::{content, logs};

/// A token: its secret, its agent, and the sessions for which it is valid.
type Token = (&'static str, &'static str, &'static str);

/// A hub with its own folder.
struct TestHub {
    process: Running,
    url: String,
    folder: TempDir,
}

impl TestHub {
    fn start(args: impl Words) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), args)
    }

    /// Starts a hub, and returns a client without a token, too.
    fn open(args: impl Words) -> (Self, Client) {
        let hub = Self::start(args);
        let client = hub.client();
        (hub, client)
    }

    fn start_in(folder: TempDir, args: impl Words) -> Self {
        let (process, url) = Running::hub(args, folder.path());
        Self {
            process,
            url,
            folder,
        }
    }

    /// Starts a hub with settings in TOML. The hub lets in only clients with these tokens, or all clients if there
    /// are no tokens.
    fn with(settings: &str, tokens: &[Token]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("hub.toml"), settings).unwrap();
        let mut args = "--config hub.toml".to_owned();
        if !tokens.is_empty() {
            write_tokens(folder.path(), tokens);
            args += " --tokens tokens.toml";
        }
        Self::start_in(folder, args)
    }

    /// Starts a hub with these tokens. The client with the last token is an administrator.
    fn with_admin(tokens: &[Token]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_tokens(folder.path(), tokens);
        let file = folder.path().join("tokens.toml");
        let tokens = fs::read_to_string(&file).unwrap() + "admin = true\n";
        fs::write(&file, tokens).unwrap();
        Self::start_in(folder, "--tokens tokens.toml")
    }

    fn client(&self) -> Client {
        Client::new(&self.url, None)
    }

    fn client_of(&self, token: Token) -> Client {
        Client::new(&self.url, Some(token.0))
    }
}

/// Writes a file of tokens.
fn write_tokens(folder: &Path, tokens: &[Token]) {
    let entries = tokens.iter().map(|(secret, agent, sessions)| {
        let digest = Tokens::digest(secret);
        format!(
            "[[token]]\nsha256 = \"{digest}\"\nagent = \"{agent}\"\nsessions = [\"{sessions}\"]\n"
        )
    });
    // Because of the rename, the hub never reads half of the file.
    fs::write(folder.join("tokens.new"), entries.collect::<String>()).unwrap();
    fs::rename(folder.join("tokens.new"), folder.join("tokens.toml")).unwrap();
}

const DEV: Token = ("secret-of-dev", "dev", "lunch");
const COOK: Token = ("secret-of-cook", "cook", "lunch");
const GUEST: Token = ("secret-of-guest", "guest", "lunch");
const EVE: Token = ("secret-of-eve", "eve", "eves");

fn frame(head: &str, mid: &str, seq: u64, more: &str) -> String {
    format!("{head}[mid:{mid},seq:{seq},{more}]")
}

#[test]
fn mcp_and_a2a_speak_for_the_agent_of_the_token_alone() {
    let hub = TestHub::with("", &[DEV, EVE]);
    let (dev, eve) = (hub.client_of(DEV), hub.client_of(EVE));
    let session = dev.begin("/mcp/lunch/dev");
    // The last entry that a starting agent causes is the one about the requests that it takes. So the test waits for
    // this entry.
    let read = |_| logs(&hub.folder.path().join("hub.accp"));
    let before = (0..10_000).map(read).find(|all| all.contains("sync:takes"));

    for path in [
        "/mcp/eves/eve/lunch/dev",
        "/mcp/eves/eve/lunch/dev/",
        "/mcp/eves/eve//lunch/dev",
        "/mcp/eves/eve/..%2flunch%2fdev",
        "/mcp/eves/eve/%2e%2e/%2e%2e/lunch/dev",
        "/a2a/eves/eve/lunch/dev",
        "/a2a/eves/eve/a2a/lunch/dev",
    ] {
        let refused = if path.starts_with("/mcp") {
            eve.initialize(path)
        } else {
            eve.a2a(path, "SendMessage", &message("m1", "hello"))
        };
        assert_eq!(refused.status, 404, "{path}: {refused:?}");
    }
    for path in [
        "/mcp/lunch/dev",
        "/mcp/eves/dev",
        "/mcp/lunch/eve",
        "/mcp/%6cunch/dev",
    ] {
        let refused = eve.initialize(path);
        assert_eq!(refused.status, 403, "{path}: {refused:?}");
    }
    // Eve cannot use the MCP session that another agent has begun, on any path.
    for path in ["/mcp/eves/eve", "/mcp/eves/eve/lunch/dev"] {
        let used = eve.mcp(path, Some(&session), "tools/list", &json!({}));
        assert_eq!(used.status, 404, "{used:?}");
        let deleted = eve.ask("DELETE", path, &[("mcp-session-id", &session)], "");
        assert!(matches!(deleted.status, 202 | 204 | 404), "{deleted:?}");
    }
    assert!(before == Some(read(0)), "eve has written");
    let listed = dev.mcp("/mcp/lunch/dev", Some(&session), "tools/list", &json!({}));
    assert!(listed.body.contains("accp_send"), "{listed:?}");
    // This token is valid for `dev` in all sessions. Still, its client can use an MCP session only on the path of the
    // session in which the MCP session was begun.
    let both = ("secret-of-both", "dev", "*");
    write_tokens(hub.folder.path(), &[DEV, EVE, both]);
    let both = hub.client_of(both);
    let other = loop {
        let begun = both.initialize("/mcp/eves/dev");
        if begun.status != 401 {
            break begun;
        }
    };
    assert_eq!(other.status, 200, "{other:?}");
    let used = both.mcp("/mcp/eves/dev", Some(&session), "tools/list", &json!({}));
    assert_eq!(
        used.status, 404,
        "a session of MCP belongs to its agent: {used:?}"
    );
}

/// Opens one request on each route that can stay open, and waits until each is open. The client of A2A uses another
/// agent, because an agent can be open only in one place at a time.
fn open_all(hub: &Client, guest: &Client) -> Vec<(&'static str, Open)> {
    let mut open = Vec::new();
    let frames = "/accp/v1/sessions/lunch/frames?follow=true";
    for (what, accept) in [
        ("follow", "*/*"),
        ("follow, as JSON", "application/x-ndjson"),
    ] {
        let mut followed = hub.open("GET", frames, &[("accept", accept)], b"");
        followed.until("plan");
        open.push((what, followed));
    }
    let kind = ("content-type", "application/accp");
    let chunked = [kind, ("transfer-encoding", "chunked")];
    let mut stream = hub.open("POST", "/accp/v1/frames", &chunked, b"");
    let piece = "@dev>stream:infer{idx:0|d:w|schema:ST}";
    let piece = frame(piece, "abc109000001", 2, "sid:lunch,cid:abc");
    stream.write(format!("{:x}\r\n{piece}\n\r\n", piece.len() + 1).as_bytes());
    stream.until("of:abc109000001");
    open.push(("a stream in chunks", stream));

    let session = hub.begin("/mcp/lunch/dev");
    let session = ("mcp-session-id", &*session);
    let listen = [("accept", "text/event-stream"), session];
    let mut events = hub.open("GET", "/mcp/lunch/dev", &listen, b"");
    events.until("200 OK");
    open.push(("events of MCP", events));
    let call = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": { "name": "accp_ask", "arguments": {
            "intent": "req", "operation": "plan", "params": { "goal": "x" }, "timeout": 300,
        } },
    });
    let mut headers = MCP.to_vec();
    headers.push(session);
    let mut asked = hub.open(
        "POST",
        "/mcp/lunch/dev",
        &headers,
        call.to_string().as_bytes(),
    );
    asked.until("200 OK");
    open.push(("a tool of MCP", asked));

    let call = json!({
        "jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage", "params": message("m1", "hello"),
    });
    let mut streamed = guest.open(
        "POST",
        "/a2a/lunch/guest",
        &A2A,
        call.to_string().as_bytes(),
    );
    streamed.until("\"task\"");
    open.push(("a stream of A2A", streamed));
    let call = json!({
        "jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": message("m2", "hello"),
    });
    let sent = guest.open(
        "POST",
        "/a2a/lunch/guest",
        &A2A,
        call.to_string().as_bytes(),
    );
    open.push(("a call of A2A", sent));
    open
}

#[test]
fn a_withdrawn_token_ends_what_is_open_on_every_route() {
    let hub = TestHub::with("", &[DEV, GUEST, COOK]);
    let [dev, guest, cook] = [DEV, GUEST, COOK].map(|token| hub.client_of(token));
    let ping = frame("@cook>ping:link{}", "abc999000001", 0, "sid:lunch");
    assert_eq!(cook.post_frame(&ping).status, 200); // This agent has not said which requests it takes, so the questions wait for it.
    let plan = frame("@dev>req:plan{goal:x}", "abc101000001", 1, "sid:lunch");
    assert_eq!(dev.post_frame(&plan).status, 200);
    let frames = "/accp/v1/sessions/lunch/frames?follow=true";
    let mut stays = cook.open("GET", frames, &[], b"");
    stays.until("plan");
    let open = open_all(&dev, &guest);

    write_tokens(hub.folder.path(), &[COOK]);
    for (what, open) in open {
        let ended = open.finish();
        match ended.status {
            // Here the hub had not yet begun to answer the request.
            401 => assert!(ended.body.contains("E5001"), "{what}: {ended:?}"),
            200 => {
                assert!(!ended.is_whole, "{what} reads as whole: {ended:?}");
                assert!(ended.body.contains("E5001"), "{what} says why: {ended:?}");
            }
            _ => panic!("{what}: {ended:?}"),
        }
    }
    // A client that still has its token is not interrupted.
    let soup = frame("@cook>req:plan{goal:soup}", "abc102000001", 1, "sid:lunch");
    assert_eq!(cook.post_frame(&soup).status, 200);
    stays.until("goal:soup");
}

/// Returns the routes of a session and an agent for which a safe method (such as GET) exists.
fn safe_routes(session: &str, agent: &str) -> Vec<String> {
    let of_session = [
        "frames",
        "context",
        "state",
        "registry",
        "values/hot.p1",
        "erase",
        "",
    ];
    let of_session = of_session.map(|part| format!("/accp/v1/sessions/{session}/{part}"));
    let more = [
        format!("/accp/v1/sessions/{session}/frames?follow=false&after=0"),
        format!("/accp/v1/frames?session={session}"),
        format!("/accp/v1/ws?session={session}&agent={agent}"),
        "/accp/v1/sessions".to_owned(),
        format!("/mcp/{session}/{agent}"),
        format!("/mcp/{session}/{agent}/x"),
        format!("/a2a/{session}/{agent}"),
        format!("/a2a/{session}/{agent}/.well-known/agent-card.json"),
        "/metrics".to_owned(),
        "/ui".to_owned(),
        "/openapi.json".to_owned(),
        "/readyz".to_owned(),
        "/".to_owned(),
    ];
    of_session.into_iter().chain(more).collect()
}

#[test]
fn a_safe_method_never_writes() {
    let hub = TestHub::start("");
    let file = hub.folder.path().join("hub.accp");
    let plan = frame("@dev>req:plan{goal:x}", "abc101000001", 1, "sid:lunch");
    assert_eq!(hub.client().post_frame(&plan).status, 200);
    hub.process.stop();
    // After its restart the hub has no session in memory, so it loads this one from the store.
    let hub = TestHub::start_in(hub.folder, "");
    let before = content(&file);
    let client = hub.client();
    let accepted = [("accept", "text/event-stream"), ("mcp-session-id", "guess")];
    for (session, agent) in [("lunch", "dev"), ("lunch", "eve"), ("nowhere", "eve")] {
        for route in safe_routes(session, agent) {
            for method in ["GET", "HEAD", "OPTIONS"] {
                client.ask(method, &route, &[], "");
                client.ask(method, &route, &accepted, "");
                assert!(content(&file) == before, "{method} {route} writes");
            }
        }
    }
    // The upgrade to a WebSocket writes nothing either. Only the first frame on the WebSocket may write something.
    let upgrade = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let mut socket = client.open(
        "GET",
        "/accp/v1/ws?session=nowhere&agent=eve",
        &upgrade,
        b"",
    );
    socket.until("101 Switching Protocols");
    // A refused request writes nothing, whatever its method.
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let refused = [
        client.ask("POST", "/mcp/nowhere/eve", &[], &call),
        client.ask("POST", "/mcp/nowhere/eve", &MCP, "{"),
        client.ask("POST", "/mcp/nowhere/eve", &MCP, &call),
        client.ask("DELETE", "/mcp/nowhere/eve", &[], ""),
        client.a2a("/a2a/nowhere/eve", "NoMethod", &json!({})),
        client.a2a("/a2a/nowhere/eve", "SendMessage", &json!({})),
        client.a2a("/a2a/nowhere/eve", "GetTask", &json!({ "id": "x" })),
        client.a2a("/a2a/nowhere/eve", "ListTasks", &json!({})),
        client.a2a("/a2a/nowhere/eve", "CancelTask", &json!({ "id": "x" })),
        client.ask(
            "PUT",
            "/accp/v1/sessions/nowhere/values/k1?agent=eve",
            &[],
            "x",
        ),
    ];
    assert!(content(&file) == before, "{refused:?}");
    drop(socket);
    hub.process.stop();
    assert!(content(&file) == before, "the end of the hub writes");
}

#[test]
fn pages_of_other_sites_get_nothing() {
    let (hub, client) = TestHub::open("");
    let own = format!("http://{}", hub.url.trim_start_matches("http://"));
    for route in safe_routes("lunch", "dev") {
        let is_public = ["/ui", "/openapi.json", "/readyz", "/"].contains(&&*route);
        for site in ["cross-site", "same-site", "anything"] {
            let image = [("sec-fetch-site", site), ("sec-fetch-dest", "image")];
            for method in ["GET", "POST"] {
                let answer = client.ask(method, &route, &image, "");
                // With 404 or 405, the route does not exist or does not accept this method.
                let is_public = is_public || matches!(answer.status, 404 | 405);
                assert!(
                    is_public || answer.status == 403,
                    "{method} {route}: {answer:?}"
                );
            }
        }
        let site = ("sec-fetch-site", "same-origin");
        let answer = client.ask("GET", &route, &[site, ("origin", &own)], "");
        assert_ne!(answer.status, 403, "{route}: {answer:?}");
    }
    assert_eq!(client.get("/accp/v1/sessions").body, "[]");
}

#[test]
fn what_others_write_is_escaped_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    write_tokens(folder.path(), &[("any", "dev", "*")]);
    let log = "--log text --log-level debug";
    for (tokens, token) in [("--tokens tokens.toml", Some("any")), ("", None)] {
        let (hub, url) = Running::hub((log, tokens), folder.path());
        let client = Client::new(&url, token);
        for path in [
            "/mcp/a%0aFAKE%20line/dev%1b%5b31m",
            "/mcp/lunch/dev%0aFAKE%20line%1b%5b31m",
            "/mcp/lunch/dev/a%0aFAKE%20line%1b%5b31m",
            "/a2a/a%0aFAKE%20line/dev%1b%5b31m",
            "/accp/v1/sessions/a%0aFAKE%20line%1b%5b31m/frames",
            "/accp/v1/ws?session=a%0aFAKE%20line&agent=%1b%5b31m",
        ] {
            client.get(path);
            client.initialize(path);
        }
        client.post_frame("@dev>req:a\u{1b}[31m{}[mid:abc101000001,seq:1,sid:lunch]");
        let (_, said) = hub.stop();
        let is_odd = |c: char| c.is_control() && c != '\n';
        assert!(!said.contains(is_odd), "{said:?}");
        assert!(said.lines().all(|line| !line.starts_with("FAKE")), "{said}");
    }
}

/// Asks until `/readyz` answers with this status. Returns the body.
fn until_ready_is(client: &Client, status: u16) -> String {
    let mut asked = (0..100_000).map(|_| client.get("/readyz"));
    let ready = asked.find(|ready| ready.status == status);
    ready.expect("/readyz says so in time").body
}

#[test]
fn a_hub_that_cannot_keep_frames_is_not_ready_and_takes_none() {
    let (hub, client) = TestHub::open("hub.accp");
    let plan = |mid: &str, seq| client.post_frame(&frame("@dev>req:plan{}", mid, seq, "sid:lunch"));
    assert_eq!(plan("abc101000001", 1).status, 200);
    until_ready_is(&client, 200);
    // The test moves the store's file away, and later back.
    let [here, there] = ["hub.accp", "moved"].map(|name| hub.folder.path().join(name));
    fs::rename(&here, &there).unwrap();
    let why = until_ready_is(&client, 503);
    assert!(why.contains("a_store_that_can_be_written"), "{why}");
    for refused in [
        plan("abc101000002", 2),
        client.initialize("/mcp/lunch/cook"),
        client.a2a("/a2a/lunch/guest", "SendMessage", &message("m1", "hello")),
        client.ask(
            "PUT",
            "/accp/v1/sessions/lunch/values/k101_1?agent=dev",
            &[],
            "x",
        ),
    ] {
        assert_eq!(refused.status, 503, "{refused:?}");
        assert_eq!(refused.header("retry-after"), Some("1"), "{refused:?}");
    }
    // All four may be taken later. Nobody was denied anything.
    let counts = client.get("/metrics").body;
    assert!(counts.contains("{fate=\"later\"} 4\n"), "{counts}");
    assert!(
        counts.contains("\naccp_denied_requests_total 0\n"),
        "{counts}"
    );
    fs::rename(&there, &here).unwrap();
    until_ready_is(&client, 200);
    assert_eq!(plan("abc101000002", 2).status, 200);
    let (_, said) = hub.process.stop();
    assert_eq!(said.matches("the store is not able").count(), 1, "{said}");
    assert!(said.contains("the store is able again"), "{said}");
}

#[test]
fn a_log_whose_last_entry_is_for_no_reader_ends() {
    let (_hub, client) = TestHub::open("--memory");
    client.posts("@dev>req:plan{goal:x}", "abc101000001", 1, "sid:lunch");
    let refused = frame("@dev>sync:grant{}", "abc101000002", 2, "sid:lunch");
    assert_eq!(client.post_frame(&refused).status, 400);
    for (query, frames) in [("", 1), ("?after=2", 1), ("?after=900", 0), ("?limit=1", 0)] {
        let read = client.get(&format!("/accp/v1/sessions/lunch/frames{query}"));
        assert!(read.is_whole, "{query}: {read:?}");
        assert_eq!(
            read.body.matches("goal:x").count(),
            frames,
            "{query}: {read:?}"
        );
    }
}

#[test]
fn two_headers_or_two_sessions_say_nothing() {
    let hub = TestHub::with("", &[("any", "dev", "*")]);
    let client = Client::new(&hub.url, Some("any"));
    let doubled = client.ask(
        "GET",
        "/accp/v1/sessions",
        &[("authorization", "Bearer any")],
        "",
    );
    assert_eq!(doubled.status, 400, "{doubled:?}");
    let kind = [("content-type", "application/accp")];
    let plan = frame("@dev>req:plan{}", "abc101000001", 1, "sid:lunch");
    let both = client.ask("POST", "/accp/v1/frames?session=dinner", &kind, &plan);
    assert!(
        both.status == 400 && both.body.contains("one_session"),
        "{both:?}"
    );
    assert_eq!(client.get("/accp/v1/sessions").body, "[]");
}
