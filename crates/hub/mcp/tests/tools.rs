//! Every tool, as an MCP client calls it.

use std::fmt::Write as _;

use accp_runtime::DynamicFrame;
use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use accp_runtime::{AgentId, Registry};
use serde_json::json;

use crate::support::{call, connect, fails, hub, read, task, words, works};

#[tokio::test]
async fn the_tools_have_schemas_and_a_closed_set_of_arguments() {
    let hub = hub().await;
    let client = connect(hub.agent("dev").unwrap()).await;
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let all = [
        "accp_send",
        "accp_ask",
        "accp_receive",
        "accp_reply",
        "accp_done",
        "accp_query",
        "accp_expand",
    ];
    assert_eq!(names, all);
    for tool in tools {
        assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        assert!(tool.description.is_some_and(|words| words.len() > 80));
        assert_eq!(tool.input_schema["additionalProperties"], false);
    }
}

#[tokio::test]
async fn two_models_ask_and_answer_each_other() {
    let hub = hub().await;
    let planner = connect(hub.agent("planner").unwrap()).await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let asking = async { call(&planner, "accp_ask", task("dev", "impl_auth")).await };
    let answering = async {
        let received = works(&dev, "accp_receive", json!({ "timeout": 60 })).await;
        let frame = &received["frames"][0];
        assert_eq!(frame["from"], "planner");
        assert_eq!(frame["wants_answer"], true);
        assert_eq!(frame["params"]["task"], "impl_auth");
        assert_eq!(received["open"], json!([frame["id"]]));
        let answer = json!({
            "id": frame["id"], "intent": "done", "operation": "schedule",
            "params": { "task": "impl_auth", "status": "complete" },
        });
        works(&dev, "accp_reply", answer).await
    };
    let (asked, replied) = tokio::join!(asking, answering);
    let json = asked.structured_content.clone().unwrap();
    assert_eq!(json["answer"]["from"], "dev");
    assert_eq!(json["answer"]["params"]["status"], "complete");
    assert_eq!(
        replied["sent"],
        "@dev>done:schedule{task:impl_auth|stat:complete|schema:TA}"
    );
    insta::assert_snapshot!(words(&asked).lines().next().unwrap(), @"Asked as p7: @planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}");
    // `dev` received none of its own frames, and has no open frame.
    let rest = works(&dev, "accp_receive", json!({})).await;
    assert_eq!(rest["open"], json!([]));
    assert_eq!(rest["frames"], json!([]));
}

#[tokio::test]
async fn a_frame_may_be_text_and_is_mended() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let _qa = hub.agent("qa").unwrap();
    let frame = "@dev>req:schedule{asgn:qa| task:test_auth}";
    let result = call(&dev, "accp_send", json!({ "frame": frame })).await;
    insta::assert_snapshot!(words(&result), @r"
    Sent as p6: @dev>req:schedule{asgn:qa|task:test_auth|schema:TA}
    Mended: byte 25: no spaces after a separator: `| ` is `|`; schema:TA was added, which the operation has
    ");
}

#[tokio::test]
async fn requests_for_others_do_not_come_and_what_is_no_request_needs_no_mark() {
    let hub = hub().await;
    let planner = hub.agent("planner").unwrap();
    let dev = connect(hub.agent("dev").unwrap()).await;
    let _qa = hub.agent("qa").unwrap();
    let qa = AgentId::new("qa").unwrap();
    planner.send(ScheduleReq::new(qa, "a")).await.unwrap();
    let me = AgentId::new("dev").unwrap();
    planner.send(ScheduleReq::new(me, "b")).await.unwrap();
    planner.send(ScheduleDone::new("c")).await.unwrap();
    let first = works(&dev, "accp_receive", json!({ "limit": 1, "timeout": 60 })).await;
    assert_eq!(first["frames"][0]["params"]["task"], "b");
    assert_eq!(first["frames"][0]["wants_answer"], true);
    let second = works(&dev, "accp_receive", json!({ "timeout": 60 })).await;
    assert_eq!(second["frames"][0]["params"]["task"], "c");
    let id = first["frames"][0]["id"].clone();
    assert_eq!(second["open"], json!([id]));
    let again = works(&dev, "accp_receive", json!({ "again": true })).await;
    assert_eq!(again["frames"].as_array().unwrap().len(), 2);
    let closed = works(&dev, "accp_done", json!({ "ids": [id] })).await;
    assert_eq!(closed["closed"], json!([id]));
    let rest = works(&dev, "accp_receive", json!({})).await;
    assert_eq!((&rest["open"], &rest["waiting"]), (&json!([]), &json!(0)));
    // The request was for dev alone, and closing it without a reply ends it.
    let mut log = hub.frames(1);
    let end = loop {
        let entry = log
            .next_ready()
            .await
            .unwrap()
            .expect("the end of a request");
        if entry.text.contains(">end:schedule{") {
            break entry;
        }
    };
    assert!(end.text.starts_with("@dev>end:schedule{}["), "{}", end.text);
}

