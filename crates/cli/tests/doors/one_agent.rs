//! Tests of a request for one agent. A field of the request or its metadata names the agent.

use std::time::Duration;

use super::answers::{Cook, within};
use super::processes::{Hub, accp};

const REGISTRY: &str = r#"{ "schemas": { "order": {
    "code": "OR", "fields": ["cook", "dish"], "types": { "cook": "agent", "dish": "string" },
    "required": ["dish"],
    "frames": [
        { "intent": "req", "operation": "order", "to": "cook" },
        { "intent": "done", "operation": "order" }
    ]
} } }"#;

/// A script that answers an order with the name of the agent.
const ANSWERS: &str = "echo '@$0>done:order{dish:by_$0|schema:OR}'";

fn cook(hub: &Hub, name: &str) -> Cook {
    Cook::start_as(hub, name, "", &ANSWERS.replace("$0", name))
}

/// Returns the frames of the log that contain this text.
fn frames(hub: &Hub, part: &str) -> Vec<String> {
    let mut frames = hub.frames();
    frames.retain(|frame| frame.contains(part));
    frames
}

#[test]
fn a_request_reaches_one_agent_which_alone_answers_it_also_after_a_restart() {
    let (_folder, mut hub) = Hub::started(REGISTRY);
    let (ann, bob) = (cook(&hub, "ann"), cook(&hub, "bob"));
    for (question, by) in [
        ("@desk>req:order{cook:ann|dish:soup|schema:OR}", "ann"),
        ("@desk>req:order{cook:bob|dish:rye|schema:OR}", "bob"),
        ("@desk>req:order{dish:tea|schema:OR}[to:ann]", "ann"),
    ] {
        let (is_fine, said) = hub.accp(("ask", question));
        assert!(
            is_fine && said.starts_with(&format!("@{by}>done:order{{dish:by_{by}|")),
            "{said}"
        );
    }
    // Each request has only one answer, so no other agent got the request.
    assert_eq!(frames(&hub, ">done:order{").len(), 3);
    assert_eq!(frames(&hub, ">end:").len(), 0);

    // No agent with this name has ever joined.
    let (is_fine, said) = hub.accp(("ask", "@desk>req:order{cook:eve|dish:soup|schema:OR}"));
    let has_names = said.contains("eve has not, and hub, ann, bob, desk have");
    assert!(!is_fine && said.contains("E2001: ") && has_names, "{said}");

    // `ann` is away. Her order waits, and `bob` cannot answer it.
    drop(ann);
    let order = "@desk>req:order{cook:ann|dish:late|schema:OR}[mid:abc101000009]";
    hub.output(("send", order));
    let forged = "@bob>done:order{dish:mine|schema:OR}[cid:abc101000009]";
    let (is_fine, said) = hub.accp(("send", forged));
    assert!(
        !is_fine && said.contains("E5001: ") && said.contains("an answer of ann"),
        "{said}"
    );
    // `bob` cannot answer in another chain either, neither in a new chain nor in a chain of a third agent.
    let elsewhere = "@bob>done:order{dish:mine|schema:OR}[cid:other,aid:abc101000009]";
    let (is_fine, said) = hub.accp(("send", elsewhere));
    assert!(!is_fine && said.contains("E5001: "), "{said}");
    hub.output(("send", "@guest>req:plan{}[cid:plan]"));
    hub.output((
        "send",
        "@desk>req:order{cook:ann|dish:second|schema:OR}[cid:plan]",
    ));
    let third = "@bob>done:order{dish:mine|schema:OR}[cid:plan]";
    let (is_fine, said) = hub.accp(("send", third));
    assert!(!is_fine && said.contains("E5001: "), "{said}");
    drop(bob);
    hub.kill();
    hub.start();
    for forged in [forged, elsewhere, third] {
        let (is_fine, said) = hub.accp(("send", forged));
        assert!(!is_fine && said.contains("E5001: "), "{said}");
    }
    let _ann = cook(&hub, "ann");
    within(Duration::from_secs(20), || {
        let answers = frames(&hub, ",cid:abc101000009");
        (!answers.is_empty())
            .then(|| assert!(answers[0].starts_with("@ann>done:order{"), "{answers:?}"))
    });
}

/// If the command prints nothing, there is no answer, and the agent ends the chain.
#[test]
fn a_request_for_one_agent_ends_without_an_answer() {
    let (_folder, hub) = Hub::started(REGISTRY);
    let _ann = Cook::start_as(&hub, "ann", "", "true");
    let (_, said) = hub.accp(("ask", "@desk>req:order{cook:ann|dish:soup|schema:OR}"));
    assert!(said.starts_with("@ann>end:order{}["), "{said}");
}

