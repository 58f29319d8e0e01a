//! Tests of thoughts that are bound to the list before them: after a thought was made, nothing before it changes.

use accp_gateway::{Config, Policy};
use serde_json::{Value as Json, json};

use crate::conversation::{Bench, messages, request, rows};
use crate::upstream::Mood;

/// A client that thinks, and a tool that answers in records.
struct Client {
    messages: Vec<Json>,
    statuses: Vec<u16>,
    /// The user whom the requests name, so that several lists share a session.
    user: Option<&'static str>,
    /// Whether the requests ask the provider to drop thoughts that stand behind another list.
    drops: bool,
}

impl Client {
    fn new() -> Self {
        Self {
            messages: vec![json!({"role": "user", "content": "Which slots are free?"})],
            statuses: Vec::new(),
            user: None,
            drops: false,
        }
    }

    fn body(&self) -> Json {
        let mut body = request(self.messages.clone());
        body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
        if self.drops {
            let told = json!({"prefix_mismatch_behavior": "drop_block"});
            body["thinking"]["block_binding"] = told;
        }
        if let Some(user) = self.user {
            body["metadata"] = json!({"user_id": user});
        }
        body
    }

    /// Takes a turn: asks the gateway, or the provider itself if `is_direct`, and answers the call.
    async fn turn(&mut self, bench: &Bench, is_direct: bool) {
        let body = self.body().to_string();
        let url = if is_direct {
            format!("{}/v1/messages", bench.upstream_url())
        } else {
            bench.url("/v1/messages")
        };
        let request = bench.client.post(url).header("x-api-key", "k1");
        let request = request.header("content-type", "application/json");
        let request = request.header("anthropic-beta", "thinking-binding-controls-2026-08-01");
        let answer = request.body(body).send().await.unwrap();
        self.statuses.push(answer.status().as_u16());
        let answer: Json = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        let Some(mut content) = answer["content"].as_array().cloned() else {
            return;
        };
        let mut blocks = content.iter_mut();
        let call = blocks.find(|block| block["type"] == "tool_use").unwrap();
        if self.drops {
            // The provider counts its calls by the results that it sees, so an id would come again.
            call["id"] = json!(format!("c{}", self.messages.len()));
        }
        let id = call["id"].clone();
        let page = self.messages.len() as u64 * 100;
        self.messages
            .push(json!({"role": "assistant", "content": content}));
        self.messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": rows(page, 30)}]}));
    }
}

async fn bench(config: Config) -> Bench {
    let bench = Bench::with(config).await;
    bench.upstream.calls("slots", json!({"page": "{n}"}), 99);
    bench
}

/// Returns how many results of the last request the provider got in another form than the client's.
fn changed(bench: &Bench, client: &Client) -> usize {
    let given = client.body();
    let sent = bench.upstream.last().json();
    let pairs = given["messages"].as_array().unwrap().iter();
    let pairs = pairs.zip(sent["messages"].as_array().unwrap());
    pairs
        .filter(|(given, sent)| {
            let text = |json: &Json| json["content"][0]["content"].clone();
            text(given) != text(sent)
        })
        .count()
}

#[tokio::test]
async fn a_bound_list_is_never_refused_over_restarts() {
    let mut bench = bench(Config::default()).await;
    let mut client = Client::new();
    for turn in 0..8 {
        if turn % 3 == 2 {
            bench.restart().await;
        }
        client.turn(&bench, false).await;
    }
    assert_eq!(client.statuses, [200; 8]);
    client.turn(&bench, false).await;
    assert_eq!(bench.upstream.got().len(), 9, "none was sent twice");
    client.messages.truncate(client.messages.len() - 2);
    assert_eq!(changed(&bench, &client), 8);
}

