//! Tests of the names of sessions and of agents: every protocol refuses the same names, with the same code.

use serde_json::{Value as Json, json};

use super::client::{Answer, Client, message};
use super::{TestHub, frame};

/// Returns the params for an A2A message whose only part is a frame, and whose sender does not wait.
fn told(text: &str) -> Json {
    let mut told = message("m1", text);
    told["configuration"] = json!({ "returnImmediately": true });
    told["message"]["parts"][0]["mediaType"] = json!("application/accp");
    told
}

/// Lets an agent say something in a session, by each protocol that has requests.
fn says(client: &Client, session: &str, agent: &str) -> [Answer; 3] {
    let request = format!("@{agent}>req:plan{{}}");
    let posted = frame(&request, "abc101000001", 1, &format!("sid:{session}"));
    [
        client.post_frame(&posted),
        client.initialize(&format!("/mcp/{session}/{agent}")),
        client.a2a(
            &format!("/a2a/{session}/{agent}"),
            "SendMessage",
            &told(&request),
        ),
    ]
}

#[test]
fn a_session_that_no_address_names_is_refused_alike_at_all_doors() {
    let (_hub, client) = TestHub::open("--memory");
    for refused in says(&client, ".", "dev") {
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(refused.body.contains("code:E1001|"), "{refused:?}");
        assert!(refused.body.contains("another_name_than"), "{refused:?}");
    }
    assert_eq!(client.get("/accp/v1/sessions").body, "[]");
}

#[test]
fn the_name_of_an_agent_has_a_bound_at_all_doors() {
    let (_hub, client) = TestHub::open("--memory");
    let long = "a".repeat(129);
    for refused in says(&client, "lunch", &long) {
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(refused.body.contains("code:E1001|"), "{refused:?}");
        assert!(refused.body.contains("|at:1|"), "{refused:?}");
        assert!(
            refused.body.contains("at_most_128_characters"),
            "{refused:?}"
        );
    }
    assert_eq!(client.get("/accp/v1/sessions").body, "[]");
    // A session that has begun refuses such an agent, too, and has room for the longest name.
    let longest = "b".repeat(128);
    client.posts("@lab>ping:link{}", "abc999000001", 0, "sid:lunch");
    for refused in says(&client, "lunch", &long) {
        assert!(refused.body.contains("E1001"), "{refused:?}");
        assert!(refused.body.contains("128"), "{refused:?}");
    }
    for taken in says(&client, "lunch", &longest) {
        assert_eq!(taken.status, 200, "{taken:?}");
        assert!(!taken.body.contains("E1001"), "{taken:?}");
    }
    let state = client.get("/accp/v1/sessions/lunch/state").body;
    assert!(
        state.contains(&longest) && !state.contains(&long),
        "{state}"
    );
}

/// Otherwise requests could wait for an agent that has never said anything.
#[test]
fn a_first_message_that_is_refused_lets_nobody_in_and_begins_no_session() {
    let (_hub, client) = TestHub::open("--memory");
    let sends = |agent: &str, text: &str| {
        let path = format!("/a2a/lunch/{agent}");
        client.a2a(&path, "SendMessage", &told(text))
    };
    let refused = [
        ("@dev>req:plan{}", "none that has joined does"),
        ("@dev>req:plan{}[to:nobody]", "nobody has not"),
        ("@dev>req:plan{goal:$hot.p9}", "E2001"),
    ];
    for (text, why) in refused {
        let said = sends("dev", text);
        assert!(said.body.contains(why), "{said:?}");
        assert!(said.body.contains("message.parts[0]"), "{said:?}");
        assert_eq!(client.get("/accp/v1/sessions").body, "[]", "{text}");
    }
    let begun = sends("first", "@first>req:plan{}[to:~]");
    assert!(begun.body.contains("\"task\""), "{begun:?}");
    let state = || client.get("/accp/v1/sessions/lunch/state").body;
    for (text, why) in refused.into_iter().skip(1) {
        let said = sends("dev", text);
        assert!(said.body.contains(why), "{said:?}");
        assert!(!state().contains("\"dev\""), "{text}: {}", state());
    }
    // The agent comes in with the first message that the session takes.
    let begun = sends("dev", "@dev>req:plan{}[to:first]");
    assert!(begun.body.contains("\"task\""), "{begun:?}");
    assert!(state().contains("\"dev\""), "{}", state());
}

/// Nobody answers for a hub, so a request for it would wait for ever.
#[test]
fn a_request_for_the_hub_itself_is_refused_at_all_doors() {
    let (_hub, client) = TestHub::open("--memory");
    client.posts("@dev>ping:link{}", "abc999000001", 0, "sid:lunch");
    let posted = frame("@dev>req:plan{}", "abc101000001", 1, "sid:lunch,to:hub");
    let session = client.begin("/mcp/lunch/model");
    let call = json!({ "name": "accp_ask", "arguments": {
        "intent": "req", "operation": "plan", "params": {}, "to": "hub",
    } });
    for refused in [
        client.post_frame(&posted),
        client.a2a(
            "/a2a/lunch/guest",
            "SendMessage",
            &told("@guest>req:plan{}[to:hub]"),
        ),
        client.mcp("/mcp/lunch/model", Some(&session), "tools/call", &call),
    ] {
        let said = refused.body.replace('_', " ").replace('\\', "");
        assert!(said.contains("E2001"), "{refused:?}");
        assert!(
            said.contains("hub is the host of the session, which answers none"),
            "{refused:?}"
        );
    }
}
