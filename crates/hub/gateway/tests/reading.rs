//! Tests that the model can read what left its list, and that the client sees one answer.

use accp_gateway::{By, Config, Policy, Report};
use serde_json::{Value as Json, json};

use crate::client::{APIS, Answer, Api, calls, page, reads, says};
use crate::conversation::Bench;
use crate::upstream::{Block, Mood};

/// Starts a gateway whose window is so small that results lose their middles.
async fn bench(policy: Policy) -> Bench {
    let config = Config {
        policy,
        window: Some(6_000),
        ..Config::default()
    };
    Bench::with(config).await
}

async fn ask(bench: &Bench, api: Api, list: &[Json], is_stream: bool) -> Answer {
    let body = api.body(list, is_stream).to_string();
    let answer = bench.post(api.path(), "k1", body).await;
    let status = answer.status();
    let bytes = answer.bytes().await.unwrap();
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
    let answer = api.read(&bytes, is_stream);
    assert_eq!(
        bench.upstream.refusals(),
        0,
        "{:?}",
        bench.upstream.last().refused
    );
    answer
}

/// Returns the lists of the requests that the provider got so far.
fn sent(bench: &Bench, api: Api) -> Vec<Vec<Json>> {
    let got = bench.upstream.got();
    let lists = got.iter().map(|got| got.json()[api.key()].clone());
    lists.map(|list| list.as_array().unwrap().clone()).collect()
}

/// Returns a list as text, so that a test can look for texts of results.
fn results(list: &[Json]) -> String {
    json!(list).to_string()
}

#[tokio::test]
async fn the_model_reads_what_has_left_and_the_client_sees_one_answer() {
    for (api, is_stream) in APIS.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let case = format!("{api:?}, stream {is_stream}");
        let mut bench = bench(Policy::Save).await;
        let mut list = api.list(6);
        bench.upstream.says([
            vec![says("I look again."), reads("c0", 20, 22)],
            vec![reads("c1", 30, 30), reads("c9", 1, 2)],
            vec![says("Guest 19 asks."), calls("d1")],
        ]);
        let answer = ask(&bench, api, &list, is_stream).await;
        let seam = if api == Api::Chat { "\n\n" } else { "|" };
        assert_eq!(
            answer.text,
            format!("I look again.{seam}Guest 19 asks."),
            "{case}"
        );
        assert_eq!(answer.calls, ["d1"], "{case}");
        let lists = sent(&bench, api);
        assert_eq!(lists.len(), 3, "{case}");
        for pair in lists.windows(2) {
            assert!(
                pair[1].starts_with(&pair[0]),
                "each turn goes on with the list: {case}"
            );
        }
        let told = results(&lists[2]);
        let lines: Vec<String> = page(0)
            .lines()
            .skip(19)
            .take(3)
            .map(str::to_owned)
            .collect();
        assert!(told.contains(&lines.join("\\n")), "{case}: {told}");
        assert!(told.contains("no lines 1 to 2 of \\\"c9\\\""), "{case}");
        let billed: Vec<_> = bench
            .upstream
            .got()
            .iter()
            .map(|got| got.billed.unwrap())
            .collect();
        let output: u64 = billed.iter().map(|billed| billed.output).sum();
        assert_eq!(answer.output, output, "{case}");
        let of = |billed: &crate::upstream::Billed| {
            if api == Api::Messages {
                billed.input
            } else {
                billed.prompt()
            }
        };
        assert_eq!(answer.input, billed.iter().map(of).sum::<u64>(), "{case}");
        // For the provider, the next list continues the last one, also after a restart of the gateway.
        bench.restart().await;
        list.extend(answer.items);
        list.push(api.result("d1", "nobody"));
        bench.upstream.says([vec![says("Then it is free.")]]);
        let answer = ask(&bench, api, &list, is_stream).await;
        assert_eq!(
            (&*answer.text, answer.calls.len()),
            ("Then it is free.", 0),
            "{case}"
        );
        let now = sent(&bench, api).pop().unwrap();
        assert!(now.starts_with(&lists[2]), "{case}");
        let text = results(&now[lists[2].len()..]);
        assert!(
            text.contains("Guest 19 asks.") && !text.contains("I look again."),
            "{case}: {text}"
        );
        // The ledger has both turns of the first request in one row.
        let ledger = bench.stop().await;
        let report = Report::of(&ledger, By::Session).unwrap().to_text();
        assert!(
            report.contains("what had left its list in 2 turns."),
            "{report}"
        );
        let told = report.contains("  forced: ") && !report.contains("messages before 0");
        assert!(told, "{report}");
        let entries = ledger.entries(None).unwrap();
        let turns: Vec<_> = entries
            .iter()
            .map(|entry| (&*entry.policy, entry.turns))
            .collect();
        assert_eq!(turns, [("save", 2), ("save", 0)], "{case}");
        assert_eq!(entries[0].usage.unwrap().output, output, "{case}");
        assert!(
            entries[0].note.as_ref().unwrap().starts_with("forced: "),
            "{entries:?}"
        );
    }
}

