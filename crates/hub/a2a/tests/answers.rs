//! What clients of A2A get: lists, cards, and errors on which they can act.

use crate::support;

use serde_json::json;

use crate::support::agents::{TASK, by_hand, works};
use crate::support::{TestServer, frames, in_task, request, words};

#[tokio::test]
async fn tasks_are_listed_the_latest_first_in_pages() {
    let (server, dev) = TestServer::working().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, server.send(frames([TASK])).await.unwrap().id);
    }
    drop(dev);
    let dev = server.agent("dev");
    let _asked = by_hand(&dev);
    ids.insert(0, server.begin(words("one that is open")).await.unwrap().id);
    let (mut listed, mut token) = (Vec::new(), String::new());
    loop {
        let params = json!({"pageSize": 4, "pageToken": token, "contextId": "lunch"});
        let page: a2a::ListTasksResponse = server.call("ListTasks", &params).await.unwrap();
        assert_eq!(page.total_size, 6);
        assert!(
            page.tasks
                .iter()
                .all(|task| task.history.is_none() && task.artifacts.is_none())
        );
        listed.extend(page.tasks.into_iter().map(|task| task.id));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(listed, ids);
    let params = json!({"status": "TASK_STATE_COMPLETED", "includeArtifacts": true});
    let done: a2a::ListTasksResponse = server.call("ListTasks", &params).await.unwrap();
    assert_eq!(done.total_size, 5);
    assert!(done.tasks.iter().all(|task| task.artifacts.is_some()));
    let params = json!({"contextId": "breakfast"});
    let none: a2a::ListTasksResponse = server.call("ListTasks", &params).await.unwrap();
    assert_eq!(none.total_size, 0);
}

#[tokio::test]
async fn a2a_01_refuses_what_is_no_frame_with_code_byte_and_cure() {
    let (server, _dev) = TestServer::working().await;
    for (text, expected) in [
        (
            "@me:plan{}",
            "E1001 at byte 3: expected '>' after the agent id",
        ),
        (
            "@me>req:schedule{asgn:dev|schema:TA}",
            "E1004 at byte 35: expected the field `task`",
        ),
        ("@me>ask:plan{}", "E1002 at byte 4: expected an intent: req"),
        ("@me>req:plan{schema:ZZ}", "E1003 at byte 20: expected"),
        (
            "@me>done:plan{}",
            "E1002 at byte 4: expected a frame with the intent req",
        ),
    ] {
        let error = server.send(frames([text])).await.unwrap_err();
        assert_eq!(error.code, a2a::error_code::INVALID_PARAMS);
        let expected = format!("message.parts[0]: {expected}");
        assert!(
            error.message.starts_with(&expected),
            "{}: {error:?}",
            error.message
        );
        let data = error.data.unwrap();
        assert_eq!(data[0]["fieldViolations"][0]["field"], "message.parts[0]");
        assert!(
            data[1]["metadata"]["code"]
                .as_str()
                .unwrap()
                .starts_with("E100"),
            "{data}"
        );
        assert!(data[1]["metadata"]["byte"].is_string(), "{data}");
    }
    // None of these messages has begun a task.
    let tasks: a2a::ListTasksResponse = server.call("ListTasks", &json!({})).await.unwrap();
    assert_eq!(tasks.total_size, 0);
}

#[tokio::test]
async fn what_the_session_refuses_is_told() {
    let server = TestServer::open("lunch").await;
    let text = "@me>req:chat{content:$cold.k9_9|schema:CH}";
    let error = server.send(frames([text])).await.unwrap_err();
    assert_eq!(error.code, a2a::error_code::INVALID_PARAMS, "{error:?}");
    assert!(error.message.contains("E2001"), "{error:?}");
}

