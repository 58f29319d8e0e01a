//! Property tests of summaries over any conversation.

use accp_tokens::TokenCounter;
use proptest::prelude::*;

use super::*;

/// Counts words and punctuation. It is quick, and like tokens, its counts do not add up exactly.
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> usize {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .count()
            + text
                .chars()
                .filter(|c| !c.is_alphanumeric() && !c.is_whitespace())
                .count()
                / 2
    }
}

fn sentence() -> impl Strategy<Value = String> {
    let told = prop_oneof![
        "[a-z]{2,6} must never [a-z]{2,6}",
        "The budget is at most [0-9]{2,4} [a-z]{3}",
        "I'll use [a-z]{3,6} because [a-z]{2,6} is [a-z]{3,5}",
        "Let's go with [a-z]{3,6}",
        "I will [a-z]{2,6} the [a-z]{2,6}",
        "[ -~\u{e9}\u{4e2d}\n|>#`]{0,60}",
        "\\PC{0,30}",
    ];
    (
        told,
        prop_oneof![Just(". "), Just("? "), Just("\n"), Just("!\n\n")],
    )
        .prop_map(|(text, end)| text + end)
}

fn message() -> impl Strategy<Value = (u8, String, bool)> {
    let text = prop::collection::vec(sentence(), 0..5).prop_map(|all| all.concat());
    (0..6_u8, text, prop::bool::weighted(0.08))
}

fn talk(messages: &[(u8, String, bool)]) -> Talk {
    let mut talk = Talk::default();
    for (kind, text, marked) in messages {
        talk = match kind {
            0 | 1 => talk.user(text),
            2 | 3 => talk.assistant(text),
            4 => talk.call(
                "write_file",
                json!({ "path": text, "content": text }),
                Some("File written"),
            ),
            _ => talk.call(
                "find",
                json!({ "code": text }),
                Some(&json!({ "code": text, "n": 3 }).to_string()),
            ),
        };
        if *marked {
            talk = talk.mark();
        }
    }
    talk
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_summary_keeps_its_room_its_form_and_what_is_marked(
        messages in prop::collection::vec(message(), 0..20),
        total in 60..900_usize,
    ) {
        let content = talk(&messages).content();
        let room = Room { total, usual: total / 2, intent: total * 5 / 8, words: total, good: total, most: total };
        match content.write(&head(), room, &Words) {
            Ok(summary) => {
                prop_assert!(Words.count(&summary) <= total);
                let mut rest = &*summary;
                for heading in SECTIONS {
                    let at = rest.find(&format!("\n{heading}\n"));
                    prop_assert!(at.is_some(), "{heading} in {summary}");
                    rest = &rest[at.unwrap() + 1..];
                }
                let bare = |text: &str| -> String {
                    text.chars().filter(|c| !c.is_whitespace() && *c != '>').collect()
                };
                let shown = bare(&summary);
                for item in &content.marked {
                    prop_assert!(shown.contains(&bare(&item.text)), "{item:?} in {summary}");
                }
                let first = content.intent.first().map(|item| &item.text);
                if let Some(first) = first.filter(|_| !summary.contains("VERIFICATION_NEEDED")) {
                    prop_assert!(shown.contains(&bare(first)));
                }
                prop_assert_eq!(content.write(&head(), room, &Words), Ok(summary));
            }
            Err(refused) => {
                prop_assert_eq!(refused.marked, content.marked);
                prop_assert!(refused.needed > total);
            }
        }
    }

    #[test]
    fn a_longer_conversation_keeps_what_was_known(
        messages in prop::collection::vec(message(), 1..16),
        at: prop::sample::Index,
    ) {
        let mut messages = messages;
        messages.insert(0, (0, "Begin.".to_owned(), false));
        let all = talk(&messages);
        let end = at.index(all.0.len()) + 1;
        let before = Content::of(&all.0[..end], &BTreeSet::new(), &Writes::default());
        let after = all.content();
        let texts = |content: &Content| -> Vec<Item> { content.constraints.iter().map(|one| one.item.clone()).collect() };
        prop_assert_eq!(&texts(&after)[..before.constraints.len()], texts(&before));
        prop_assert_eq!(&after.decisions[..before.decisions.len()], before.decisions);
        prop_assert_eq!(&after.marked[..before.marked.len()], before.marked);
        prop_assert_eq!(&after.intent[..before.intent.len()], before.intent);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC*", code in "[\\s\\S]{0,200}") {
        let talk = Talk::default().user(&text).assistant(&code).user(&code);
        let _ = talk.content();
    }
}

#[test]
fn fifty_summaries_lose_nothing_that_matters() {
    let mut messages = vec![(0, "Sort the archive of the choir.".to_owned(), false)];
    let mut kept: Vec<String> = messages.iter().map(|message| message.1.clone()).collect();
    for round in 0..50 {
        let name = char::from(b'a' + (round % 26) as u8)
            .to_string()
            .repeat(4 + round / 26);
        if round % 5 == 0 {
            let told = [
                (0, format!("Folder {name} must stay locked.")),
                (2, format!("I'll use paper {name} because {name} lasts.")),
                (1, format!("The secret of {name} is safe.")),
            ];
            kept.extend(told.iter().map(|(_, text)| text.clone()));
            messages.extend(
                told.map(|(role, text)| (role, text.clone(), text.starts_with("The secret"))),
            );
        }
        messages.push((5, format!("{name}-{round}"), false));
        messages.push((
            2,
            format!("Let me look at {name} next. All is well with {name} so far."),
            false,
        ));
        messages.push((
            1,
            format!("Thanks, {name} looks good to me, so go on."),
            false,
        ));
        let room = Room {
            total: 900,
            usual: 450,
            intent: 500,
            words: 2_250,
            good: 2_500,
            most: 2_900,
        };
        let summary = talk(&messages)
            .content()
            .write(&head(), room, &Words)
            .unwrap();
        assert!(Words.count(&summary) <= 2_500);
        for text in &kept {
            assert!(summary.contains(text), "round {round}: {text} in {summary}");
        }
    }
}