#[tokio::test]
async fn lines_that_are_asked_for_come_whole_and_the_next_ones_are_named() {
    for api in APIS {
        let bench = bench(Policy::Save).await;
        let mut list = api.list(6);
        bench.upstream.says([
            vec![reads("c0", 1, 120), reads("c1", 1, 120)],
            vec![says("More.")],
        ]);
        let answer = ask(&bench, api, &list, false).await;
        let lists = sent(&bench, api);
        // Both calls share the bound of a turn, so each gets a part of its lines.
        let first = results(&lists[1][lists[0].len()..]);
        let (_, next) = first.split_once("memory_read(\\\"c0\\\", ").unwrap();
        let (next, end) = next.split_once(", ").unwrap();
        assert!(
            end.starts_with("120) shows the next ones]"),
            "{api:?}: {first}"
        );
        assert!(!first.contains("left out"), "{api:?}: {first}");
        list.extend(answer.items);
        list.push(json!({"role": "user", "content": "And the rest?"}));
        let next = next.parse().unwrap();
        bench
            .upstream
            .says([vec![reads("c0", next, 120)], vec![says("All.")]]);
        ask(&bench, api, &list, false).await;
        let lists = sent(&bench, api);
        let second = results(&lists[3][lists[2].len()..]);
        assert!(!second.contains("shows the next ones"), "{api:?}: {second}");
        for (at, line) in (1..).zip(page(0).lines()) {
            let shown = if at < next { &first } else { &second };
            assert!(shown.contains(line), "{api:?}, line {at}: {shown}");
        }
    }
}

#[tokio::test]
async fn a_call_beside_those_of_the_client_waits_for_theirs() {
    for (api, is_stream) in APIS.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let case = format!("{api:?}, stream {is_stream}");
        let mut bench = bench(Policy::Save).await;
        let mut list = api.list(6);
        bench.upstream.says([
            vec![reads("c2", 50, 51)],
            vec![says("Both."), calls("d1"), reads("c0", 20, 20), calls("d2")],
        ]);
        let answer = ask(&bench, api, &list, is_stream).await;
        assert_eq!(answer.calls, ["d1", "d2"], "{case}");
        assert!(
            answer.stop.starts_with("tool") || answer.stop == "completed",
            "{case}"
        );
        let before = sent(&bench, api).pop().unwrap();
        bench.restart().await;
        list.extend(answer.items);
        if api == Api::Messages {
            let results = ["d1", "d2"]
                .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "none"}));
            list.push(json!({"role": "user", "content": results}));
        } else {
            list.extend(["d1", "d2"].map(|id| api.result(id, "none")));
        }
        let answer = ask(&bench, api, &list, is_stream).await;
        assert_eq!(answer.calls.len(), 0, "{case}");
        let now = sent(&bench, api).pop().unwrap();
        assert!(now.starts_with(&before), "{case}");
        let new = results(&now[before.len()..]);
        let line = page(0).lines().nth(19).unwrap().to_owned();
        assert!(
            new.contains("toolu_c0_20") && new.contains(&line),
            "{case}: {new}"
        );
        assert_eq!(sent(&bench, api).len(), 3, "{case}");
        drop(bench.stop().await);
    }
}

