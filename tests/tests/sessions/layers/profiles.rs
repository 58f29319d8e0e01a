//! The standard profiles in a session whose sides are killed: PRO and STR.

use accp_registry::Registry;
use accp_runtime::profiles::{
    ChatDone, ChatReq, ErrorFail, InferStream, ScheduleDone, ScheduleReq, ToolDone, ToolReq,
};
use accp_runtime::session::{Inbound, Input, Outbound, Rules, StreamLimits, Streams};
use accp_runtime::{AgentId, DynamicFrame, EncodeFrame, ErrorCode, Map, Value};

use super::{calm, kill, kill_all, kill_all_and_calm, spoil_link};
use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, counting, envelope, frame, member, open_host, options};

/// `@dev` asks and `@qa` answers, over a link that fails. All sides are killed after the question and after the
/// answer. Returns the question and the answer as their handlers get them.
fn exchange(
    question: &(dyn EncodeFrame + Sync),
    answer: &(dyn EncodeFrame + Sync),
) -> (Inbound, Inbound) {
    let mut room = Room::new(&["dev", "qa"]);
    let asked = room.say(0, &Outbound::frame(question));
    kill_all_and_calm(&mut room);
    let heard = room.members[1].inbox.remove(0);
    let reply = Outbound::frame(answer).answering(&heard).unwrap();
    let now = room.now;
    let qa = room.members[1].session_mut();
    qa.handled(heard.position(), &[reply], now).unwrap();
    room.settle();
    kill_all_and_calm(&mut room);
    assert!(room.members[1].inbox.is_empty(), "it is marked");
    let answered = room.members[0].inbox.remove(0);
    assert!(room.members[0].inbox.is_empty());
    let cid = envelope(answered.text()).unwrap().correlation_id;
    assert_eq!(cid, Some(asked.to_string().into()));
    (heard, answered)
}