/// A provider that drops thoughts behind another list refuses none, so what has no room may leave.
#[tokio::test]
async fn a_list_leaves_only_where_the_provider_drops_its_thoughts() {
    for drops in [true, false] {
        let config = Config {
            policy: Policy::Window,
            window: Some(4_000),
            ..Config::default()
        };
        let mut bench = bench(config).await;
        let mut client = Client::new();
        client.drops = drops;
        for turn in 0..12 {
            if turn % 5 == 4 {
                bench.restart().await;
            }
            client.turn(&bench, false).await;
        }
        assert_eq!(client.statuses, [200; 12], "{drops}");
        assert_eq!(bench.upstream.got().len(), 12, "none was sent twice");
        let sent = bench.upstream.last().json()["messages"].to_string();
        assert_eq!(sent.contains(" left out; memory_read("), drops, "{sent}");
    }
}

#[tokio::test]
async fn what_stood_before_a_thought_that_was_made_elsewhere_stays() {
    for policy in [None, Some(Policy::Shadow), Some(Policy::Off)] {
        let config = |policy| Config {
            policy,
            ..Config::default()
        };
        let mut bench = bench(config(policy.unwrap_or_default())).await;
        let mut client = Client::new();
        for _ in 0..3 {
            client.turn(&bench, policy.is_none()).await;
        }
        bench.restart_as(Policy::Append).await;
        for _ in 0..4 {
            client.turn(&bench, false).await;
        }
        bench.restart().await;
        client.turn(&bench, false).await;
        assert_eq!(client.statuses, [200; 8], "{policy:?}");
        assert_eq!(bench.upstream.got().len(), 8, "{policy:?}");
        client.messages.truncate(client.messages.len() - 2);
        // The third result came after the last thought that was made elsewhere.
        assert_eq!(changed(&bench, &client), 5, "{policy:?}");
    }
}

#[tokio::test]
async fn a_mistake_of_the_client_does_not_end_a_bound_list() {
    let mut bench = bench(Config::default()).await;
    let mut client = Client::new();
    for _ in 0..3 {
        client.turn(&bench, false).await;
    }
    let good = client.messages.clone();
    client
        .messages
        .push(json!({"role": "robot", "content": "Hi"}));
    client.turn(&bench, false).await;
    client.messages = good;
    for _ in 0..2 {
        client.turn(&bench, false).await;
    }
    bench.restart().await;
    client.turn(&bench, false).await;
    assert_eq!(client.statuses, [200, 200, 200, 400, 200, 200, 200]);
    client.messages.truncate(client.messages.len() - 2);
    // Results that had another form keep it, and new results get none.
    assert_eq!(changed(&bench, &client), 2);
}

#[tokio::test]
async fn a_list_that_somebody_else_changes_is_refused_in_the_provider_s_words() {
    let bench = bench(Config::default()).await;
    let mut client = Client::new();
    for _ in 0..2 {
        client.turn(&bench, true).await;
    }
    client.messages[0]["content"] = json!("Which are taken?");
    client.turn(&bench, true).await;
    assert_eq!(client.statuses, [200, 200, 400]);
    let refused = bench.upstream.last().refused.unwrap();
    assert!(
        refused.starts_with("messages.1.content.0: Invalid `signature` in `thinking` block."),
        "{refused}"
    );
}

#[tokio::test]
async fn reasoning_of_responses_is_bound_as_well() {
    let bench = bench(Config::default()).await;
    let mut items = vec![json!({"role": "user", "content": "Which slots are free?"})];
    for turn in 0..6 {
        let body = json!({"model": "gpt-m", "store": false, "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low"}, "tools": [{"type": "function", "name": "slots"}], "input": items});
        let answer = bench.post("/v1/responses", "k1", body.to_string()).await;
        assert_eq!(answer.status(), 200, "turn {turn}");
        let answer: Json = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        let output = answer["output"].as_array().unwrap();
        let call = output.iter().find(|item| item["type"] == "function_call");
        let id = call.unwrap()["call_id"].clone();
        items.extend(output.iter().cloned());
        items.push(
            json!({"type": "function_call_output", "call_id": id, "output": rows(turn * 100, 30)}),
        );
    }
    assert_eq!(bench.upstream.got().len(), 6);
    let sent = bench.upstream.last().body.len();
    assert!(sent * 10 < json!(items).to_string().len() * 9, "{sent}");
}