#[tokio::test]
async fn thoughts_stay_bound_to_what_the_client_does_not_see() {
    for (api, is_stream) in [Api::Messages, Api::Responses]
        .into_iter()
        .flat_map(|api| [(api, false), (api, true)])
    {
        let mut bench = bench(Policy::Window).await;
        let mut list = api.list(6);
        // The model has its first thought after the list got shorter.
        let think = |text: &str| Block::Thinking(text.into());
        bench.upstream.says([
            vec![think("It was earlier."), reads("c0", 20, 22)],
            vec![
                think("There it is."),
                says("I ask."),
                calls("d1"),
                reads("c1", 3, 3),
            ],
            vec![think("Once more."), reads("c0", 40, 41)],
            vec![think("Enough."), says("It is free.")],
        ]);
        let answer = ask(&bench, api, &list, is_stream).await;
        bench.restart().await;
        list.extend(answer.items);
        list.push(api.result("d1", &page(9)));
        let answer = ask(&bench, api, &list, is_stream).await;
        bench.restart().await;
        list.extend(answer.items);
        list.push(json!({"role": "user", "content": "And on day 3?"}));
        ask(&bench, api, &list, is_stream).await;
        let lists = sent(&bench, api);
        assert_eq!(lists.len(), 5);
        for pair in lists.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "a bound list only grows");
        }
        drop(bench.stop().await);
    }
}

#[tokio::test]
async fn readings_are_bounded_and_their_end_is_an_end() {
    for (api, is_stream) in APIS.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let bench = bench(Policy::Save).await;
        let turn = |n: u64| vec![says(&format!("Look {n}.")), reads("c0", 20 + n, 20 + n)];
        bench.upstream.says((0..9).map(turn));
        let answer = ask(&bench, api, &api.list(6), is_stream).await;
        assert!(
            answer.calls.is_empty() && answer.text.contains("Look 3."),
            "{answer:?}"
        );
        assert!(
            matches!(&*answer.stop, "end_turn" | "stop" | "completed"),
            "{answer:?}"
        );
        let lists = sent(&bench, api);
        assert_eq!(lists.len(), 4);
        assert!(results(&lists[3]).contains("the last lines of this turn"));
        assert!(!results(&lists[2]).contains("the last lines of this turn"));
    }
}

#[tokio::test]
async fn an_answer_by_a_schema_has_the_last_turn_alone() {
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": {}}});
    for (api, is_stream) in APIS.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let bench = bench(Policy::Save).await;
        bench.upstream.says([
            vec![says("{\"wait\":1}"), reads("c0", 20, 20)],
            vec![says("{\"guest\":19}")],
            vec![says("{}")],
        ]);
        let mut list = api.list(6);
        let body = |list: &[Json]| {
            let mut body = api.body(list, is_stream);
            match api {
                Api::Messages => body["output_config"] = json!({"format": format}),
                Api::Chat => body["response_format"] = format.clone(),
                Api::Responses => body["text"] = json!({"format": format}),
            }
            body.to_string()
        };
        let answer = bench.post(api.path(), "k1", body(&list)).await;
        let answer = api.read(&answer.bytes().await.unwrap(), is_stream);
        assert_eq!(answer.text, "{\"guest\":19}", "{api:?} {is_stream}");
        list.extend(answer.items);
        list.push(json!({"role": "user", "content": "And now?"}));
        let answer = bench.post(api.path(), "k1", body(&list)).await;
        assert_eq!(answer.status(), 200);
        let lists = sent(&bench, api);
        assert!(lists[2].starts_with(&lists[1]), "{api:?} {is_stream}");
    }
}