/// A request may name its addressee outside of its fields. Other frames may not.
#[tokio::test]
async fn a_request_is_for_the_agent_that_it_names() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let qa = connect(hub.agent("qa").unwrap()).await;
    let ops = connect(hub.agent("ops").unwrap()).await;
    let frame = json!({ "frame": "@dev>req:plan{goal:lunch}", "to": "qa" });
    works(&dev, "accp_send", frame).await;
    works(&dev, "accp_send", json!({ "frame": "@dev>sync:note{n:1}" })).await;
    let heard = works(&qa, "accp_receive", json!({ "timeout": 60 })).await;
    assert_eq!(heard["frames"][0]["params"]["goal"], "lunch");
    let heard = works(&ops, "accp_receive", json!({ "timeout": 60 })).await;
    assert_eq!(heard["frames"][0]["params"]["n"], 1);
    insta::assert_snapshot!(
        fails(&dev, "accp_send", json!({ "frame": "@dev>req:plan{}", "to": "nobody" })).await,
        @"
    E2001: the host refuses the frame: expected an agent that has joined the session: nobody has not, and hub, dev, qa, ops have
    What to do: the frame is not in the session; mend it and send it again.
    "
    );
    insta::assert_snapshot!(
        fails(&dev, "accp_send", json!({ "frame": "@dev>done:plan{}", "to": "qa" })).await,
        @"
    E4003: a frame with the intent done is for all agents; leave `to` out
    What to do: call the tool again with arguments that fit its input schema.
    "
    );
}

#[tokio::test]
async fn a_session_is_looked_into_and_references_are_read() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let qa = connect(hub.agent("qa").unwrap()).await;
    let long = "rye and spelt, ".repeat(40);
    let sent = json!({
        "intent": "req", "operation": "schedule",
        "params": { "assignee": "qa", "task": long },
    });
    let sent = works(&dev, "accp_send", sent).await;
    assert!(
        sent["sent"]
            .as_str()
            .unwrap()
            .starts_with("@dev>req:schedule")
    );
    let received = works(&qa, "accp_receive", json!({ "timeout": 60 })).await;
    let frame = &received["frames"][0];
    assert_eq!(
        frame["params"]["task"], long,
        "the value stands in the place of its reference"
    );
    let text = frame["text"].as_str().unwrap();
    let key = text
        .split_once("task:$")
        .unwrap()
        .1
        .split('|')
        .next()
        .unwrap();
    let read_back = works(
        &qa,
        "accp_expand",
        json!({ "reference": format!("${key}") }),
    )
    .await;
    assert_eq!(read_back["value"], long);
    let members = call(&qa, "accp_query", json!({ "about": "members" })).await;
    insta::assert_snapshot!(words(&members), @"Agents: hub, dev, qa");
    let state = call(&qa, "accp_query", json!({ "about": "state" })).await;
    insta::assert_snapshot!(words(&state), @"The shared state is empty.");
    let budget = call(&qa, "accp_query", json!({ "about": "budget" })).await;
    insta::assert_snapshot!(words(&budget), @"hot 0/500, warm 0/2000, total 0/2500 tokens (this session counts no tokens)");
    let none = call(&qa, "accp_query", json!({ "words": "barley" })).await;
    insta::assert_snapshot!(words(&none), @"No frame outside the context has these words. The context itself is not searched: see accp_query with about=context.");
}