#[tokio::test]
async fn a_bound_list_comes_back_after_many_others() {
    let mut bench = bench(Config::default()).await;
    let mut client = Client::new();
    let named = |mut body: Json| {
        body["metadata"] = json!({"user_id": "u1"});
        body.to_string()
    };
    for round in 0..3 {
        for _ in 0..2 {
            let answer = bench.post("/v1/messages", "k1", named(client.body())).await;
            assert_eq!(answer.status(), 200);
            let answer: Json = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
            let content = answer["content"].as_array().unwrap();
            let call = content.iter().find(|block| block["type"] == "tool_use");
            let id = call.unwrap()["id"].clone();
            let page = client.messages.len() as u64 * 100;
            client
                .messages
                .push(json!({"role": "assistant", "content": content}));
            client.messages.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": rows(page, 30)}]}));
        }
        // A session with the same name has many lists: helpers, titles, forks.
        for other in 0..20 {
            let list = vec![json!({"role": "user", "content": format!("Title {round} {other}?")})];
            let answer = bench.post("/v1/messages", "k1", named(request(list))).await;
            answer.bytes().await.unwrap();
        }
        if round == 1 {
            bench.restart().await;
        }
    }
    assert_eq!(bench.upstream.refusals(), 0);
    assert_eq!(bench.upstream.got().len(), 66, "none was sent twice");
}

/// A client that goes back to an earlier turn sends a list that leaves a branch in its middle. Thoughts are bound to
/// the forms of that branch, also where it rests on disk.
#[tokio::test]
async fn a_bound_list_that_goes_back_after_many_others_keeps_its_forms() {
    let mut bench = bench(Config::default()).await;
    let mut client = Client::new();
    client.user = Some("u1");
    for _ in 0..6 {
        client.turn(&bench, false).await;
    }
    for round in 0..2 {
        for other in 0..20 {
            let list = vec![json!({"role": "user", "content": format!("Title {round} {other}?")})];
            let mut body = request(list);
            body["metadata"] = json!({"user_id": "u1"});
            let answer = bench.post("/v1/messages", "k1", body.to_string()).await;
            answer.bytes().await.unwrap();
        }
        if round == 1 {
            bench.restart().await;
        }
        client.messages.truncate(client.messages.len() - 4);
        client.turn(&bench, false).await;
    }
    assert_eq!(client.statuses, [200; 8]);
    assert_eq!(bench.upstream.refusals(), 0);
}

/// Clients that resume a conversation may give it another session.
#[tokio::test]
async fn a_bound_list_goes_on_under_another_name_of_its_session() {
    let mut bench = bench(Config::default()).await;
    let mut client = Client::new();
    for (user, turns) in [("u1", 4), ("u2", 2), ("u3", 2)] {
        client.user = Some(user);
        for _ in 0..turns {
            client.turn(&bench, false).await;
        }
        bench.restart().await;
    }
    assert_eq!(client.statuses, [200; 8]);
    assert_eq!(bench.upstream.got().len(), 8, "none was sent twice");
    client.messages.truncate(client.messages.len() - 2);
    assert_eq!(changed(&bench, &client), 7);
}

#[tokio::test]
async fn a_refusal_of_one_list_leaves_the_others_of_its_session_bound_as_they_are() {
    let mut bench = bench(Config::default()).await;
    let mut client = Client::new();
    client.user = Some("u1");
    for _ in 0..3 {
        client.turn(&bench, false).await;
    }
    // The provider refuses the changed request of another list, and takes the original.
    let mut other = request(messages(2));
    other["messages"][0]["content"] = json!("Another question");
    other["metadata"] = json!({"user_id": "u1"});
    let other = other.to_string();
    for _ in 0..2 {
        bench.upstream.is(Mood::Refuses(other.len()));
        let answer = bench.post("/v1/messages", "k1", other.clone()).await;
        assert_eq!(answer.status(), 200);
        bench.upstream.is(Mood::Well);
        assert_eq!(bench.upstream.last().body, other);
        client.turn(&bench, false).await;
        bench.restart().await;
        client.turn(&bench, false).await;
    }
    assert_eq!(client.statuses, [200; 7]);
    // Only the first request of the other list was sent twice.
    assert_eq!(bench.upstream.got().len(), 7 + 3);
}
