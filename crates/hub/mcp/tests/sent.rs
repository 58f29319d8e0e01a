//! What a model learns about the frames that it sends.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::support::{Client, call, connect, fails, hub, task, words, works};

/// Sends a frame as text.
async fn sends(client: &Client, frame: &str) -> Json {
    works(client, "accp_send", json!({ "frame": frame })).await
}

#[tokio::test]
async fn a_frame_that_is_sent_has_a_place_in_the_log() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let _qa = hub.agent("qa").unwrap();
    let result = call(&dev, "accp_send", task("qa", "test_auth")).await;
    let json = result.structured_content.clone().unwrap();
    let id = json["id"].as_str().unwrap();
    let entry = hub.frames(id.trim_start_matches('p').parse().unwrap());
    let entry = { entry }.next_ready().await.unwrap().unwrap();
    assert!(
        entry
            .text
            .starts_with("@dev>req:schedule{asgn:qa|task:test_auth")
    );
    assert_eq!(json["mid"], entry.mid.to_string());
    insta::assert_snapshot!(words(&result), @"Sent as p6: @dev>req:schedule{asgn:qa|task:test_auth|schema:TA}");
}

/// A frame that no member gets is an error for the model, with the code and the cure.
#[tokio::test]
async fn a_frame_that_does_not_enter_the_log_is_an_error() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let qa = connect(hub.agent("qa").unwrap()).await;
    sends(&dev, "@dev>sync:state{v:1|delta:{phase:plan}}").await;
    let paid = "@dev>req:pay{txn:t1|amt:5.0|schema:TX}";
    sends(&dev, paid).await;
    let asked = sends(&dev, "@dev>req:schedule{asgn:qa|task:a|schema:TA}").await;
    let received = works(&qa, "accp_receive", json!({ "timeout": 60, "limit": 50 })).await;
    let frames = received["frames"].as_array().unwrap();
    let task = frames.iter().find(|frame| frame["id"] == asked["id"]);
    let chain = task.unwrap()["text"].as_str().unwrap();
    let chain = chain
        .split("mid:")
        .nth(1)
        .unwrap()
        .split(',')
        .next()
        .unwrap();
    sends(&dev, &format!("@dev>cancel:task{{}}[cid:{chain}]")).await;
    let before = hub
        .look(accp_runtime::session::Session::position)
        .await
        .unwrap();
    let mut all = String::new();
    for frame in [
        "@dev>req:plan{a:$ext.other.p1}",
        "@dev>req:plan{a:$cold.p900}",
        "@dev>sync:state{v:9|delta:{phase:work}}",
        "@dev>req:pay{txn:t1|amt:6.0|schema:TX}",
        "@dev>stream:infer{idx:2|tot:2|d:x|schema:ST}[cid:s1]",
        "@dev>ping:link{}",
        &format!("@dev>wait:task{{a:b}}[cid:{chain}]"),
    ] {
        for tool in ["accp_send", "accp_ask"] {
            let args = json!({ "frame": frame });
            let text = fails(&dev, tool, args).await.replace(chain, "CHAIN");
            let _ = write!(all, "{tool} {}\n{text}\n\n", frame.replace(chain, "CHAIN"));
        }
    }
    // The log has none of the refused frames.
    let after = hub
        .look(accp_runtime::session::Session::position)
        .await
        .unwrap();
    assert_eq!(before, after, "{all}");
    insta::assert_snapshot!(all, @r#"
    accp_send @dev>req:plan{a:$ext.other.p1}
    E5002: the host refuses the frame: expected a reference to this session, or to one that granted it
    What to do: the frame is not in the session; mend it and send it again.

    accp_ask @dev>req:plan{a:$ext.other.p1}
    E5002: the host refuses the frame: expected a reference to this session, or to one that granted it
    What to do: the frame is not in the session; mend it and send it again.

    accp_send @dev>req:plan{a:$cold.p900}
    E2001: the host refuses the frame: expected a reference to something that the session holds
    What to do: the frame is not in the session; mend it and send it again.

    accp_ask @dev>req:plan{a:$cold.p900}
    E2001: the host refuses the frame: expected a reference to something that the session holds
    What to do: the frame is not in the session; mend it and send it again.

    accp_send @dev>sync:state{v:9|delta:{phase:work}}
    E2001: the host refuses the frame: expected version 9 does not follow version 1, which is held; make the change again on that
    What to do: the frame is not in the session; mend it and send it again.

    accp_ask @dev>sync:state{v:9|delta:{phase:work}}
    E2001: the host refuses the frame: expected version 9 does not follow version 1, which is held; make the change again on that
    What to do: the frame is not in the session; mend it and send it again.

    accp_send @dev>req:pay{txn:t1|amt:6.0|schema:TX}
    E1004: the host refuses the frame: expected the fields of the first request of this transaction, or another transaction
    What to do: the frame is not in the session; mend it and send it again.

    accp_ask @dev>req:pay{txn:t1|amt:6.0|schema:TX}
    E1004: the host refuses the frame: expected the fields of the first request of this transaction, or another transaction
    What to do: the frame is not in the session; mend it and send it again.

    accp_send @dev>stream:infer{idx:2|tot:2|d:x|schema:ST}[cid:s1]
    E1004: the host refuses the frame: expected `chunk_index` below `total_chunks`, which is 2
    What to do: the frame is not in the session; mend it and send it again.

    accp_ask @dev>stream:infer{idx:2|tot:2|d:x|schema:ST}[cid:s1]
    E1004: the host refuses the frame: expected `chunk_index` below `total_chunks`, which is 2
    What to do: the frame is not in the session; mend it and send it again.

    accp_send @dev>ping:link{}
    E5001: expected a frame of the session; ping:link speaks about the link
    What to do: mend what the message names; nothing was sent.

    accp_ask @dev>ping:link{}
    E5001: expected a frame of the session; ping:link speaks about the link
    What to do: mend what the message names; nothing was sent.

    accp_send @dev>wait:task{a:b}[cid:CHAIN]
    E5001: the chain of the frame was cancelled
    What to do: the frame is not in the session, and its chain is over; begin another one if it is still needed.

    accp_ask @dev>wait:task{a:b}[cid:CHAIN]
    E5001: the chain of the frame was cancelled
    What to do: the frame is not in the session, and its chain is over; begin another one if it is still needed.
    "#);
}

/// A reply that the session refuses is an error, too. The error says which frame was sent instead.
#[tokio::test]
async fn a_reply_has_a_place_in_the_log_or_is_an_error() {
    let hub = hub().await;
    let dev = connect(hub.agent("dev").unwrap()).await;
    let qa = connect(hub.agent("qa").unwrap()).await;
    works(&dev, "accp_send", task("qa", "a")).await;
    works(&dev, "accp_send", task("qa", "b")).await;
    let received = works(&qa, "accp_receive", json!({ "timeout": 60 })).await;
    let id = |at: usize| received["frames"][at]["id"].clone();
    let wrong = json!({ "id": id(0), "frame": "@qa>done:schedule{task:$ext.other.p1|schema:TA}" });
    let text = fails(&qa, "accp_reply", wrong).await;
    assert!(text.starts_with("E5002"), "{text}");
    let right = json!({ "id": id(1), "frame": "@qa>done:schedule{task:b|schema:TA}" });
    let replied = works(&qa, "accp_reply", right).await;
    let place = replied["id"].as_str().unwrap().trim_start_matches('p');
    let entry = hub
        .frames(place.parse().unwrap())
        .next_ready()
        .await
        .unwrap();
    assert!(entry.unwrap().text.starts_with("@qa>done:schedule{task:b"));
}
