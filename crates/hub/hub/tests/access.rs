//! Who may do what on a hub.

use std::collections::VecDeque;
use std::future::IntoFuture as _;
use std::sync::{Arc, Mutex};

use crate::common::{TestHub, frame};
use accp_client::Agent;
use accp_hub::{Access, Config, Denied, Identified, Identity, Tokens};
use accp_runtime::AgentId;
use accp_runtime::profiles::ScheduleReq;
use reqwest::StatusCode;

fn task(number: usize) -> ScheduleReq<'static> {
    let dev = AgentId::new("dev").expect("a name");
    ScheduleReq::new(dev, format!("task_{number}"))
}

#[tokio::test]
async fn participants_read_a_session_and_nobody_else_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.toml");
    let token = |secret: &str, agent: &str, session: &str| {
        let digest = Tokens::digest(secret);
        format!(
            "[[token]]\nsha256 = \"{digest}\"\nagent = \"{agent}\"\nsessions = [\"{session}\"]\n"
        )
    };
    std::fs::write(
        &file,
        token("s1", "dev", "lunch") + &token("s2", "eve", "other"),
    )
    .expect("a file");
    let hub = TestHub::with_access(Config::default(), Tokens::read(&file).expect("tokens")).await;
    let connect = |agent: &'static str, session: &'static str, token: &'static str| {
        Agent::connect(hub.ws(), session, agent)
            .token(token)
            .into_future()
    };
    let dev = connect("dev", "lunch", "s1").await.expect("dev may enter");
    dev.send(task(1)).await.expect("it is sent");
    for (agent, session, token, code) in [
        ("dev", "lunch", "guess", "E5001"),
        ("dev", "lunch", "s2", "E5002"),
        ("planner", "lunch", "s1", "E5001"),
        ("eve", "lunch", "s2", "E5002"),
    ] {
        let denied = connect(agent, session, token)
            .await
            .expect_err("denied")
            .to_string();
        assert!(denied.contains(code), "{denied}");
    }
    let get = async |path: &str, token: &str| {
        let request = hub.http.get(hub.url(path)).bearer_auth(token);
        let answer = request.send().await.expect("an answer");
        (answer.status(), answer.text().await.expect("text"))
    };
    let (status, body) = get("/accp/v1/sessions/lunch/frames", "s1").await;
    assert_eq!(status, StatusCode::OK);
    assert!(body.contains("task_1"), "{body}");
    for path in ["frames", "context", "state", "registry", "values/hot.p1"] {
        let path = format!("/accp/v1/sessions/lunch/{path}");
        let (status, body) = get(&path, "s2").await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        assert!(body.contains("E5002") && !body.contains("task_1"), "{body}");
        assert_eq!(get(&path, "guess").await.0, StatusCode::UNAUTHORIZED);
        let (status, body) = get(&path, "s1").await;
        assert!(
            status == StatusCode::OK || status == StatusCode::NOT_FOUND,
            "{path}: {body}"
        );
    }
    let (_, body) = get("/accp/v1/sessions", "s2").await;
    assert_eq!(body, "[]");
    let (status, _) = get("/accp/v1/sessions/other/state", "s2").await;
    assert_eq!(status, StatusCode::NOT_FOUND, "reading begins no session");

    // The hub refuses a frame under the name of another agent.
    let foreign = frame("@planner>req:plan{}", "abc101000001", 1, "sid:lunch");
    let request = hub.posting().bearer_auth("s1").body(foreign);
    let answer = request.send().await;
    assert_eq!(answer.expect("an answer").status(), StatusCode::FORBIDDEN);
    hub.stop().await;
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let hub = TestHub::start(Config::default()).await;
    let get = async |origin: &str| {
        let request = hub
            .http
            .get(hub.url("/accp/v1/sessions"))
            .header("origin", origin);
        request.send().await.expect("an answer").status()
    };
    assert_eq!(get("https://evil.example").await, StatusCode::FORBIDDEN);
    assert_eq!(get("null").await, StatusCode::FORBIDDEN);
    assert_eq!(
        get(&format!("http://{}", hub.address)).await,
        StatusCode::OK
    );
    hub.stop().await;
}

/// A browser sends no `Origin` when a page reads its own origin, and the name of that origin may lead to
/// loopback.
#[tokio::test]
async fn names_that_lead_to_loopback_are_refused_without_tokens() {
    let get = async |hub: &TestHub, host: &str| {
        let request = hub.http.get(hub.url("/accp/v1/sessions"));
        let answer = request.header("host", host).send().await;
        answer.expect("an answer").status()
    };
    let config = Config {
        origins: vec!["https://hub.example".to_owned()],
        ..Config::default()
    };
    let hub = TestHub::start(config.clone()).await;
    for host in [
        "evil.example",
        "evil.example:7337",
        "127.0.0.1.evil.example",
        "",
    ] {
        assert_eq!(get(&hub, host).await, StatusCode::FORBIDDEN, "{host}");
    }
    for host in ["localhost", "127.0.0.1:1", "[::1]:7337", "hub.example"] {
        assert_eq!(get(&hub, host).await, StatusCode::OK, "{host}");
    }
    hub.stop().await;
    let anywhere = Config {
        anybody_from_anywhere: true,
        ..config
    };
    let hub = TestHub::start(anywhere).await;
    assert_eq!(get(&hub, "hub.internal").await, StatusCode::OK);
    hub.stop().await;
}

/// An access service. It gives the answers of the queue one after another, and lets everybody in when the queue is
/// empty.
#[derive(Clone, Default)]
struct Service(Arc<Mutex<(u64, VecDeque<Denied>)>>);

impl Access for Service {
    fn identify<'a>(&'a self, _token: Option<&'a str>) -> Identified<'a> {
        let next = self.0.lock().expect("no panic").1.pop_front();
        let dev = Identity::agent("dev", ["lunch"]);
        Box::pin(async move { next.map_or(Ok(dev), Err) })
    }

    fn revision(&self) -> Option<u64> {
        Some(self.0.lock().expect("no panic").0)
    }
}

#[tokio::test]
async fn a_right_ends_even_if_the_service_was_away_when_it_was_withdrawn() {
    let service = Service::default();
    let hub = TestHub::with_access(Config::default(), service.clone()).await;
    let plan = frame("@dev>req:plan{goal:x}", "abc101000001", 1, "sid:lunch");
    let (status, reply) = hub.post(&plan).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let open = hub.get("/accp/v1/sessions/lunch/frames?follow=true").await;
    assert_eq!(open.status(), StatusCode::OK);

    // The revision changes once. The service is away for two questions, and then it denies.
    let answers = [Denied::Unavailable, Denied::Unavailable, Denied::Token];
    *service.0.lock().expect("no panic") = (1, answers.into());
    let text = open.bytes().await;
    assert!(text.is_err(), "the stream is broken off: {text:?}");
    assert!(service.0.lock().expect("no panic").1.is_empty());
    hub.stop().await;
}