#[test]
fn pro_ch_a_question_is_answered_whoever_is_killed() {
    let question = ChatReq {
        role: "user".into(),
        content: "What are Q3 findings?".into(),
        turn: Some(1),
        lang: "en".into(),
        reply_to: None,
    };
    let answer = ChatDone {
        role: "assistant".into(),
        content: "Revenue declined 12%.".into(),
        turn: Some(2),
        lang: "en".into(),
        reply_to: None,
    };
    let (heard, answered) = exchange(&question, &answer);
    assert_eq!(heard.decode::<ChatReq<'_>>().unwrap().frame, question);
    assert_eq!(answered.decode::<ChatDone<'_>>().unwrap().frame, answer);
    // The host refuses frames that break the profile.
    let mut host = open_host(options("hub"), Rules::default());
    for (n, payload) in (1..).zip([
        "role:user",
        "content:~",
        "content:x|turn:one",
        "content:[x]",
    ]) {
        let text = frame(&format!("@dev>req:chat{{{payload}|schema:CH}}"), n, 1, "");
        assert_eq!(
            host.refuses(101, &text).code,
            ErrorCode::INVALID_TYPE,
            "{payload}"
        );
    }
}

#[test]
fn pro_tc_a_call_is_answered_whoever_is_killed() {
    let arguments: Map<'_> = [("q", Value::from("ACCP")), ("max", 5.into())]
        .into_iter()
        .collect();
    let call = ToolReq {
        tool_name: "search".into(),
        arguments: Some(arguments),
    };
    let done = ToolDone {
        tool_name: "search".into(),
        arguments: None,
        result: Some(vec![Value::from(1), Value::from("two")].into()),
        status: "ok".into(),
        error_code: None,
    };
    let (heard, answered) = exchange(&call, &done);
    assert_eq!(heard.decode::<ToolReq<'_>>().unwrap().frame, call);
    assert_eq!(answered.decode::<ToolDone<'_>>().unwrap().frame, done);
    let error = ErrorFail {
        code: "E4002".into(),
        msg: "no route to host".into(),
        retry: true,
        tool_name: Some("search".into()),
        expected_sequence: None,
        version: None,
        field: None,
        at: None,
        holder: None,
        sequence: None,
        escalate_to: None,
    };
    let (_, answered) = exchange(&call, &error);
    assert_eq!(answered.decode::<ErrorFail<'_>>().unwrap().frame, error);
}

#[test]
fn pro_ta_a_task_is_reported_whoever_is_killed() {
    let task = ScheduleReq {
        assignee: AgentId::new("qa").unwrap(),
        task: "impl_auth".into(),
        priority: "medium".into(),
        deadline: Some("sprint_14".into()),
        deps: vec!["design".into()],
        status: None,
        progress: None,
    };
    let report = ScheduleDone {
        task: "impl_auth".into(),
        status: Some("complete".into()),
        progress: Some(100),
    };
    let (heard, answered) = exchange(&task, &report);
    assert_eq!(heard.decode::<ScheduleReq<'_>>().unwrap().frame, task);
    assert_eq!(answered.decode::<ScheduleDone<'_>>().unwrap().frame, report);
    let mut host = open_host(options("hub"), Rules::default());
    for (n, payload) in (1..).zip([
        "asgn:qa",
        "task:t",
        "asgn:~|task:t",
        "asgn:qa|task:t|prog:most",
    ]) {
        let text = frame(
            &format!("@dev>req:schedule{{{payload}|schema:TA}}"),
            n,
            1,
            "",
        );
        assert_eq!(
            host.refuses(101, &text).code,
            ErrorCode::INVALID_TYPE,
            "{payload}"
        );
    }
}

/// A session takes frames of all profiles and of a registry of one's own, before and after a kill. It refuses
/// frames of a profile that is not active.
#[test]
fn pro_all_profiles_are_active_at_once_after_a_kill() {
    const PAYLOADS: [(&str, &str); 8] = [
        ("req:chat{role:user|content:hello|schema:CH}", ""),
        ("done:chat{content:hello|schema:CH}", ",cid:101000001001"),
        ("req:tool{tool:search|schema:TC}", ""),
        (
            "done:tool{tool:search|res:[1,2]|schema:TC}",
            ",cid:101000001003",
        ),
        ("req:transaction{txn:t1|amt:1.5|schema:TX}", ""),
        ("stream:infer{idx:0|d:x|done:true|schema:ST}", ",cid:s"),
        ("req:schedule{asgn:hub|task:t|schema:TA}", ""),
        ("req:move{item:box|target:{z:7b}|schema:SV}", ""),
    ];
    let mut host = open_host(options("hub"), Rules::default());
    let own = Registry::from_json(include_str!("../../../registry/warehouse.json")).unwrap();
    let is_own = frame(&format!("@dev>{}", PAYLOADS[7].0), 99, 1, "");
    assert_eq!(host.refuses(101, &is_own).code, ErrorCode::UNKNOWN_SCHEMA);
    for code in ["LC", "SV"] {
        let schema = own.schema(code).unwrap().clone();
        host.is_taken(Input::Register(Box::new(schema)), NOW);
        host.carries_out(NOW);
    }
    let mut n = 0;
    for _ in 0..2 {
        for (payload, more) in PAYLOADS {
            n += 1;
            // Each frame has its own transaction, because the same transaction is handled only once.
            let payload = payload.replace("t1", &format!("t{n}"));
            let text = frame(&format!("@dev>{payload}"), n, n.into(), more);
            let heard = host.takes(101, &text);
            let registry = &host.session().options().registry;
            heard.inbound[0].message(registry).unwrap();
        }
        kill(&mut host);
    }
    let registry = Registry::from_json(include_str!("../../../registry/warehouse.json")).unwrap();
    let mut alone = options("hub");
    alone.registry = std::sync::Arc::new(registry);
    let mut host = open_host(alone, Rules::default());
    for (n, (payload, more)) in (1..).zip(&PAYLOADS[..7]) {
        let text = frame(&format!("@dev>{payload}"), n, 1, more);
        assert_eq!(
            host.refuses(101, &text).code,
            ErrorCode::UNKNOWN_SCHEMA,
            "{payload}"
        );
    }
}

// ---- Streams -----------------------------------------------------------------------

fn chunk(index: i64, data: &'static str, is_final: bool) -> InferStream<'static> {
    InferStream {
        chunk_index: index,
        total_chunks: None,
        data: data.into(),
        is_final,
    }
}

/// Takes frames as a handler does. Returns the cid and the data of each stream, and whether the stream was complete
/// when it ended; `None` if it has not ended.
fn heard(inbox: &[Inbound]) -> Vec<(String, String, Option<bool>)> {
    let mut streams = Streams::new(StreamLimits::default());
    let mut found: Vec<(String, String, Option<bool>)> = Vec::new();
    for inbound in inbox {
        let cid = envelope(inbound.text())
            .unwrap()
            .correlation_id
            .unwrap()
            .into_owned();
        let at = found
            .iter()
            .position(|(of, ..)| *of == cid)
            .unwrap_or_else(|| {
                found.push((cid.clone(), String::new(), None));
                found.len() - 1
            });
        if inbound.text().contains(">end:") {
            let ended = streams.end(inbound.sender(), &cid).unwrap();
            found[at].2 = Some(ended.is_complete());
        } else {
            let chunk = inbound.decode::<InferStream<'_>>().unwrap().frame;
            streams.push(inbound.sender(), &cid, &chunk).unwrap();
            let ready = streams.ready(inbound.sender(), &cid);
            found[at].1.extend(ready.map(|chunk| chunk.data));
        }
    }
    found
}

/// The chunks of two streams are sent out of order, over a link that fails. All sides are killed in between, before
/// a handler has marked a frame as handled, and the frames are delivered again.
#[test]
fn str_03_streams_are_put_in_order_whoever_is_killed() {
    let mut room = Room::with(counting("hub"), Rules::default(), &["dev", "qa"]);
    let said = [
        ("a", chunk(1, " big", false)),
        ("b", chunk(0, "x", false)),
        ("a", chunk(0, "Hello", false)),
        ("b", chunk(1, "y", true)),
        ("a", chunk(2, " world", true)),
    ];
    spoil_link(&mut room);
    for (at, (cid, chunk)) in said.iter().enumerate() {
        room.say(0, &Outbound::frame(chunk).in_chain(*cid));
        if at == 2 {
            kill_all(&mut room);
            calm(&mut room);
            spoil_link(&mut room);
        }
    }
    calm(&mut room);
    // An open stream keeps its first frame in hot state, also at a host that was killed.
    let first = room.host.frames()[0].position;
    let now = room.now;
    room.host.phase(now).unwrap();
    room.settle();
    kill_all_and_calm(&mut room);
    assert!(
        room.host
            .state()
            .hot()
            .positions()
            .any(|position| position == first)
    );
    for cid in ["a", "b"] {
        let end = DynamicFrame::new("dev", "end", "infer").unwrap();
        room.say(0, &Outbound::message(&end).in_chain(cid));
    }
    kill_all_and_calm(&mut room);
    let expected = [
        ("a".to_owned(), "Hello big world".to_owned(), Some(true)),
        ("b".to_owned(), "xy".to_owned(), Some(true)),
    ];
    assert_eq!(heard(&room.members[1].inbox), expected);
    assert_eq!(heard(&room.host.inbox), expected);
    let cids = room.host.frames().iter().all(|entry| {
        entry.sender == member(101) && envelope(&entry.text).unwrap().correlation_id.is_some()
    });
    assert!(cids);
    let now = room.now;
    room.host.phase(now);
    room.settle();
    assert_eq!(room.host.state().hot().positions().count(), 0);
}

/// A stream whose last chunk was never sent does not end, whoever is killed.
#[test]
fn str_01_a_stream_without_its_last_chunk_does_not_end_after_a_kill() {
    let mut room = Room::new(&["dev", "qa"]);
    spoil_link(&mut room);
    room.say(0, &Outbound::frame(&chunk(0, "x", false)).in_chain("a"));
    kill_all_and_calm(&mut room);
    let end = DynamicFrame::new("dev", "end", "infer").unwrap();
    room.say(0, &Outbound::message(&end).in_chain("a"));
    kill_all_and_calm(&mut room);
    // The host refuses the end, so the stream stays open for the member, even after the kills.
    let expected = [("a".to_owned(), "x".to_owned(), None)];
    assert_eq!(heard(&room.members[1].inbox), expected);
}
