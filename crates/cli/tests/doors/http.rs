//! Tests of HTTP requests whose bytes the test writes itself, as any program could write them.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use accp_runtime::{DynamicFrame, ErrorCode, Registry, Value};

use super::processes::Hub;

/// A registry with a new schema. It does not replace any standard profile.
pub(crate) const OWN: &str = r#"{ "schemas": { "note": {
    "code": "NOTE", "fields": ["text", "size"], "types": { "text": "text", "size": "integer" },
    "frames": [ { "intent": "req", "operation": "note" } ]
} } }"#;

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// A request whose body is sent in chunks.
struct Chunked(BufReader<TcpStream>);

impl Chunked {
    fn post(hub: &Hub, path: &str, headers: &str) -> Self {
        let mut socket = TcpStream::connect(hub.address()).unwrap();
        // If the answer does not come, the test fails after this time.
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let address = hub.address();
        write!(
            socket,
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Transfer-Encoding: chunked\r\n{headers}\r\n"
        )
        .unwrap();
        Self(BufReader::new(socket))
    }

    fn frames(hub: &Hub) -> Self {
        Self::post(hub, "/accp/v1/frames", "Content-Type: application/accp\r\n")
    }

    fn chunk(&mut self, text: &str) {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        self.0.get_mut().write_all(chunk.as_bytes()).unwrap();
    }

    /// Reads the head of the answer, and returns its status.
    fn status(&mut self) -> u16 {
        let mut status = String::new();
        self.0.read_line(&mut status).unwrap();
        let mut line = String::from("head");
        while !line.trim_end().is_empty() {
            line.clear();
            self.0.read_line(&mut line).unwrap();
        }
        status.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Returns the next line of the body, without the lengths of its chunks.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.0.read_line(&mut line).unwrap() > 0,
                "the body has ended"
            );
            if line.starts_with('@') {
                return line.trim_end().to_owned();
            }
        }
    }

    /// Sends the end of the body. Returns the status and all frames of the answer.
    fn end(mut self) -> (u16, Vec<String>) {
        self.chunk("");
        (self.status(), self.rest())
    }

    /// Reads the rest of the answer, and returns its frames.
    fn rest(mut self) -> Vec<String> {
        let mut body = String::new();
        self.0.read_to_string(&mut body).unwrap();
        let frames = body.lines().filter(|line| line.starts_with('@'));
        frames.map(str::to_owned).collect()
    }
}

/// Sends a request without chunks. Returns the status and the body of its answer.
pub(crate) fn request(hub: &Hub, head: &str, body: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(hub.address()).unwrap();
    // If the answer does not come, the test fails after this time.
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let (address, length) = (hub.address(), body.len());
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let headers = headers.lines().flat_map(|header| [header, "\r\n"]);
    let headers: String = headers.collect();
    write!(
        socket,
        "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut whole = String::new();
    socket.read_to_string(&mut whole).unwrap();
    let status = whole.split(' ').nth(1).unwrap().parse().unwrap();
    let (head, mut rest) = whole.split_once("\r\n\r\n").unwrap();
    if !head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        return (status, rest.to_owned());
    }
    let mut body = String::new();
    while let Some((length, behind)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        body.push_str(&behind[..length]);
        rest = behind[length..].trim_start();
    }
    (status, body)
}

/// Returns a stream frame of the agent `s`, with a new id.
fn piece(index: u64, seq: u64, more: &str, meta: &str) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let (ts, mid) = (now(), LAST.fetch_add(1, Ordering::Relaxed));
    format!(
        "@s>stream:infer{{idx:{index}|d:w{index}{more}|schema:ST}}[mid:abc{mid:09},seq:{seq},ts:{ts},sid:s{meta}]"
    )
}