#[tokio::test]
async fn a_question_that_nobody_answers_says_what_to_do() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let _qa = hub.agent("qa").unwrap();
    let mut question = task("qa", "test");
    question["timeout"] = json!(1);
    insta::assert_snapshot!(fails(&dev, "accp_ask", question.clone()).await, @"
    E3001: nobody answered the question p6 within 1 seconds
    What to do: it stands: go on with other work, and call accp_receive later for the answer; do not ask again.
    ");
    question["cancel"] = json!(true);
    insta::assert_snapshot!(fails(&dev, "accp_ask", question.clone()).await, @"
    E3001: nobody answered the question p7 within 1 seconds
    What to do: the question is cancelled; ask somebody else, or go on without the answer.
    ");
    // Nobody begins to work on a question whose time is over, so it does not stand.
    question["cancel"] = json!(false);
    question["ttl"] = json!(1);
    let over = fails(&dev, "accp_ask", question).await;
    assert!(over.contains("its ttl is over"), "{over}");
    assert!(!over.contains("it stands"), "{over}");
}

#[tokio::test]
async fn errors_say_the_code_and_the_cure() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let wrong = [
        ("accp_send", json!({})),
        ("accp_send", json!({ "frame": "@qa>req:plan{a:1}" })),
        (
            "accp_send",
            json!({ "frame": "@dev>req:plan{a:1}[sid:dinner]" }),
        ),
        ("accp_send", json!({ "frame": "@dev>req:plan{a:1" })),
        ("accp_send", json!({ "intent": "ask", "operation": "plan" })),
        (
            "accp_send",
            json!({ "intent": "req", "operation": "schedule", "params": { "asignee": "qa" } }),
        ),
        (
            "accp_send",
            json!({ "intent": "req", "operation": "plan", "schema": "ZZ" }),
        ),
        ("accp_send", json!({ "itent": "req" })),
        (
            "accp_ask",
            json!({ "intent": "done", "operation": "schedule", "params": { "task": "a" } }),
        ),
        ("accp_receive", json!({ "limit": "ten" })),
        ("accp_receive", json!({ "limit": 0 })),
        ("accp_query", json!({ "words": "auth", "limit": 0 })),
        (
            "accp_ask",
            json!({ "intent": "req", "operation": "plan", "timeout": 0 }),
        ),
        (
            "accp_reply",
            json!({ "id": "p9", "intent": "done", "operation": "schedule" }),
        ),
        (
            "accp_send",
            json!({ "frame": "@dev>req:plan{a:1}", "schema": "TA" }),
        ),
        (
            "accp_send",
            json!({ "frame": "@dev>req:plan{a:1}", "chain": "" }),
        ),
        (
            "accp_ask",
            json!({ "frame": "@dev>req:plan{a:1}", "to": "" }),
        ),
        (
            "accp_ask",
            json!({ "frame": "@dev>req:plan{a:1}[to:qa]", "to": "lab" }),
        ),
        (
            "accp_send",
            json!({ "frame": "@dev>req:plan{a:1}[to:~]", "to": "lab" }),
        ),
        (
            "accp_send",
            json!({ "frame": "@dev>req:plan{a:1}[cid:abcdef012345]", "chain": "c1" }),
        ),
        (
            "accp_send",
            json!({ "intent": "req", "operation": "plan", "schema": "" }),
        ),
        ("accp_done", json!({ "ids": ["first"] })),
        ("accp_done", json!({ "ids": [] })),
        ("accp_query", json!({})),
        ("accp_query", json!({ "about": "weather" })),
        ("accp_query", json!({ "about": "state", "limit": 3 })),
        ("accp_expand", json!({ "reference": "cold.k9_9" })),
        ("accp_expand", json!({ "reference": "yesterday" })),
    ];
    let mut all = String::new();
    for (tool, args) in wrong {
        let text = fails(&dev, tool, args.clone()).await;
        let _ = write!(all, "{tool} {args}\n{text}\n\n");
    }
    insta::assert_snapshot!(all, @r#"
    accp_send {}
    E4003: `intent` is missing: give `frame`, or `intent` and `operation`
    What to do: call the tool again with arguments that fit its input schema.

    accp_send {"frame":"@qa>req:plan{a:1}"}
    E5001: the frame is by @qa, and you are @dev
    What to do: begin the frame with `@dev>`; a receiver is a field, such as asgn, or goes under `to`.

    accp_send {"frame":"@dev>req:plan{a:1}[sid:dinner]"}
    E5002: the frame is for the session dinner, and you are in lunch
    What to do: leave `sid` out of the metadata if the frame is for the agents here; nothing was sent.

    accp_send {"frame":"@dev>req:plan{a:1"}
    E1001: at byte 17: expected '|' or '}' after a value, found the end
    What to do: mend the frame at that byte, or give `intent`, `operation` and `params` instead.

    accp_send {"intent":"ask","operation":"plan"}
    E1002: `ask` is not an intent: req, done, fail, wait, esc, comp, sync, qry, ack, cancel, stream, end, ping, pong
    What to do: mend what the message names; accp://registry says which fields a frame takes.

    accp_send {"intent":"req","operation":"schedule","params":{"asignee":"qa"}}
    E1004: req:schedule of schema TA: asignee: there is no such argument; did you mean assignee?; assignee: required; task: required
    What to do: mend these params and call again; nothing was sent.

    accp_send {"intent":"req","operation":"plan","schema":"ZZ"}
    E1003: no schema ZZ in the registry; it has CH, ER, ST, TA, TC, TX
    What to do: mend what the message names; accp://registry says which fields a frame takes.

    accp_send {"itent":"req"}
    E4003: accp_send has no argument `itent`; it has intent, operation, params, schema, frame, to, chain, ttl
    What to do: call the tool again with arguments that fit its input schema.

    accp_ask {"intent":"done","operation":"schedule","params":{"task":"a"}}
    E1002: a frame with intent done is an answer and gets none
    What to do: use req or qry to ask, or accp_reply or accp_send for this frame.

    accp_receive {"limit":"ten"}
    E4003: `limit` is not a whole number from 1 to 50
    What to do: call the tool again with arguments that fit its input schema.

    accp_receive {"limit":0}
    E4003: `limit` is not a whole number from 1 to 50
    What to do: call the tool again with arguments that fit its input schema.

    accp_query {"words":"auth","limit":0}
    E4003: `limit` is not a whole number from 1 to 50
    What to do: call the tool again with arguments that fit its input schema.

    accp_ask {"intent":"req","operation":"plan","timeout":0}
    E4003: `timeout` is not a whole number from 1 to 300
    What to do: call the tool again with arguments that fit its input schema.

    accp_reply {"id":"p9","intent":"done","operation":"schedule"}
    E2001: p9 is not open; no frame is open
    What to do: a frame is open from accp_receive to its one reply; use accp_send to say more.

    accp_send {"frame":"@dev>req:plan{a:1}","schema":"TA"}
    E4003: `frame` and `schema` say the same thing twice; give one
    What to do: call the tool again with arguments that fit its input schema.

    accp_send {"frame":"@dev>req:plan{a:1}","chain":""}
    E4003: `chain` is empty; leave it out
    What to do: call the tool again with arguments that fit its input schema.

    accp_ask {"frame":"@dev>req:plan{a:1}","to":""}
    E4003: `to` is empty; leave it out
    What to do: call the tool again with arguments that fit its input schema.

    accp_ask {"frame":"@dev>req:plan{a:1}[to:qa]","to":"lab"}
    E4003: `to` is lab, and `to` in `frame` is qa; give one
    What to do: call the tool again with arguments that fit its input schema.

    accp_send {"frame":"@dev>req:plan{a:1}[to:~]","to":"lab"}
    E4003: `to` is lab, and `to` in `frame` is ~; give one
    What to do: call the tool again with arguments that fit its input schema.

    accp_send {"frame":"@dev>req:plan{a:1}[cid:abcdef012345]","chain":"c1"}
    E4003: `chain` is c1, and `cid` in `frame` is abcdef012345; give one
    What to do: call the tool again with arguments that fit its input schema.

    accp_send {"intent":"req","operation":"plan","schema":""}
    E4003: `schema` is empty; leave it out
    What to do: call the tool again with arguments that fit its input schema.

    accp_done {"ids":["first"]}
    E4003: `first` is not the id of a frame, such as p12
    What to do: call the tool again with arguments that fit its input schema.

    accp_done {"ids":[]}
    E4003: `ids` is not a list of ids of frames
    What to do: call the tool again with arguments that fit its input schema.

    accp_query {}
    E4003: give either `words` or `about`
    What to do: call the tool again with arguments that fit its input schema.

    accp_query {"about":"weather"}
    E4003: `about` is state, budget, context or members, not `weather`
    What to do: call the tool again with arguments that fit its input schema.

    accp_query {"about":"state","limit":3}
    E4003: `limit` is for `words`; leave it out with `about`
    What to do: call the tool again with arguments that fit its input schema.

    accp_expand {"reference":"cold.k9_9"}
    E2001: `$cold.k9_9`: the session holds nothing under this reference
    What to do: take a reference from the context (`p7`, `cold.k101_1`), or find it with accp_query.

    accp_expand {"reference":"yesterday"}
    E2001: `$yesterday`: the session holds nothing under this reference
    What to do: take a reference from the context (`p7`, `cold.k101_1`), or find it with accp_query.
    "#);
}

#[tokio::test]
async fn resources_hold_the_session() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let qa = connect(hub.agent("qa").unwrap()).await;
    works(&dev, "accp_send", task("qa", "test_auth")).await;
    let received = works(&qa, "accp_receive", json!({ "timeout": 60 })).await;
    let listed = qa.list_all_resources().await.unwrap();
    let mut all = String::new();
    for resource in &listed {
        let (kind, text) = read(&qa, &resource.uri).await;
        assert_eq!(Some(&kind), resource.mime_type.as_ref());
        let text: String = text.chars().take(120).collect();
        let _ = writeln!(all, "{} {kind}\n{text}", resource.uri);
    }
    insta::assert_snapshot!(all, @r#"
    accp://session/lunch/context text/plain

    accp://session/lunch/hot application/accp

    accp://session/lunch/warm application/accp

    accp://registry application/json
    {"version":1,"schemas":{"chat_message":{"code":"CH","version":1,"fields":["role","content","turn","lang","reply_to"],"re
    "#);
    let templates = qa.list_all_resource_templates().await.unwrap();
    assert_eq!(templates.len(), 2);
    let id = received["frames"][0]["id"].as_str().unwrap();
    let position = id.trim_start_matches('p');
    let (kind, text) = read(&qa, &format!("accp://session/lunch/frames/{position}")).await;
    assert_eq!(kind, "application/accp");
    let message = DynamicFrame::decode(&text, &Registry::standard()).unwrap();
    assert_eq!(
        message.payload.get("task").and_then(|task| task.as_str()),
        Some("test_auth")
    );
    let (_, cold) = read(&qa, &format!("accp://session/lunch/cold/{id}")).await;
    assert!(cold.contains("test_auth"), "{cold}");
    for uri in [
        "accp://session/lunch/frames/99",
        "accp://session/other/context",
        "accp://x",
    ] {
        let params = rmcp::model::ReadResourceRequestParams::new(uri);
        let error = failed(qa.read_resource(params).await.unwrap_err());
        assert!(error.message.contains("no resource"), "{error:?}");
        let data = error.data.unwrap();
        assert_eq!(data["code"], "E2001");
        assert!(data["cure"].as_str().unwrap().contains("resources/list"));
    }
    let params = rmcp::model::CallToolRequestParams::new("accp_search");
    let error = failed(qa.call_tool(params).await.unwrap_err());
    assert!(error.message.contains("there is no tool accp_search"));
    let data = error.data.unwrap();
    assert_eq!(data["code"], "E4001");
    assert_eq!(data["cure"], "call one of the tools of tools/list");
}

/// Returns the error with which the server has answered.
fn failed(error: rmcp::ServiceError) -> rmcp::ErrorData {
    match error {
        rmcp::ServiceError::McpError(error) => error,
        other => panic!("{other}"),
    }
}
