use std::borrow::Cow;

use accp_context::view::View;
use accp_memory::policy::{Agent, NamedPolicy, Policy};
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use super::*;
use crate::policies::plan;
use crate::{Evaluation, Measure, Transcripts};

const TASK: &str = "Count the sacks of rye in hall 7,\n  and tell me when there are under 40.";

/// A task, and eight calls with their results.
fn transcripts() -> Transcripts {
    let mut messages = vec![
        json!({ "role": "system", "content": "You keep the store." }),
        json!({ "role": "user", "content": TASK }),
    ];
    for hall in 0..8 {
        let id = format!("c{hall}");
        let call = json!({ "id": id, "name": "count", "arguments": { "shelf": hall } });
        let sacks = format!("Shelf {hall} has {} sacks of rye.", 3 * hall + 5).repeat(4);
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": sacks }));
    }
    messages.push(json!({ "role": "assistant", "content": "There are 124." }));
    let mut transcripts = Transcripts::default();
    let conversation = json!({ "id": "store", "messages": messages });
    transcripts.add(conversation, None, None).unwrap();
    transcripts
}

/// Refuses lists in which a result does not follow a call.
fn refuses(_: &str, prompt: &[&Segment]) -> Option<bool> {
    let json = prompt
        .iter()
        .map(|segment| serde_json::from_str(&segment.text).ok());
    let list = json.collect::<Option<Vec<Json>>>()?;
    let is_broken =
        |at: usize| list[at]["role"] == "tool" && (at == 0 || list[at - 1]["tool_calls"].is_null());
    (!list.is_empty()).then(|| (0..list.len()).any(is_broken))
}

fn measures(plans: &[&str], window: u64) -> Vec<Measure> {
    let nothing = NamedPolicy::new("nothing", "nothing", |_| Shows(|_| false, Vec::new()));
    let is_no_call = |message: &Message| message.kind != Kind::Call;
    let halves = NamedPolicy::new("halves", "results without calls", move |_| {
        Shows(is_no_call, Vec::new())
    });
    let plans = plans.iter().map(|name| plan(name).unwrap());
    let plans = plans.chain([nothing, halves]).collect();
    let view = View::new(accp_registry::Registry::standard().into());
    let inside = (window > 0).then_some(Inside { window, refuses });
    let evaluation = Evaluation::new(plans, view, Bpe::o200k_base()).inside(inside);
    let corpus = evaluation.measure("store", &transcripts()).unwrap();
    corpus.rows.into_iter().map(|row| row.measure).collect()
}

/// Shows some messages, and cannot recover any of them.
struct Shows(fn(&Message) -> bool, Vec<Message>);

impl Policy for Shows {
    fn push(&mut self, message: &Message) {
        self.1.push(message.clone());
    }
    fn prompt(&mut self, _: &Agent) -> Vec<Segment> {
        let shown = self.1.iter().filter(|message| self.0(message));
        shown.map(Segment::of).collect()
    }
    fn recover(&self, _: usize) -> Option<Cow<'_, str>> {
        None
    }
}

fn counts(recall: Recall) -> (u64, u64) {
    (recall.found, recall.wanted)
}

/// Each kind of bad policy has its own figure: policies that forget, that break their list, and that outgrow the
/// window.
#[test]
fn each_fault_has_its_figure() {
    let all = measures(&["json", "plain", "last:1", "last:2", "bag"], 400);
    let [json, plain, last1, last2, bag, nothing, halves] = &all[..] else {
        panic!("{}", all.len())
    };
    let sizes = &json.net.prompts;
    let over = sizes.iter().filter(|tokens| **tokens > 400).count() as u64;
    assert!(over > 0 && over < 9, "{sizes:?}");
    assert_eq!(counts(json.lists.over), (over, 9));
    assert_eq!(counts(json.lists.refused), (0, 9));
    assert_eq!(counts(json.lists.intent), (9, 9));
    assert_eq!(counts(json.bytes).0, counts(json.bytes).1);
    // The prompts of `plain` are not JSON, so they are not lists. Their text still has the task.
    assert_eq!(
        (counts(plain.lists.refused), counts(plain.lists.intent)),
        ((0, 0), (9, 9))
    );
    // Short lists are valid, but they lack the task.
    for last in [last1, last2] {
        let Lists {
            over,
            refused,
            intent,
        } = last.lists;
        assert_eq!(
            [over, refused, intent].map(counts),
            [(0, 9), (0, 9), (1, 9)]
        );
    }
    // The lists of `halves` have results without their calls.
    assert_eq!(counts(halves.lists.refused), (8, 9));
    assert_eq!(counts(halves.lists.intent), (9, 9));
    // The lists of `bag` have all identifiers and the newest two messages.
    assert_eq!(
        (counts(bag.lists.refused), counts(bag.lists.intent)),
        ((0, 0), (1, 9))
    );
    assert_eq!(
        (counts(nothing.lists.over), counts(nothing.lists.intent)),
        ((0, 9), (0, 9))
    );
    assert_eq!(counts(nothing.bytes).0, 0);
}

/// A quotation of the whole message counts, and a quotation of half of it does not.
#[test]
fn an_intent_may_be_quoted() {
    let transcripts = transcripts();
    let intent = Intent::of(&transcripts.as_slice()[0]);
    let stands = |shown: &str| intent.stands(2, |text| collapse(shown).contains(text));
    let quotation = "> Count the sacks of rye in hall 7,\n>   and tell me when there are under 40.";
    assert_eq!(stands(quotation), Some(true));
    assert_eq!(stands(&quotation.replace("\n>", "\n")), Some(true));
    assert_eq!(stands(quotation.split('\n').next().unwrap()), Some(false));
    assert_eq!(
        stands("Count the sacks of rye in hall 7, and tell me."),
        Some(false)
    );
    assert_eq!(intent.stands(1, |_| true), None);
}

/// A prompt of exactly the window is inside it.
#[test]
fn the_window_itself_is_not_over() {
    let sizes = &measures(&["json"], 1)[0].net.prompts.clone();
    let most = *sizes.iter().max().unwrap();
    let over = |window| measures(&["json"], window)[0].lists.over.found;
    assert_eq!((over(1), over(most - 1), over(most)), (9, 1, 0));
}

#[test]
fn without_a_window_nothing_is_counted() {
    assert_eq!(measures(&["json"], 0)[0].lists, Lists::default());
}