/// Frames of A2A are addressed as any others: by the field of the registry, or by `to` of the metadata.
#[tokio::test]
async fn a_frame_is_for_the_agent_that_it_names() {
    let server = TestServer::open("lunch").await;
    let [chef, waiter] = ["chef", "waiter"].map(|name| server.agent(name));
    let (mut to_chef, mut to_waiter) = (by_hand(&chef), by_hand(&waiter));
    let task = "@me>req:schedule{assignee:nobody|task:soup|schema:TA}";
    let error = server.send(frames([task])).await.unwrap_err();
    assert!(error.message.contains("E2001"), "{error:?}");
    let chat = "@me>req:chat{role:user|content:soup|schema:CH}";
    let [named, other] = ["[to:waiter]", "[to:nobody]"].map(|to| format!("{chat}{to}"));
    let error = server.send(frames([&other])).await.unwrap_err();
    assert!(error.message.contains("E2001"), "{error:?}");
    server.begin(frames([&named])).await.unwrap();
    let held = to_waiter.recv().await.unwrap();
    assert!(held.cx.inbound().text().contains("content:soup"));
    // With `to:?`, as in a frame from another session, the host chooses the agent. One of the two agents gets the
    // request.
    let begun = server.begin(frames([&format!("{task}[to:?]")])).await;
    begun.unwrap();
    let first = tokio::select! {
        held = to_chef.recv() => held,
        held = to_waiter.recv() => held,
    };
    assert!(first.unwrap().cx.inbound().text().contains("task:soup"));
    assert!(to_chef.try_recv().is_err() && to_waiter.try_recv().is_err());
}

#[tokio::test]
async fn calls_that_cannot_be_answered_get_the_error_of_a2a() {
    use a2a::error_code as code;
    let (server, _dev) = TestServer::working().await;
    let done = server.send(frames([TASK])).await.unwrap();
    let message = |message: a2a::Message| serde_json::to_value(request(message)).unwrap();
    let part = |part: serde_json::Value| json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [part]}});
    let mut of_breakfast = words("hello");
    of_breakfast.context_id = Some("breakfast".into());
    let mut both = words("hello");
    both.parts.push(support::frame(TASK));
    let cases = [
        ("GetTask", json!({"id": "c123"}), code::TASK_NOT_FOUND),
        ("CancelTask", json!({"id": "c123"}), code::TASK_NOT_FOUND),
        (
            "SubscribeToTask",
            json!({"id": "c123"}),
            code::TASK_NOT_FOUND,
        ),
        ("GetTask", json!({}), code::INVALID_PARAMS),
        (
            "GetTask",
            json!({"id": done.id, "historyLength": -1}),
            code::INVALID_PARAMS,
        ),
        ("ListTasks", json!({"pageSize": 101}), code::INVALID_PARAMS),
        ("ListTasks", json!({"pageToken": "x"}), code::INVALID_PARAMS),
        (
            "SendMessage",
            message(in_task(words("more"), "c123")),
            code::TASK_NOT_FOUND,
        ),
        (
            "SendMessage",
            message(in_task(words("more"), &done.id)),
            code::UNSUPPORTED_OPERATION,
        ),
        ("SendMessage", message(of_breakfast), code::INVALID_PARAMS),
        ("SendMessage", message(both), code::INVALID_PARAMS),
        ("SendMessage", message(frames([])), code::INVALID_PARAMS),
        (
            "SendMessage",
            part(json!({"url": "http://x/y"})),
            code::CONTENT_TYPE_NOT_SUPPORTED,
        ),
        (
            "SendMessage",
            part(json!({"text": "{}", "mediaType": "application/json"})),
            code::CONTENT_TYPE_NOT_SUPPORTED,
        ),
        (
            "GetTaskPushNotificationConfig",
            json!({}),
            code::PUSH_NOTIFICATION_NOT_SUPPORTED,
        ),
        (
            "CreateTaskPushNotificationConfig",
            json!({}),
            code::PUSH_NOTIFICATION_NOT_SUPPORTED,
        ),
        (
            "GetExtendedAgentCard",
            json!({}),
            code::UNSUPPORTED_OPERATION,
        ),
        ("message/send", json!({}), code::METHOD_NOT_FOUND),
    ];
    for (method, params, code) in cases {
        let answer = server.raw(method, &params).await;
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        assert_eq!(answer["id"], 7, "{answer}");
    }
    let mut asks = request(frames([TASK]));
    asks.configuration =
        serde_json::from_value(json!({"acceptedOutputModes": ["image/png"]})).unwrap();
    let answer = server.raw("SendMessage", &asks).await;
    assert_eq!(
        answer["error"]["code"],
        code::CONTENT_TYPE_NOT_SUPPORTED,
        "{answer}"
    );
    let push = json!({"taskPushNotificationConfig": {"url": "http://x"}});
    asks.configuration = serde_json::from_value(push).unwrap();
    let answer = server.raw("SendMessage", &asks).await;
    assert_eq!(
        answer["error"]["code"],
        code::PUSH_NOTIFICATION_NOT_SUPPORTED,
        "{answer}"
    );
}

