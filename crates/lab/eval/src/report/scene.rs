//! A conversation for the page: its messages, the prompts of each policy, and the fates of needs.

use std::collections::HashMap;
use std::sync::Arc;

use accp_memory::policy::{Kind, Segment};
use serde_json::{Value as Json, json};

use crate::net::Analysis;
use crate::replay::{Kept, Replay};
use crate::transcript::Transcript;

/// Returns the scene of a conversation as JSON. `viewer.js` reads it:
///
/// - `messages`: for each, its kind, its speaker, its text and the names of the tools that it calls.
/// - `texts`: the texts of segments, each once.
/// - `turns`: for each, the index of its message, its agent, its needs (class, text, source, the
///   place of the text in the source, whether the need is real), and the prompt of each policy.
/// - A prompt: its tokens, a letter for the fate of each need, how many of its first segments are the same as in
///   the policy's prompt for the turn before, and its other segments (text, kind, message).
pub(crate) fn scene(
    corpus: &str,
    transcript: &Transcript,
    analysis: &Analysis,
    policies: &[(&str, &Option<Replay>)],
) -> Json {
    let messages = transcript.messages.iter().zip(&analysis.message_texts);
    let messages = messages.map(|(message, said)| {
        let recorded = message.recorded();
        let calls: Vec<&str> = recorded
            .calls()
            .filter_map(accp_context::Call::tool)
            .collect();
        json!([
            message.kind.name(),
            recorded.name().or(recorded.role()),
            said.raw.trim_end(),
            calls.join(", ")
        ])
    });
    let mut texts = Texts::default();
    let prompts = policies.iter().map(|(_, replay)| match replay {
        Some(Replay {
            kept: Some(kept),
            turns,
            ..
        }) => prompts(&mut texts, analysis, kept, turns),
        _ => Vec::new(),
    });
    let mut prompts: Vec<_> = prompts.map(Vec::into_iter).collect();
    let turns = analysis.turns.iter().map(|(turn, at)| {
        let unseen = at.new.iter();
        let unseen = unseen.map(|source| json!(["sight", "", source, 0, 0, true]));
        let needs = at.needs.iter().map(|need| {
            let raw = &analysis.message_texts[need.source].raw;
            let [start, end] = [need.place.start, need.place.end]
                .map(|at| raw.get(..at).unwrap_or(raw).encode_utf16().count());
            let text = analysis.matcher.text(need.needle);
            json!([
                need.class.name(),
                text,
                need.source,
                start,
                end,
                need.is_real
            ])
        });
        json!({
            "turn": turn,
            "agent": &*at.agent,
            "needs": unseen.chain(needs).collect::<Vec<_>>(),
            "prompts": prompts.iter_mut().map(Iterator::next).collect::<Vec<_>>(),
        })
    });
    let turns: Vec<Json> = turns.collect();
    json!({
        "corpus": corpus,
        "conversation": transcript.id,
        "policies": policies.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "kinds": Kind::ALL.map(Kind::name),
        "messages": messages.collect::<Vec<_>>(),
        "turns": turns,
        "texts": texts.list,
    })
}

/// Texts of segments, each once.
#[derive(Default)]
struct Texts {
    list: Vec<Json>,
    numbers: HashMap<Arc<str>, usize>,
}

impl Texts {
    fn number(&mut self, text: &Arc<str>) -> usize {
        *self.numbers.entry(Arc::clone(text)).or_insert_with(|| {
            self.list.push(Json::from(&**text));
            self.list.len() - 1
        })
    }
}

/// Returns the prompts of a policy, one for each turn.
fn prompts(texts: &mut Texts, analysis: &Analysis, kept: &Kept, tokens: &[u64]) -> Vec<Json> {
    let mut outcomes = kept.outcomes.iter();
    let mut before: &[Segment] = &[];
    let prompts = kept.prompts.iter().zip(tokens).map(|(prompt, tokens)| {
        let at = analysis.turns.get(&prompt.turn);
        let needs = at.map_or(0, |at| at.new.len() + at.needs.len());
        let fates = outcomes.by_ref().take(needs);
        let fates: String = fates.map(|outcome| &outcome.fate[..1]).collect();
        let same = before.iter().zip(&prompt.segments);
        let same = same.take_while(|(old, new)| is_same(old, new)).count();
        let new = prompt.segments[same..].iter().map(|segment| {
            json!([
                texts.number(&segment.text),
                segment.kind as usize,
                segment.message
            ])
        });
        let new: Vec<Json> = new.collect();
        before = &prompt.segments;
        json!([tokens, fates, same, new])
    });
    prompts.collect()
}

fn is_same(old: &Segment, new: &Segment) -> bool {
    (old.kind, old.message) == (new.kind, new.message) && old.text == new.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::plan;
    use crate::replay::Instrument;
    use crate::transcript::Transcripts;
    use accp_context::view::View;
    use accp_registry::Registry;
    use accp_tokens::Bpe;

    #[test]
    fn a_scene_tells_each_prompt_and_the_fate_of_each_need() {
        let call = |name: &str, arguments: &str| {
            json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": "c", "function": { "name": name, "arguments": arguments } }] })
        };
        let text = format!(
            "é😀 is held for Mrs Okonjo-Berg{}",
            " until noon".repeat(99)
        );
        let conversation = json!({ "id": "é", "messages": [
            { "role": "user", "content": "Is slot K17 free, please?" },
            call("look", "{\"slot\":\"K17\"}"),
            { "role": "tool", "name": "look", "content": text },
            call("ask", "{\"who\":\"Okonjo-Berg\"}"),
        ] });
        let mut transcripts = Transcripts::default();
        transcripts.add(conversation, None, None).unwrap();
        let transcript = &transcripts.as_slice()[0];
        let view = View::new(Arc::new(Registry::standard()));
        let prices = crate::Prices::default();
        let mut instrument = Instrument::new(transcript, view, Bpe::default(), prices, true);
        let replays = ["json", "cut:0"].map(|name| {
            let mut policy = plan(name).unwrap().start(instrument.opening());
            (name, Some(instrument.replay(&mut *policy)))
        });
        let replays = replays.iter().map(|(name, replay)| (*name, replay));
        let named: Vec<_> = replays.chain([("file:none", &None)]).collect();
        let scene = scene("test", transcript, &instrument.analysis, &named);
        assert_eq!(scene["policies"], json!(["json", "cut:0", "file:none"]));
        assert_eq!(scene["messages"][1][3], "look");
        assert_eq!(scene["messages"][2], json!(["result", "look", text, ""]));
        let turn = &scene["turns"][1];
        // The place is counted in UTF-16 units, as in JavaScript: é is one unit, and the emoji is
        // two.
        let sight = |source: usize| json!(["sight", "", source, 0, 0, true]);
        let need = json!(["argument", "Okonjo-Berg", 2, 20, 31, true]);
        assert_eq!(turn["needs"], json!([sight(2), need]));
        let [whole, cut, none] = [0, 1, 2].map(|policy| &turn["prompts"][policy]);
        assert_eq!((&whole[1], &whole[2]), (&json!("ss"), &json!(1)));
        let [message, result] = [&whole[3][0], &whole[3][1]];
        assert_eq!((&message[2], &result[2]), (&json!(1), &json!(2)));
        let shown = &scene["texts"][result[0].as_u64().unwrap() as usize];
        assert!(shown.as_str().unwrap().contains(&text));
        assert_ne!(cut[1], json!("ss"));
        assert_eq!(none, &Json::Null);
    }
}