#[test]
fn the_status_of_a_stream_is_that_of_its_first_frame() {
    let (_folder, mut hub) = Hub::started(OWN);
    let chain = ",cid:abc";
    let refused = [
        (piece(0, 1, "", ""), "no cid"),
        (piece(0, 3, "", chain), "a gap"),
        (piece(0, 1, "|done:7", chain), "another type"),
        (piece(4, 1, "|tot:3", chain), "an index beyond the total"),
        (piece(0, 1, "", ",sid:t,cid:abc"), "two sessions"),
    ];
    for (first, why) in refused {
        let mut post = Chunked::frames(&hub);
        post.chunk(&first);
        let (status, said) = post.end();
        assert_eq!(status, 400, "{why}: {said:?}");
        assert!(
            said.len() == 1 && said[0].contains(">fail:error{"),
            "{why}: {said:?}"
        );
    }
    // The first frame has expired, so the hub does not answer it. The HTTP response must still have the answers to
    // all later frames.
    let mut post = Chunked::frames(&hub);
    let mut old = piece(0, 1, "", ",ttl:5,cid:old");
    old = old.replace(&now().to_string(), "1000");
    let last = piece(1, 3, "", chain);
    let second = piece(0, 2, "", chain);
    for chunk in [&old, &second, &piece(1, 9, "", chain), &last] {
        post.chunk(chunk);
    }
    let (status, said) = post.end();
    assert_eq!((status, said.len()), (202, 3), "{said:?}");
    assert!(said[0].contains(">ack:frame{"), "{said:?}");
    assert!(said[1].contains("E3003"), "{said:?}");
    assert!(said[2].contains(">ack:frame{"), "{said:?}");
    hub.kill();
    hub.start();
    let mut post = Chunked::frames(&hub);
    post.chunk(&last);
    let (status, said) = post.end();
    assert_eq!(status, 400, "{said:?}");
    assert!(said[0].contains("E3002"), "{said:?}");
}

#[test]
fn what_is_no_frame_holds_up_no_frame() {
    let (_folder, hub) = Hub::started(OWN);
    let mut post = Chunked::frames(&hub);
    post.chunk(&piece(0, 1, "", ",cid:abc"));
    assert_eq!(post.status(), 200);
    assert!(post.line().contains(">ack:frame{"));
    for (n, garbage) in ["what?", "@s>stream:infer{d:", "@s>stream:infer{d:x}", "}]"]
        .into_iter()
        .enumerate()
    {
        let n = n as u64 + 1;
        post.chunk(garbage);
        post.chunk(&piece(n, n + 1, "", ",cid:abc"));
        let said = [post.line(), post.line()];
        assert!(said[0].contains("E1001"), "{garbage}: {said:?}");
        assert!(said[1].contains(">ack:frame{"), "{garbage}: {said:?}");
    }
    post.chunk("");
    assert_eq!(post.rest(), Vec::<String>::new());
}

#[test]
fn errors_outside_of_a_session_are_frames_of_their_own() {
    let (_folder, hub) = Hub::started(OWN);
    let frames = ("/accp/v1/frames", "Content-Type: application/accp\r\n");
    let long = format!("@dev>req:note{{text:{}}}[sid:s]", "x".repeat(70_000));
    let asked = [
        (frames, "@dev>req:note{text}[sid:s]", 400),
        (frames, "@dev>req:note{text:x}[mid:abc100000001,seq:1]", 400),
        (
            frames,
            "@hub>req:note{text:x}[mid:abc100000001,seq:1,sid:s]",
            400,
        ),
        (frames, &long, 413),
        (
            ("/accp/v1/frames", "Content-Type: text/plain\r\n"),
            "x",
            415,
        ),
        (("/accp/v1/nothing", ""), "x", 404),
        (
            (
                "/accp/v1/frames",
                "Content-Type: application/accp\r\nOrigin: http://elsewhere.example\r\n",
            ),
            "x",
            403,
        ),
    ];
    let mut mids = BTreeSet::new();
    for ((path, headers), body, expected) in asked {
        for _ in 0..2 {
            let mut post = Chunked::post(&hub, path, headers);
            // The hub may answer before it has read all of a body that is too long.
            let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
            let _ = post.0.get_mut().write_all(chunk.as_bytes());
            let (status, said) = (post.status(), post.rest());
            assert_eq!((status, said.len()), (expected, 1), "{said:?}");
            let error = DynamicFrame::decode(&said[0], &Registry::standard()).unwrap();
            let mid = error.envelope.msg_id.as_deref().unwrap();
            assert!(
                mid.len() == 12 && mid.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{said:?}"
            );
            assert!(
                mids.insert(mid.to_owned()),
                "the id of another answer: {said:?}"
            );
            assert!(error.envelope.sequence.is_some(), "{said:?}");
            let ts = error.envelope.timestamp.unwrap();
            assert!(ts.abs_diff(now() as i64) < 60, "{said:?}");
            let code: ErrorCode = error
                .payload
                .get("code")
                .unwrap()
                .to_json()
                .as_str()
                .unwrap()
                .parse()
                .unwrap();
            let retry = Value::Boolean(code.is_retryable().unwrap());
            assert_eq!(error.payload.get("retry"), Some(&retry), "{said:?}");
        }
    }
}