#[tokio::test]
async fn a_later_turn_that_fails_is_told_in_the_provider_s_words() {
    for api in APIS {
        let mut bench = bench(Policy::Save).await;
        let list = api.list(6);
        let turn = || vec![says("I look."), reads("c0", 20, 20)];
        bench.upstream.says([turn(), turn(), turn()]);
        bench.upstream.is_first([Mood::Well, Mood::Busy]);
        let body = api.body(&list, false).to_string();
        let answer = bench.post(api.path(), "k1", body).await;
        assert_eq!(answer.status(), 429, "{api:?}");
        assert_eq!(answer.headers()["retry-after"], "7");
        assert!(answer.text().await.unwrap().contains("slow down"));
        bench.upstream.is_first([Mood::Well, Mood::Busy]);
        let body = api.body(&list, true).to_string();
        let answer = bench.post(api.path(), "k1", body.clone()).await;
        let text = answer.text().await.unwrap();
        let end = text.trim_end().rsplit("data: ").next().unwrap();
        assert!(
            text.contains("I look.") && end.contains("slow down"),
            "{api:?}: {text}"
        );
        bench.upstream.is_first([Mood::Well, Mood::Breaks]);
        bench.upstream.goes_on.notify_one();
        let answer = bench.post(api.path(), "k1", body).await;
        // The provider's connection breaks before the head of the answer, or after it.
        let answer = answer.bytes().await;
        let is_told = answer.as_ref().is_ok_and(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            let end = text.trim_end().rsplit("data: ").next().unwrap().to_owned();
            end.contains("connection closed")
        });
        assert!(
            is_told || answer.is_err(),
            "what breaks off never reads as an end: {api:?}"
        );
        assert_eq!(bench.upstream.got().len(), 6, "none is sent twice");
        let entries = bench.stop().await.entries(None).unwrap();
        let kinds: Vec<_> = entries
            .iter()
            .map(|entry| (entry.status, entry.whole))
            .collect();
        assert_eq!(kinds, [(429, true), (429, false), (200, false)], "{api:?}");
    }
}

#[tokio::test]
async fn a_later_turn_that_is_refused_sends_the_original_once() {
    let mut bench = bench(Policy::Save).await;
    let list = Api::Messages.list(6);
    let body = Api::Messages.body(&list, false).to_string();
    bench
        .upstream
        .says([vec![reads("c0", 20, 20)], vec![says("It is free.")]]);
    bench.upstream.is_first([Mood::Well, Mood::Refuses(0)]);
    let answer = bench.post("/v1/messages", "k1", body.clone()).await;
    assert_eq!(answer.status(), 200);
    assert!(answer.text().await.unwrap().contains("It is free."));
    assert_eq!(bench.upstream.got().len(), 3);
    assert_eq!(bench.upstream.last().body, body);
    let entries = bench.stop().await.entries(None).unwrap();
    assert!(entries[0].repeated);
}

#[tokio::test]
async fn what_the_gateway_cannot_answer_leaves_lists_as_append_does() {
    for (api, change, why) in [
        (Api::Messages, "/tools/0/name", "tool of its own"),
        (Api::Chat, "/tools/0/function/name", "tool of its own"),
        (Api::Responses, "/store", "stores the answer"),
    ] {
        let mut bench = bench(Policy::Save).await;
        let mut body = api.body(&api.list(6), false);
        *body.pointer_mut(change).unwrap() = if change == "/store" {
            json!(true)
        } else {
            json!("memory_read")
        };
        let body = body.to_string();
        let answer = bench.post(api.path(), "k1", body.clone()).await;
        answer.bytes().await.unwrap();
        assert_eq!(
            bench.upstream.last().body,
            body,
            "these results have no other form"
        );
        let entries = bench.stop().await.entries(None).unwrap();
        assert_eq!(entries[0].policy, "append");
        assert!(
            entries[0].note.as_ref().unwrap().contains(why),
            "{entries:?}"
        );
    }
}

