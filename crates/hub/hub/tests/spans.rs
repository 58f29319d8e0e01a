//! What a hub reports about its requests to `tracing`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use crate::common::{TestHub, frame};
use accp_hub::{Access, Config, Denied, Identified, Identity};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

/// A text that occurs only in frames, values, tokens and paths.
const SECRET: &str = "xyzzy";

/// Records the fields of spans of the target `accp::spans`, and all spans and events as text.
#[derive(Clone, Default)]
struct Ears(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    spans: BTreeMap<u64, BTreeMap<String, String>>,
    all: Vec<String>,
}

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}").trim_matches('"').to_owned();
        self.0.insert(field.name().to_owned(), value);
    }
}

impl<S: Subscriber> Layer<S> for Ears {
    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        let is_ours = span.metadata().target() == "accp::spans";
        self.keep(is_ours.then_some(id), fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        values.record(&mut Fields(&mut fields));
        self.keep(Some(id), fields);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        // The hub logs frames at the level DEBUG on purpose, so the test leaves that level out.
        if *event.metadata().level() < tracing::Level::DEBUG {
            let mut fields = BTreeMap::new();
            event.record(&mut Fields(&mut fields));
            self.keep(None, fields);
        }
    }
}

impl Ears {
    fn keep(&self, span: Option<&Id>, fields: BTreeMap<String, String>) {
        let mut heard = self.0.lock().expect("no panic");
        heard.all.extend(fields.values().cloned());
        if let Some(id) = span {
            heard.spans.entry(id.into_u64()).or_default().extend(fields);
        }
    }

    fn has_heard(&self, word: &str) -> bool {
        let heard = self.0.lock().expect("no panic");
        heard.all.iter().any(|reply| reply.contains(word))
    }

    /// Returns the fields of the spans of a route so far.
    fn of(&self, route: &str) -> Vec<BTreeMap<String, String>> {
        let heard = self.0.lock().expect("no panic");
        let spans = heard.spans.values();
        spans
            .filter(|span| span.get("http.route").is_some_and(|own| own == route))
            .cloned()
            .collect()
    }
}

/// Gives the token of `dev` the right to the session `lunch`.
struct Dev;

impl Access for Dev {
    fn identify<'a>(&'a self, token: Option<&'a str>) -> Identified<'a> {
        let known = token.is_some_and(|token| token == format!("{SECRET}-token"));
        let dev = Identity::agent("dev", ["lunch"]);
        Box::pin(async move { known.then_some(dev).ok_or(Denied::Token) })
    }
}

#[tokio::test]
async fn a_span_says_who_did_what_and_no_payload() {
    let ears = Ears::default();
    let subscriber = tracing_subscriber::registry().with(ears.clone());
    tracing::subscriber::set_global_default(subscriber).expect("the only test");
    let hub = TestHub::with_access(Config::default(), Dev).await;
    let send = async |body: String, token: &str, query: &str| {
        let request = hub.http.post(hub.url(&format!("/accp/v1/frames{query}")));
        let request = request.bearer_auth(format!("{SECRET}-{token}"));
        let request = request
            .header("content-type", "application/accp")
            .body(body);
        request.send().await.expect("an answer").status().as_u16()
    };
    let plan = |agent: &str, mid: &str, seq: u64, sid: &str| {
        frame(
            &format!("@{agent}>req:plan{{goal:{SECRET}}}"),
            mid,
            seq,
            &format!("sid:{sid}"),
        )
    };
    let far = 7_000;
    let answers = [
        send(plan("dev", "a00000000001", 1, "lunch"), "token", "").await,
        send(plan("dev", "a00000000002", far, "lunch"), "token", "").await,
        send(plan("eve", "a00000000003", 1, "lunch"), "token", "").await,
        send(plan("dev", "a00000000004", 1, SECRET), "token", "").await,
        send(plan("dev", "a00000000005", 2, "lunch"), "guess", "").await,
        send(
            format!("@dev>req:plan{{{SECRET}"),
            "token",
            "?session=lunch",
        )
        .await,
        send(
            SECRET.repeat(13_108)[..65_537].to_owned(),
            "token",
            &format!("?session={SECRET}"),
        )
        .await,
    ];
    assert_eq!(answers, [200, 400, 403, 403, 401, 400, 413]);
    for path in [
        "lunch/state",
        &format!("{SECRET}/state"),
        &format!("lunch/values/{SECRET}"),
    ] {
        let request = hub.http.get(hub.url(&format!("/accp/v1/sessions/{path}")));
        let request = request.bearer_auth(format!("{SECRET}-token"));
        request.send().await.expect("an answer");
    }
    let mut socket = hub
        .socket_of("?session=lunch", &format!("{SECRET}-token"))
        .await;
    for reply in [
        "@dev>sync:registry{v:1|hash:abc123|pos:0|ext:[]}[mid:1,seq:0]",
        &plan("dev", "a00000000008", 2, "lunch"),
        "@dev>ping:link{}[mid:9,seq:0]",
    ] {
        socket.send_text(reply).await;
    }
    while !socket
        .receive()
        .await
        .expect("it is open")
        .contains(">pong:link{}")
    {}

    let posts = ears.of("/accp/v1/frames");
    let row = |span: &BTreeMap<String, String>| {
        let field = |name: &str| span.get(name).cloned().unwrap_or_default();
        [
            field("http.response.status_code"),
            field("accp.session"),
            field("accp.agent"),
            field("accp.outcome"),
        ]
        .join(" ")
    };
    let rows: Vec<_> = posts.iter().map(row).collect();
    assert_eq!(
        rows,
        [
            "200 lunch dev accepted",
            "400 lunch dev misnumbered",
            "403   denied",
            "403   denied",
            "401   denied",
            "400   denied",
            "413   denied",
        ]
    );
    assert_eq!(posts[0]["otel.name"], "POST /accp/v1/frames");
    let reads = ears.of("/accp/v1/sessions/{session}/state");
    assert_eq!(row(&reads[0]), "200 lunch dev ");
    assert_eq!(row(&reads[1]), "403   denied");
    let sockets = ears.of("/accp/v1/ws");
    assert!(
        sockets.iter().any(|span| row(span) == " lunch dev "),
        "{sockets:?}"
    );
    assert!(ears.has_heard("lunch") && !ears.has_heard(SECRET));
    drop(socket);
    hub.stop().await;
}