/// A request that names no version speaks 0.3 (A2A 1.0, section 3.6.2), and this agent does not.
#[tokio::test]
async fn a_call_names_its_version_in_a_header_or_in_its_address() {
    let server = TestServer::open("lunch").await;
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "ListTasks", "params": {}});
    let answer = async |header: Option<&str>, query: &str| {
        let url = format!("{}{query}", server.url);
        support::post_body(&url, header, call.to_string()).await
    };
    for (header, query) in [
        (Some("1.0"), ""),
        (Some("1.0.1"), ""),
        (None, "?A2A-Version=1.0"),
        (Some(""), "?x=y&a2a-version=1.0"),
    ] {
        let answer = answer(header, query).await;
        assert_eq!(
            answer["result"]["totalSize"], 0,
            "{header:?} {query}: {answer}"
        );
    }
    for (header, query, expected) in [
        (
            None,
            "",
            "version not supported: 0.3; a request without a version speaks 0.3: send the header A2A-Version: 1.0",
        ),
        (
            Some(""),
            "?A2A-Version=",
            "version not supported: 0.3; a request without a version speaks 0.3: send the header A2A-Version: 1.0",
        ),
        (
            Some("0.3"),
            "?A2A-Version=1.0",
            "version not supported: 0.3; expected A2A-Version: 1.0",
        ),
        (
            Some("1.1"),
            "",
            "version not supported: 1.1; expected A2A-Version: 1.0",
        ),
        (
            None,
            "?A2A-Version=2.0",
            "version not supported: 2.0; expected A2A-Version: 1.0",
        ),
    ] {
        let answer = answer(header, query).await;
        let code = a2a::error_code::VERSION_NOT_SUPPORTED;
        assert_eq!(
            answer["error"]["code"], code,
            "{header:?} {query}: {answer}"
        );
        assert_eq!(answer["error"]["message"], expected, "{header:?} {query}");
        assert_eq!(answer["id"], 7, "{answer}");
    }
}

#[tokio::test]
async fn fields_without_names_are_refused_in_their_place() {
    let server = TestServer::open("lunch").await;
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
    for (method, params, place) in [
        ("GetTask", json!(["c0"]), "params"),
        ("ListTasks", json!([]), "params"),
        ("SendMessage", json!([message]), "params"),
        ("SendMessage", json!({"message": ["m"]}), "message"),
        (
            "SendMessage",
            json!({"message": message, "configuration": [["text/plain"]]}),
            "configuration",
        ),
    ] {
        let answer = server.raw(method, &params).await;
        let error = &answer["error"];
        let code = a2a::error_code::INVALID_PARAMS;
        assert_eq!(error["code"], code, "{method} {params}: {answer}");
        let violation = &error["data"][0]["fieldViolations"][0];
        assert_eq!(violation["field"], place, "{method} {params}: {answer}");
        let expected = "expected an object, whose fields have names";
        assert_eq!(violation["description"], expected, "{answer}");
    }
    // The router refuses a list of calls, and a list of the fields of one call without their names.
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "ListTasks"});
    for body in [json!([call]), json!(["2.0", 7, "ListTasks", {}])] {
        let answer = support::post_body(&server.url, Some("1.0"), body.to_string()).await;
        let code = a2a::error_code::INVALID_REQUEST;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer["id"].is_null(), "{answer}");
    }
}