#[tokio::test]
async fn nobody_reads_the_results_of_another_key() {
    let bench = bench(Policy::Save).await;
    ask(&bench, Api::Chat, &Api::Chat.list(6), false).await;
    // Another client has a list of its own, in which the name `c0` means another result.
    let mut list = Api::Chat.list(0);
    (6..12).for_each(|call| list.extend(Api::Chat.called(&format!("c{}", call - 6), &page(call))));
    bench.upstream.says([vec![reads("c0", 20, 20)]]);
    let body = Api::Chat.body(&list, false).to_string();
    bench
        .post("/v1/chat/completions", "k2", body)
        .await
        .bytes()
        .await
        .unwrap();
    let text = results(&sent(&bench, Api::Chat).pop().unwrap());
    assert!(
        text.contains("guest 6019 asks") && !text.contains("guest 19 asks"),
        "{text}"
    );
}

#[tokio::test]
async fn what_leaves_is_told_before_it_leaves() {
    let mut bench = bench(Policy::Window).await;
    let url = bench.url("/accp/v1/gateway/events");
    let mut events = bench.client.get(url).send().await.unwrap();
    ask(&bench, Api::Messages, &Api::Messages.list(9), false).await;
    let event = events.chunk().await.unwrap().unwrap();
    let event = std::str::from_utf8(&event).unwrap();
    let json: Json = serde_json::from_str(event.split_once("data: ").unwrap().1).unwrap();
    assert!(json["left"].as_u64() > Some(0), "{event}");
    let list = sent(&bench, Api::Messages).pop().unwrap();
    let head = list[0]["content"].to_string();
    assert!(head.contains("left out; memory_read("), "{head}");
    drop(events);
    let entries = bench.stop().await.entries(None).unwrap();
    assert_eq!(entries[0].note.as_deref(), json["what"].as_str());
    assert!(entries[0].sent < entries[0].given);
}

#[tokio::test]
async fn messages_that_left_are_read_and_the_rest_keeps_its_bytes() {
    for api in APIS {
        let bench = bench(Policy::Window).await;
        bench.upstream.says([vec![Block::Call {
            id: "toolu_m".into(),
            name: "memory_read".into(),
            input: json!({"result": "message 2", "from": 20, "to": 21}),
        }]]);
        let list = api.list(9);
        ask(&bench, api, &list, false).await;
        let lists = sent(&bench, api);
        let line = page(0).lines().nth(19).unwrap().to_owned();
        assert!(results(&lists[1]).contains(&line), "{api:?}");
        assert_eq!(lists[0].last(), list.last(), "{api:?}");
        assert!(lists[0].len() < list.len(), "{api:?}");
    }
}

#[tokio::test]
async fn a_session_that_is_dearer_than_its_twin_goes_back_to_plain_when_its_cache_is_cold() {
    let mut bench = bench(Policy::Save).await;
    let mut list = Api::Messages.list(6);
    ask(&bench, Api::Messages, &list, false).await;
    drop(bench.stop().await);
    let file = rusqlite::Connection::open(bench.ledger_file()).unwrap();
    file.execute_batch("UPDATE request SET cost = plain + 1e6")
        .unwrap();
    bench.go().await;
    list.extend(Api::Messages.called("c6", &page(6)));
    let body = Api::Messages.body(&list, false).to_string();
    // The cache is warm, so what was sent stays as it was sent.
    ask(&bench, Api::Messages, &list, false).await;
    assert_ne!(bench.upstream.last().body, body);
    drop(bench.stop().await);
    file.execute_batch("UPDATE branch SET last = 0; UPDATE piece SET last = 0")
        .unwrap();
    bench.go().await;
    for _ in 0..2 {
        ask(&bench, Api::Messages, &list, false).await;
        assert_eq!(bench.upstream.last().body, body);
    }
    let entries = bench.stop().await.entries(None).unwrap();
    let policies: Vec<_> = entries.iter().map(|entry| &*entry.policy).collect();
    assert_eq!(policies, ["save", "save", "plain", "plain"]);
    let note = entries[2].note.as_ref().unwrap();
    assert!(
        note.ends_with("plain again") && entries[3].note.is_none(),
        "{note}"
    );
}
