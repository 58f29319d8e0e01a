//! The figures of a conversation do not depend on the format of its recording.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use accp_eval::{BASE, Corpus, Evaluation, RivalError, Row, TranscriptError, Transcripts, plan};
use accp_recordings::{Conversation, Format};
use accp_registry::Registry;
use accp_runtime::view::View;
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

/// An agent that asks for the stock of many flours, and quotes the answers.
fn bakery() -> Conversation {
    let mut messages = vec![
        json!({ "role": "system", "content": "You keep the stock of a bakery in Sankt Gallen." }),
        json!({ "role": "user", "content": "Which flours are short? The order is FL-2026/17." }),
    ];
    for turn in 0..12 {
        let id = format!("c{turn}");
        let before = turn.max(1) - 1;
        let quote = format!(
            "Shelf B/{before} holds {} kilos of flour number {before}",
            40 - before
        );
        let arguments =
            json!({ "flour": turn, "shelf": format!("B/{turn}"), "order": "FL-2026/17" });
        let function = json!({ "name": "stock", "arguments": arguments.to_string() });
        let call = json!({ "id": id, "type": "function", "function": function });
        messages.push(json!({ "role": "assistant", "content": quote, "tool_calls": [call] }));
        let told = format!(
            "Shelf B/{turn} holds {} kilos of flour number {turn}.\nNo more.",
            40 - turn
        );
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": told }));
    }
    messages.push(json!({ "role": "assistant", "content": "None is short for FL-2026/17." }));
    Conversation::new(json!({ "id": "bakery/3", "messages": messages })).unwrap()
}

fn evaluation() -> Evaluation {
    let plans = [BASE, "plain", "views", "cut:0"].map(|name| plan(name).unwrap());
    let view = View::new(Arc::new(Registry::shared().clone()));
    Evaluation::new(plans.into(), view, Bpe::default())
}

fn measured(conversation: &Conversation) -> Corpus {
    let mut transcripts = Transcripts::default();
    transcripts
        .add_conversation(conversation, None, None)
        .unwrap();
    evaluation().measure("bakery", &transcripts).unwrap()
}

/// Returns the needs of a conversation and whether its prompts meet them, but no costs.
fn needs(row: &Row) -> Json {
    let (measure, net) = (&row.measure, &row.measure.net);
    json!({
        "policy": row.policy,
        "prompts": measure.prompts,
        "needs": net.hits.wanted,
        "seen": [net.seen.wanted, net.seen.found],
        "task": [net.remembered.task.wanted, net.remembered.task.found],
        "did": [net.remembered.did.wanted, net.remembered.did.found],
    })
}

#[test]
fn a_conversation_has_the_same_figures_in_each_format() {
    let recorded = bakery();
    let expected = measured(&recorded);
    assert!(
        expected.rows[0].measure.net.hits.wanted > 20,
        "{:?}",
        needs(&expected.rows[0])
    );
    for format in [
        Format::Anthropic,
        Format::Responses,
        Format::Gemini,
        Format::Otel,
    ] {
        let written = Conversation::new(recorded.written(format).unwrap()).unwrap();
        assert_eq!(written.format(), format);
        let found = measured(&written);
        for (row, expected) in found.rows.iter().zip(&expected.rows) {
            assert_eq!(needs(row), needs(expected), "{format}");
        }
        // The prompts of `plain` have no JSON, so they cost the same in each format. The base writes calls in
        // one form of JSON, so it costs the same, too. Only in Gemini's format a result has the name of its
        // tool, which costs more.
        let (plain, same) = (&found.rows[1], &expected.rows[1]);
        assert_eq!(plain.held[0].cost, same.held[0].cost, "{format}");
        let tokens = |corpus: &Corpus| corpus.rows[0].measure.spent.total() as f64;
        let differs = tokens(&found) / tokens(&expected);
        let most = if format == Format::Gemini { 1.1 } else { 1.0 };
        assert!((1.0..=most).contains(&differs), "{format}: {differs}");
    }
}

#[test]
fn batches_are_measured_like_the_whole() {
    let (evaluation, conversation) = (evaluation(), bakery());
    let (mut all, mut batch) = (Transcripts::default(), Transcripts::default());
    let mut corpus = evaluation.corpus("bakery");
    for _ in 0..3 {
        all.add_conversation(&conversation, None, None).unwrap();
        batch.add_conversation(&conversation, None, None).unwrap();
        assert!(batch.bytes() > 1000);
        let taken = batch.take();
        let nowhere = |_: &str| Ok::<(), RivalError>(());
        evaluation
            .measure_more(&mut corpus, &taken, false, nowhere)
            .unwrap();
        assert!(batch.bytes() == 0 && batch.as_slice().is_empty());
    }
    let whole = evaluation.measure("bakery", &all).unwrap();
    for (batches, whole) in corpus.rows.iter().zip(&whole.rows) {
        assert_eq!(needs(batches), needs(whole));
        assert_eq!(batches.held, whole.held, "with the same ids");
    }
    assert_eq!(batch.check(), Ok(()));
    assert_eq!(Transcripts::default().check(), Err(TranscriptError::None));
}
