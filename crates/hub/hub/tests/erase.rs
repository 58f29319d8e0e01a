//! The data of a person is erased from a running hub.

use std::future::IntoFuture as _;
use std::path::Path;

use crate::common::TestHub;
use accp_client::Agent;
use accp_hub::{Config, Tokens};
use accp_runtime::DynamicFrame;
use accp_runtime::session::Outbound;
use reqwest::StatusCode;
use serde_json::{Value, json};

const SECRET: &str = "Zitronenfalter";

fn plan(agent: &'static str, goal: String) -> Outbound<'static> {
    let plan = DynamicFrame::new(agent, "req", "plan").expect("a frame");
    Outbound::owned_message(plan.with("goal", goal))
}

async fn erase(hub: &TestHub, token: &str, body: &Value) -> (StatusCode, String) {
    let request = hub.http.post(hub.url("/accp/v1/sessions/lunch/erase"));
    let request = request.bearer_auth(token).body(body.to_string());
    let answer = request.send().await.expect("an answer");
    (answer.status(), answer.text().await.expect("text"))
}

async fn read(hub: &TestHub, what: &str) -> String {
    let request = hub
        .http
        .get(hub.url(&format!("/accp/v1/sessions/lunch/{what}")));
    let answer = request.bearer_auth("boss").send().await.expect("an answer");
    answer.text().await.expect("text")
}

/// Follows the log until a frame has these words.
async fn hears(hub: &TestHub, words: &str) -> bool {
    let request = hub
        .http
        .get(hub.url("/accp/v1/sessions/lunch/frames?follow=true"));
    let mut answer = request.bearer_auth("boss").send().await.expect("an answer");
    while let Some(piece) = answer.chunk().await.expect("a piece") {
        if String::from_utf8_lossy(&piece).contains(words) {
            return true;
        }
    }
    false
}

/// Returns whether a file in this folder has the secret.
fn is_on_disk(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).expect("a folder");
    files.into_iter().any(|file| {
        let bytes = std::fs::read(file.expect("a file").path()).expect("bytes");
        bytes
            .windows(SECRET.len())
            .any(|window| window == SECRET.as_bytes())
    })
}

async fn start(folder: &Path) -> TestHub {
    let file = folder.join("tokens.toml");
    let token = |secret: &str, more: &str| {
        let digest = Tokens::digest(secret);
        format!("[[token]]\nsha256 = \"{digest}\"\nsessions = [\"lunch\"]\n{more}\n")
    };
    let tokens = [
        token("boss", "agent = \"*\"\nadmin = true"),
        token("d", "agent = \"dev\""),
        token("p", "agent = \"planner\""),
    ];
    std::fs::write(&file, tokens.concat()).expect("a file");
    let tokens = Tokens::read(&file).expect("tokens");
    std::fs::create_dir(folder.join("store")).expect("a folder");
    TestHub::with_tokens_on(&folder.join("store/hub.accp"), tokens).await
}

#[tokio::test]
async fn what_is_erased_is_neither_read_nor_on_the_disk_and_the_session_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hub, store) = (start(folder.path()).await, folder.path().join("store"));
    let connect = |agent: &'static str, token: &'static str| {
        Agent::connect(hub.ws(), "lunch", agent)
            .token(token)
            .into_future()
    };
    let dev = connect("dev", "d").await.expect("dev");
    let planner = connect("planner", "p").await.expect("planner");
    dev.send_with(plan("dev", format!("{SECRET}_1")))
        .await
        .expect("sent");
    dev.send_with(plan("dev", format!("{SECRET} ").repeat(40)))
        .await
        .expect("sent");
    dev.send_with(plan("dev", "rice".to_owned()))
        .await
        .expect("sent");
    planner
        .send_with(plan("planner", "soup".to_owned()))
        .await
        .expect("sent");
    // The hub now has all frames of both agents.
    assert!(hears(&hub, "rice").await && hears(&hub, "soup").await);
    assert!(read(&hub, "frames").await.contains(SECRET));
    assert!(is_on_disk(&store));

    let all = json!({ "from": "dev" });
    let (status, reply) = erase(&hub, "boss", &json!({ "from": "dev", "dry_run": true })).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert!(
        read(&hub, "frames").await.contains(SECRET),
        "it was a dry run"
    );
    let (status, reply) = erase(&hub, "boss", &all).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let told: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!(told["erased"], true);
    assert_eq!(told["sides"][0]["side"], "hub");
    assert_eq!(
        told["sides"][0]["positions"].as_array().map(Vec::len),
        Some(3)
    );

    for what in ["frames", "context", "state"] {
        let text = read(&hub, what).await;
        assert!(!text.contains(SECRET), "{what}: {text}");
    }
    assert!(read(&hub, "frames").await.contains("soup"));
    let key = told["sides"][0]["keys"][0].as_str().expect("a key");
    assert!(
        read(&hub, &format!("values/cold.{key}"))
            .await
            .contains("E2002")
    );
    assert!(!is_on_disk(&store));
    // The agents reconnect by themselves.
    dev.send_with(plan("dev", "salad".to_owned()))
        .await
        .expect("sent");
    planner
        .send_with(plan("planner", "bread".to_owned()))
        .await
        .expect("sent");
    assert!(hears(&hub, "salad").await && hears(&hub, "bread").await);
    assert!(!is_on_disk(&store));
    hub.stop().await;
    assert!(!is_on_disk(&store));
}

#[tokio::test]
async fn only_administrators_erase_and_errors_say_what_helps() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = start(folder.path()).await;
    let dev = Agent::connect(hub.ws(), "lunch", "dev").token("d").await;
    let dev = dev.expect("dev");
    dev.send_with(plan("dev", SECRET.to_owned()))
        .await
        .expect("sent");
    assert!(hears(&hub, SECRET).await);
    let all = json!({ "from": "dev" });
    for (token, body, status, says) in [
        ("guess", all.clone(), StatusCode::UNAUTHORIZED, "E5001"),
        ("d", all.clone(), StatusCode::FORBIDDEN, "admin"),
        (
            "boss",
            json!({ "from": "eve" }),
            StatusCode::NOT_FOUND,
            r"msg:an_agent_of_the_session\:_no_agent_`eve`_is_or_was",
        ),
        (
            "boss",
            json!({ "keys": ["k9"] }),
            StatusCode::NOT_FOUND,
            r"msg:a_key_with_a_value\:_there_is_no_value_under_`k9`",
        ),
        (
            "boss",
            json!({ "positions": [[900, 901]] }),
            StatusCode::BAD_REQUEST,
            r"msg:positions_of_the_log\:_900..901_are_not",
        ),
        (
            "boss",
            json!({ "form": "dev" }),
            StatusCode::BAD_REQUEST,
            "line_1",
        ),
        (
            "boss",
            json!({}),
            StatusCode::BAD_REQUEST,
            r"msg:something_to_erase\:_name_an_agent",
        ),
    ] {
        let (found, reply) = erase(&hub, token, &body).await;
        assert_eq!(found, status, "{body}: {reply}");
        assert!(reply.contains(says), "{body}: {reply}");
    }
    assert!(read(&hub, "frames").await.contains(SECRET));
    hub.stop().await;
    // A hub without tokens has no administrator, so nobody can erase data.
    let hub = TestHub::start(Config::default()).await;
    let (status, reply) = erase(&hub, "boss", &all).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    hub.stop().await;
}