#[tokio::test]
async fn a_wrong_field_is_named() {
    let server = TestServer::open("lunch").await;
    let with = |message: serde_json::Value| {
        let mut whole =
            json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
        for (name, value) in message.as_object().unwrap() {
            whole[name] = value.clone();
        }
        ("SendMessage", json!({"message": whole}))
    };
    let part = |part: serde_json::Value| with(json!({"parts": [{"text": "hello"}, part]}));
    let mut anonymous = with(json!({}));
    let message = anonymous.1["message"].as_object_mut().unwrap();
    message.remove("messageId");
    let none = "expected a value, and there is none";
    let one = "expected one of text, raw, url and data";
    for ((method, params), place, says) in [
        (("GetTask", json!({})), "id", none),
        (
            ("GetTask", json!({"id": 5})),
            "id",
            "invalid type: integer `5`, expected a string",
        ),
        (
            ("GetTask", json!({"id": "c0", "historyLength": 1.5})),
            "historyLength",
            "expected a whole number of 32 bits",
        ),
        (
            ("ListTasks", json!({"status": "done"})),
            "status",
            "unknown variant `done`, expected one of `TASK_STATE_SUBMITTED`",
        ),
        (
            ("ListTasks", json!({"statusTimestampAfter": "today"})),
            "statusTimestampAfter",
            "",
        ),
        (("SendMessage", json!({})), "message", none),
        (
            ("SendMessage", json!({"message": 5})),
            "message",
            "expected an object",
        ),
        (anonymous, "message.messageId", none),
        (
            with(json!({"role": "user"})),
            "message.role",
            "unknown variant `user`, expected one of `ROLE_USER`",
        ),
        (part(json!(5)), "message.parts[1]", "expected an object"),
        (part(json!({})), "message.parts[1]", one),
        (
            part(json!({"text": "a", "raw": "QUFB"})),
            "message.parts[1]",
            one,
        ),
        (
            part(json!({"raw": "!!", "mediaType": "text/plain"})),
            "message.parts[1].raw",
            "expected base64",
        ),
        (
            part(json!({"text": "@me>req:plan{}", "mediaType": ["application/accp"]})),
            "message.parts[1].mediaType",
            "expected a string",
        ),
    ] {
        let answer = server.raw(method, &params).await;
        let error = &answer["error"];
        let code = a2a::error_code::INVALID_PARAMS;
        assert_eq!(error["code"], code, "{method} {params}: {answer}");
        let violation = &error["data"][0]["fieldViolations"][0];
        assert_eq!(violation["field"], place, "{method} {params}: {answer}");
        let description = violation["description"].as_str().unwrap();
        assert!(description.contains(says), "{params}: {description}");
    }
    let tasks: a2a::ListTasksResponse = server.call("ListTasks", &json!({})).await.unwrap();
    assert_eq!(tasks.total_size, 0);
}

#[tokio::test]
async fn a_card_says_what_the_session_takes_and_where() {
    let server = TestServer::open("lunch").await;
    let url = format!("{}/.well-known/agent-card.json", server.url);
    let card = support::get(&url).await;
    let card: a2a::AgentCard = serde_json::from_str(&card).unwrap();
    let [interface] = &card.supported_interfaces[..] else {
        panic!("{card:?}")
    };
    assert_eq!(interface.url, server.url);
    assert_eq!(interface.protocol_binding, "JSONRPC");
    assert_eq!(interface.protocol_version, "1.0");
    assert_eq!(card.default_input_modes, ["application/accp", "text/plain"]);
    assert_eq!(
        card.default_output_modes,
        ["application/accp", "text/plain"]
    );
    assert_eq!(card.capabilities.streaming, Some(true));
    let ids: Vec<_> = card.skills.iter().map(|skill| &*skill.id).collect();
    assert_eq!(
        ids,
        [
            "req:chat:CH",
            "req:schedule:TA",
            "req:execute:TA",
            "req:tool:TC",
            "req:transaction:TX"
        ]
    );
    let schedule = &card.skills[1];
    assert!(schedule.description.contains("Required: "), "{schedule:?}");
    // The example becomes a frame when its values are filled in.
    let example = &schedule.examples.as_ref().unwrap()[0];
    assert_eq!(example, "@guest>req:schedule{asgn:..|task:..|schema:TA}");
    let dev = server.agent("dev");
    works(&dev);
    let text = example.replacen("..", "dev", 1).replacen("..", "soup", 1);
    server.send(frames([&text])).await.unwrap();
}

#[tokio::test]
async fn an_agent_that_is_not_for_the_caller_is_refused() {
    let mut server = TestServer::open("lunch").await;
    server.url = server.url.replace("guest", "boss");
    let answer = server.raw("GetTask", &json!({"id": "c0"})).await;
    assert_eq!(answer["error"]["code"], a2a::error_code::INVALID_REQUEST);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("no agent boss in lunch"), "{message}");
}