#[test]
fn retry_is_what_the_code_says() {
    let (_folder, hub) = Hub::started(OWN);
    let later = now() + 4000;
    for (frame, code, retry) in [
        (
            format!("@dev>req:note{{text:x}}[mid:abc100000001,seq:1,ts:{later},sid:s]"),
            "E3001",
            true,
        ),
        (
            "@dev>req:note{size:x|schema:NOTE}[mid:abc100000002,seq:1,sid:s]".to_owned(),
            "E1004",
            false,
        ),
        (
            "@dev>req:note{text:x}[mid:abc100000003,seq:5,sid:s]".to_owned(),
            "E3003",
            true,
        ),
        (
            "@dev>req:note{text:$cold.none}[mid:abc100000004,seq:1,sid:s]".to_owned(),
            "E2001",
            false,
        ),
    ] {
        let mut post = Chunked::frames(&hub);
        post.chunk(&frame);
        let (status, said) = post.end();
        assert_eq!((status, said.len()), (400, 1), "{said:?}");
        assert!(said[0].contains(&format!("{{code:{code}|")), "{said:?}");
        assert!(said[0].contains(&format!("|retry:{retry}|")), "{said:?}");
    }
}

#[test]
fn the_debug_mode_tells_what_comes_and_goes_by_post() {
    let folder = tempfile::tempdir().unwrap();
    let mut hub = Hub::with(folder.path(), OWN);
    let told = hub.start_with("--debug");
    for (frame, status) in [
        (
            "@dev>req:note{text:x|schema:NOTE}[mid:abc100000001,seq:1,sid:s]",
            200,
        ),
        (
            "@dev>req:note{text:y|schema:NOTE}[mid:abc100000002,seq:9,sid:s]",
            400,
        ),
        ("@dev>req:note{garbage", 400),
    ] {
        let mut post = Chunked::frames(&hub);
        post.chunk(frame);
        assert_eq!(post.end().0, status);
    }
    hub.kill();
    let told = told.collect::<Vec<_>>().join("\n");
    for words in [
        "hub receives: dev requests note: text x [mid:abc100000001",
        "hub sends: hub acknowledges [mid:",
        "hub receives: dev requests note: text y [mid:abc100000002",
        "code E3003",
        r#"hub receives: not a readable frame: "@dev>req:note{garbage""#,
        "code E1001",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn a_peer_of_the_draft_learns_the_registry_by_post() {
    let (_folder, mut hub) = Hub::started(OWN);
    let ask = |hub: &Hub, mid: u64, hash: &str| {
        let mut post = Chunked::frames(hub);
        post.chunk(&format!(
            "@qa>sync:registry{{v:1|hash:{hash}}}[mid:abc{mid:09},seq:0,sid:s]"
        ));
        post.end()
    };
    let mut post = Chunked::frames(&hub);
    post.chunk("@qa>req:note{text:x|schema:NOTE}[mid:abc100000001,seq:1,sid:s]");
    assert_eq!(post.end().0, 200);
    let (status, said) = ask(&hub, 2, "000000000000");
    assert_eq!((status, said.len()), (200, 1), "{said:?}");
    // If the hash differs, the hub sends the schemas that the peer does not have. If the hash is equal, the hub sends
    // no schemas.
    assert!(
        said[0].starts_with("@hub>sync:registry{") && said[0].contains("NOTE"),
        "{said:?}"
    );
    let hash = said[0]
        .split("hash:")
        .nth(1)
        .unwrap()
        .split('|')
        .next()
        .unwrap()
        .to_owned();
    hub.kill();
    hub.start();
    let (status, said) = ask(&hub, 3, &hash);
    assert_eq!((status, said.len()), (200, 1), "{said:?}");
    assert!(
        said[0].contains(&format!("hash:{hash}")) && !said[0].contains("NOTE"),
        "{said:?}"
    );
    let mut post = Chunked::frames(&hub);
    post.chunk("@qa>req:note{text:y|schema:NOTE}[mid:abc100000004,seq:2,sid:s]");
    assert_eq!(post.end().0, 200, "the hello has taken no number");
}

#[test]
fn a_harness_ends_phases_and_registers_schemas() {
    let (_folder, mut hub) = Hub::started(OWN);
    let send = |hub: &Hub, mid: u64, seq: u64, text: &str| {
        let mut post = Chunked::frames(hub);
        post.chunk(&format!(
            "@dev>req:note{{{text}}}[mid:abc{mid:09},seq:{seq},sid:s]"
        ));
        post.end()
    };
    assert_eq!(send(&hub, 1, 1, "text:x|schema:NOTE").0, 200);
    let phase = "POST /accp/v1/sessions/s/phase?agent=dev";
    let (status, said) = request(&hub, phase, "");
    assert_eq!(status, 200, "{said}");
    assert!(said.contains(r#""checkpoint":"ckpt_1""#), "{said}");
    assert_eq!(
        request(&hub, "POST /accp/v1/sessions/none/phase?agent=dev", "").0,
        404
    );

    // The hub refuses an unknown schema until a client registers it.
    let (status, said) = send(&hub, 2, 2, "bowls:three|schema:SOUP");
    assert!(status == 400 && said[0].contains("E1003"), "{said:?}");
    let register = "POST /accp/v1/sessions/s/registry?agent=dev";
    let soup = r#"{ "schemas": { "soup": { "code": "SOUP", "fields": ["bowls"], "types": { "bowls": "integer" } } } }"#;
    let (status, said) = request(&hub, register, soup);
    assert_eq!(status, 200, "{said}");
    assert!(said.contains(r#""hash":""#), "{said}");
    // The parts of a schema that the hash does not cover cannot change while the session runs.
    let renamed = soup.replace("\"types\"", r#""aliases": { "bowls": ["a"] }, "types""#);
    for (faulty, expected, part) in [
        (
            r#"{ "schemas": { "bowl": { "code": "NOTE", "fields": ["a"] } } }"#,
            409,
            "NOTE",
        ),
        (&renamed, 409, "start_the_host"),
        (r#"{ "schemas": { "soup": { "code": 7 } } }"#, 400, "code"),
        ("nothing", 400, "accp_registry_lint"),
    ] {
        let (status, said) = request(&hub, register, faulty);
        assert_eq!(status, expected, "{said}");
        assert!(
            said.starts_with("@hub>fail:error{") && said.contains(part),
            "{said}"
        );
    }
    hub.kill();
    hub.start();
    let (status, said) = send(&hub, 3, 2, "bowls:three|schema:SOUP");
    assert!(status == 400 && said[0].contains("E1004"), "{said:?}");
    let (status, said) = send(&hub, 4, 2, "bowls:3|schema:SOUP");
    assert_eq!(status, 200, "{said:?}");
    let (_, said) = request(&hub, "GET /accp/v1/sessions/s/frames", "");
    assert!(
        said.contains("|id:ckpt_1|") && said.contains("|on:[phase]"),
        "{said}"
    );
    // Registering the same schema again changes nothing.
    assert_eq!(request(&hub, register, soup).0, 200);
}

#[test]
fn a_frame_without_an_id_or_a_number_is_refused_and_a_ping_is_answered() {
    let (_folder, mut hub) = Hub::started(OWN);
    for restarted in [false, true] {
        for (metadata, missing) in [
            ("seq:1,sid:s", "a_mid"),
            ("mid:abc100000001,sid:s", "a_seq"),
            ("sid:s", "a_mid"),
        ] {
            let frame = format!("@dev>req:note{{text:x|schema:NOTE}}[{metadata}]");
            let (status, said) = request(
                &hub,
                "POST /accp/v1/frames\nContent-Type: application/accp",
                &frame,
            );
            assert_eq!(status, 400, "{said}");
            assert!(
                said.contains("E1001") && said.contains(missing),
                "{restarted} {metadata}: {said}"
            );
        }
        let ping = "@dev>ping:link{}[mid:abc100000002,seq:0,sid:s]";
        let (status, said) = request(
            &hub,
            "POST /accp/v1/frames\nContent-Type: application/accp",
            ping,
        );
        assert!(
            status == 200 && said.starts_with("@hub>pong:link{}["),
            "{said}"
        );
        hub.kill();
        hub.start();
    }
    let (_, log) = request(&hub, "GET /accp/v1/sessions/s/frames", "");
    assert!(!log.contains("@dev>"), "{log}");
}
