//! The page for people, and its reads of a log.

use std::collections::BTreeSet;

use crate::common::{TestHub, frame};
use accp_hub::{Config, Tokens};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Returns the text between two texts.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let (_, rest) = text.split_once(start).expect("a start");
    rest.split_once(end).expect("an end").0
}

#[tokio::test]
async fn the_page_is_one_file_that_runs_its_own_script_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.toml");
    std::fs::write(&file, "").expect("a file without tokens");
    let tokens = Tokens::read(file).expect("tokens");
    let hub = TestHub::with_access(Config::default(), tokens).await;
    let answer = hub.get("/ui").await;
    assert_eq!(
        answer.status(),
        StatusCode::OK,
        "everybody may load the page"
    );
    let root = hub.get("/").await;
    let headers = answer.headers().clone();
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    let policy = headers["content-security-policy"]
        .to_str()
        .expect("a policy");
    let page = answer.text().await.expect("text");
    assert_eq!(
        root.text().await.expect("text"),
        page,
        "who opens the hub gets its page"
    );
    for (element, start) in [("script", "<script type=\"module\">"), ("style", "<style>")] {
        let inside = between(&page, start, &format!("</{element}>"));
        assert!(inside.len() > 1000, "{element}: {inside}");
        let hash = STANDARD.encode(Sha256::digest(inside));
        let allowed = format!("{element}-src 'sha256-{hash}';");
        assert!(policy.contains(&allowed), "{allowed} {policy}");
        assert_eq!(page.matches(&format!("</{element}>")).count(), 1);
    }
    // Where a proxy serves the hub below a path, the page has to read the hub there.
    assert!(page.contains("fetch(`accp/v1/sessions"));
    assert!(
        !page.contains("/accp/v1"),
        "an address that leaves the path"
    );
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(policy.contains("connect-src 'self';"), "{policy}");
    for other in ["unsafe", "http:", "https:", "*"] {
        assert!(!policy.contains(other), "{policy}");
    }
    for other in [
        "innerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        " src=",
        "@import",
    ] {
        assert!(!page.contains(other), "{other}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_log_is_read_as_lines_in_plain_words() {
    let hub = TestHub::start(Config::default()).await;
    let here = frame("@dev>sync:note{n:1}", "abc102000001", 1, "sid:lunch");
    assert_eq!(hub.post(&here).await.0, StatusCode::OK);
    let head = "@planner>req:schedule{asgn:dev|task:soup|schema:TA}";
    let sent = frame(head, "abc101000001", 1, "sid:lunch");
    assert_eq!(hub.post(&sent).await.0, StatusCode::OK);
    let read = async |accept: &str| {
        let url = hub.url("/accp/v1/sessions/lunch/frames");
        let answer = hub.http.get(url).header("accept", accept).send().await;
        let answer = answer.expect("an answer");
        let kind = answer.headers()["content-type"]
            .to_str()
            .expect("text")
            .to_owned();
        (kind, answer.text().await.expect("text"))
    };
    let (kind, frames) = read("*/*").await;
    assert_eq!(kind, "application/accp");
    let (kind, lines) = read("text/html;q=0.1, Application/X-NDJSON;q=0.9").await;
    assert_eq!(kind, "application/x-ndjson");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| line.parse().expect("JSON"))
        .collect();
    // The description of the routes names each member of a line.
    let described: Value = include_str!("../src/openapi.json").parse().expect("JSON");
    let answer =
        &described["paths"]["/accp/v1/sessions/{session}/frames"]["get"]["responses"]["200"];
    let described = &answer["content"]["application/x-ndjson"]["schema"]["properties"];
    let names = |value: &Value| -> BTreeSet<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect()
    };
    for line in &lines {
        assert_eq!(names(line), names(described));
    }
    // Both forms have the same frames.
    let texts: Vec<_> = lines
        .iter()
        .map(|line| line["frame"].as_str().expect("text"))
        .collect();
    assert_eq!(frames.lines().collect::<Vec<_>>(), texts);
    let of = |operation: &str| {
        lines
            .iter()
            .find(|line| line["operation"] == operation)
            .expect(operation)
    };
    let line = of("schedule");
    assert_eq!(
        line["words"],
        "planner requests schedule: assignee dev, task soup"
    );
    assert_eq!(line["frame"], sent);
    assert_eq!(
        (&line["kind"], &line["agent"], &line["intent"]),
        (&json!("frame"), &json!("planner"), &json!("req"))
    );
    assert_eq!(
        (&line["sender"], &line["checkpoint"]),
        (&json!(102), &Value::Null)
    );
    assert_eq!(line["position"], lines.len());
    let seconds: i64 = between(&sent, "ts:", ",").parse().expect("seconds");
    let milliseconds = line["at_ms"].as_i64().expect("a time");
    assert!(
        (0..60_000).contains(&(milliseconds - 1000 * seconds)),
        "{line}"
    );
    let join = of("join");
    assert_eq!(join["kind"], "control");
    assert_eq!(
        join["words"],
        "hub lets a member in: agents [dev], member 101"
    );
    hub.stop().await;
}

#[tokio::test]
async fn the_list_says_which_sessions_are_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hub.accp");
    let list = async |hub: &TestHub| {
        let answer = hub.http.get(hub.url("/accp/v1/sessions")).send().await;
        let text = answer.expect("an answer").text().await.expect("text");
        text.parse::<Value>().expect("JSON")
    };
    let hub = TestHub::on_file(&file, Config::default()).await;
    hub.post(&frame("@dev>req:plan{}", "abc101000001", 1, "sid:lunch"))
        .await;
    let sessions = list(&hub).await;
    assert_eq!(
        (&sessions[0]["session"], &sessions[0]["open"]),
        (&json!("lunch"), &json!(true))
    );
    hub.stop().await;
    let hub = TestHub::on_file(&file, Config::default()).await;
    assert_eq!(list(&hub).await[0]["open"], false);
    hub.stop().await;
}