/// `accp ask` waits for one answer, so the hub gives the question to one agent at a time. A request from `accp send`
/// reaches all agents.
#[test]
fn a_question_that_names_nobody_has_one_agent_at_a_time() {
    let (_folder, mut hub) = Hub::started(REGISTRY);
    let question = "@desk>req:order{dish:soup|schema:OR}";
    let (is_fine, said) = hub.accp(("ask", question));
    let why = "an agent of the session that takes req:order:OR, and none that has joined does";
    assert!(
        !is_fine && said.contains("E2001: ") && said.contains(why),
        "{said}"
    );

    let (_ann, _bob) = (cook(&hub, "ann"), cook(&hub, "bob"));
    let takes = || frames(&hub, "sync:takes{").len();
    within(Duration::from_secs(20), || (takes() >= 2).then_some(()));
    for _ in 0..4 {
        let (is_fine, said) = hub.accp(("ask", question));
        assert!(is_fine && said.contains(">done:order{dish:by_"), "{said}");
    }
    hub.kill();
    hub.start();
    let (is_fine, said) = hub.accp(("ask", question));
    assert!(is_fine && said.contains(">done:order{dish:by_"), "{said}");
    assert_eq!(frames(&hub, ">done:order{").len(), 5);
    assert_eq!(frames(&hub, ">end:").len(), 0);

    hub.output(("send", question));
    within(Duration::from_secs(20), || {
        let answers = frames(&hub, ">done:order{").len();
        (answers == 7).then_some(())
    });
}

/// `DELETE` removes an agent from the session. If the agent still runs, it connects again and joins the session
/// again.
#[test]
fn an_agent_that_is_taken_out_while_it_runs_comes_back() {
    let (_folder, hub) = Hub::started(REGISTRY);
    let _ann = cook(&hub, "ann");
    within(Duration::from_secs(20), || {
        (!frames(&hub, "sync:takes{").is_empty()).then_some(())
    });
    let path = "/accp/v1/sessions/team/agents/ann?agent=ann";
    let url = format!("{}{path}", hub.http());
    // Another agent cannot take it out. The refusal says what to do.
    let other = url.replace("?agent=ann", "?agent=desk");
    let other = ureq::delete(&other).config().http_status_as_error(false);
    let refused = other.build().call().unwrap();
    assert_eq!(refused.status(), 403);
    let said = refused.into_body().read_to_string().unwrap();
    let cure = "or_of_the_agent_to_take_out;_without_tokens\\,_its_name_as_`?agent=NAME`";
    assert!(said.contains(cure), "{said}");
    let removed = ureq::delete(&url).call().unwrap();
    assert_eq!(removed.status(), 200);
    let question = "@desk>req:order{cook:ann|dish:soup|schema:OR}";
    let (is_fine, said) = hub.accp(("ask --timeout 20", question));
    assert!(is_fine && said.starts_with("@ann>done:order{"), "{said}");
    let (is_fine, said) = hub.accp(("ask --timeout 20", "@desk>req:order{dish:tea|schema:OR}"));
    assert!(is_fine && said.starts_with("@ann>done:order{"), "{said}");
}

/// The log of a session says which agent got a request that names none, and which got it after that one had left.
#[test]
fn a_replay_says_who_got_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut hub = Hub::with(folder.path(), REGISTRY);
    hub.start();
    let takes = || frames(&hub, "sync:takes{").len();
    let ann = Cook::start_as(&hub, "ann", "", "sleep 60");
    within(Duration::from_secs(20), || (takes() >= 1).then_some(()));
    hub.output(("send", "@desk>req:order{dish:soup|schema:OR}[to:?]"));
    let _bob = cook(&hub, "bob");
    within(Duration::from_secs(20), || (takes() >= 2).then_some(()));
    drop(ann);
    let url = format!("{}/accp/v1/sessions/team/agents/ann?agent=ann", hub.http());
    assert_eq!(ureq::delete(&url).call().unwrap().status(), 200);
    within(Duration::from_secs(20), || {
        let answers = frames(&hub, ">done:order{dish:by_bob");
        (!answers.is_empty()).then_some(())
    });
    let (is_fine, said) = accp(folder.path(), ("session", "replay hub.accp"));
    assert!(is_fine, "{said}");
    for line in [
        "  (for ann) desk requests order: dish soup\n",
        "  (handed on to bob) desk requests order: dish soup\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
}
