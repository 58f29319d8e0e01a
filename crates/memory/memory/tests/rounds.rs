//! Many summaries in a row: the list always has the intent, marked messages, constraints and decisions. Otherwise an
//! error or the summary itself says where they are.

mod talk;

use std::path::Path;

use crate::common::forms::{assistant, call, result, user};
use crate::common::quarters::Quarters;
use accp_memory::disk::index::{Filter, Index};
use accp_memory::disk::{Compressed, Context, ContextError};
use accp_memory::{
    Form, Intent, MessageList, Options, PlanError, SessionId, Summarizer, SummaryRequest, Tier,
    Window, check,
};
use serde_json::{Value as Json, json};
use talk::{INTENT, Kind, Talk};
use tempfile::TempDir;
use time::OffsetDateTime;

/// Opens the session, as a process does that has just begun.
fn open(root: &Path) -> Context {
    let context = Context::open(root, SessionId::new("s").expect("an id"));
    context.expect("a session").with_work(root)
}

fn compress(root: &Path, list: &MessageList, window: &Window) -> Result<Compressed, ContextError> {
    compress_with(root, list, window, &())
}

fn compress_with(
    root: &Path,
    list: &MessageList,
    window: &Window,
    summarizer: &dyn Summarizer,
) -> Result<Compressed, ContextError> {
    let options = Options {
        summarizer,
        ..Options::new(window, &Quarters, OffsetDateTime::UNIX_EPOCH)
    };
    open(root).compress(list, &options, &mut ())
}

fn raws(list: &MessageList) -> Vec<String> {
    let messages = list.messages().iter();
    messages.map(|message| message.raw().to_owned()).collect()
}

fn texts(messages: &[Json]) -> Vec<String> {
    messages.iter().map(Json::to_string).collect()
}

/// Returns the only summary of a list, without the marks of quotations.
fn summary(list: &MessageList) -> String {
    let texts = list
        .messages()
        .iter()
        .filter_map(|message| message.json()["content"].as_str());
    let found: Vec<_> = texts
        .filter(|text| text.starts_with("## Session Summary\n"))
        .collect();
    assert_eq!(found.len(), 1, "{list}");
    let lines = found[0]
        .lines()
        .map(|line| line.trim_start().trim_start_matches("> "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Checks that the list has all planted texts: in the summary, or in the planted message itself if that has not left.
fn all_stand(list: &MessageList, talk: &Talk) {
    let (summary, there) = (summary(list), raws(list));
    for planted in &talk.planted {
        let stays = there.contains(&talk.messages[planted.message].to_string());
        assert!(
            stays || summary.contains(&planted.text),
            "{planted:?} is lost:\n{summary}"
        );
    }
}

/// Lets a conversation grow until it was summed up this many times, and checks it after each summary.
fn summed_up(
    form: Form,
    seed: u64,
    times: usize,
    seldom: u64,
    summarizer: &dyn Summarizer,
) -> (TempDir, Talk) {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path();
    let window = Window::of(8_000).expect("a window");
    let mut talk = Talk::begun(form, seed, INTENT, seldom);
    let (mut shown, mut said, mut count) = (Vec::new(), 0, 0);
    for turn in 0.. {
        let marked = talk.turn();
        // Every second time the caller gives the whole conversation, and otherwise the last list
        // with the new messages.
        let given = if (turn + seed) & 1 == 0 {
            texts(&talk.messages)
        } else {
            [&shown[..], &texts(&talk.messages[said..])].concat()
        };
        let done = compress_with(path, &talk.list(&given), &window, summarizer).expect("a list");
        said = talk.messages.len();
        shown = raws(&done.list);
        assert_eq!(check(&done.list), []);
        assert!(done.after <= window.room());
        if let Some(message) = marked {
            open(path)
                .mark(message, OffsetDateTime::UNIX_EPOCH)
                .expect("it is marked");
        }
        let events = done.events.iter().filter(|event| event.tier == Tier::Three);
        for event in events {
            assert_eq!(event.intent, Intent::Verbatim);
            count += 1;
            all_stand(&done.list, &talk);
        }
        disturb(path, turn);
        if count >= times && talk.is_done() {
            break;
        }
        assert!(turn < 1_000, "{count} summaries");
    }
    (root, talk)
}

/// Makes or removes the index, because nothing may depend on it.
fn disturb(root: &Path, turn: u64) {
    match turn % 9 {
        3 => drop(
            Index::open(root)
                .expect("an index")
                .update()
                .expect("files"),
        ),
        7 => without_index(root),
        _ => {}
    }
}

fn without_index(root: &Path) {
    for end in ["", "-wal", "-shm"] {
        let path = root.join(format!("cache/index.db{end}"));
        if path.exists() {
            std::fs::remove_file(path).expect("it is removed");
        }
    }
}

/// Checks that the conversation comes back from the files alone.
fn comes_back(root: &Path, talk: &Talk) {
    without_index(root);
    let context = open(root);
    let session = context.session().expect("it has begun");
    let restored = session.restored().expect("messages");
    let restored: Vec<_> = restored
        .messages()
        .iter()
        .map(|message| message.json().clone())
        .collect();
    assert_eq!(restored, talk.messages);
    let intent = talk
        .planted
        .iter()
        .filter(|planted| planted.kind == Kind::Intent);
    let intent: Vec<_> = intent.map(|planted| planted.text.clone()).collect();
    assert_eq!(session.intent(), intent);
    let marks: Vec<_> = session.marks().collect();
    let marked = talk
        .planted
        .iter()
        .filter(|planted| planted.kind == Kind::Marked);
    assert_eq!(
        marks,
        marked.map(|planted| planted.message).collect::<Vec<_>>()
    );
}

#[test]
fn ten_summaries_in_a_row_lose_nothing() {
    for (form, seed) in Form::ALL.into_iter().zip(1..) {
        let (root, talk) = summed_up(form, seed, 10, 1, &());
        comes_back(root.path(), &talk);
        let third = talk.messages.len() / 3;
        for kind in [Kind::Intent, Kind::Marked, Kind::Constraint, Kind::Decision] {
            let all = talk.planted.iter().filter(|planted| planted.kind == kind);
            let (early, late): (Vec<_>, Vec<_>) = all.partition(|planted| planted.message < third);
            assert!(
                !early.is_empty() && !late.is_empty(),
                "{kind:?} stands in one part only"
            );
        }
    }
}

/// A summarizer that drops the oldest decision, as a summary of a summary would. It could not drop words of the user:
/// a summary without them is refused.
struct Forgetful;

impl Summarizer for Forgetful {
    fn summarize(&self, wanted: &SummaryRequest<'_>) -> Option<String> {
        const SECTION: &str = "### Key Decisions\n";
        let (before, decisions) = wanted.rules.split_once(SECTION)?;
        let oldest = decisions.lines().next()?;
        let decisions = decisions.replacen(oldest, "1. Crates.", 1);
        Some(format!("{before}{SECTION}{decisions}"))
    }
}

#[test]
#[should_panic(expected = "is lost")]
fn a_summary_that_forgets_the_oldest_decision_is_seen() {
    summed_up(Form::OpenAi, 1, 10, 1, &Forgetful);
}

/// A summarizer that drops the last request of the user from the summary.
struct Deaf;

impl Summarizer for Deaf {
    fn summarize(&self, wanted: &SummaryRequest<'_>) -> Option<String> {
        let (before, rest) = wanted.rules.split_once("\n\n### Artifacts Created")?;
        let (before, _) = before.rsplit_once("\n\n")?;
        Some(format!("{before}\n\n### Artifacts Created{rest}"))
    }
}

#[test]
fn a_summary_that_forgets_a_request_is_not_taken() {
    summed_up(Form::OpenAi, 1, 3, 1, &Deaf);
}

/// Fifty summaries take a minute in each form. `ACCP_ROUNDS` says for how many forms this is done. Without it, one
/// form gets twenty summaries.
#[test]
fn many_summaries_in_a_row_lose_nothing() {
    let (forms, summaries) = std::env::var("ACCP_ROUNDS").map_or((1, 20), |count| {
        (count.parse().expect("a number of forms"), 50)
    });
    for (form, seed) in Form::ALL.into_iter().zip(100..).take(forms) {
        let (root, talk) = summed_up(form, seed, summaries, 2, &());
        comes_back(root.path(), &talk);
    }
}

#[test]
fn a_long_intent_is_shortened_in_each_summary_and_never_lost() {
    let root = tempfile::tempdir().expect("a folder");
    let window = Window::of(8_000).expect("a window");
    let intent = format!("Count the crates. {}", "Look at each lid. ".repeat(1_000));
    let mut talk = Talk::begun(Form::OpenAi, 5, &intent, 1_000_000);
    let mut count = 0;
    while count < 10 {
        talk.turn();
        let done =
            compress(root.path(), &talk.list(&texts(&talk.messages)), &window).expect("a list");
        for event in done.events.iter().filter(|event| event.tier == Tier::Three) {
            assert_eq!(event.intent, Intent::Referenced);
            let summary = summary(&done.list);
            let place = "VERIFICATION_NEEDED: shortened; the whole is message 0 of cache/conversations/s_full.md";
            assert!(summary.contains(place), "{summary}");
            assert!(
                summary.contains("Count the crates. Look at each lid."),
                "{summary}"
            );
            count += 1;
        }
    }
    comes_back(root.path(), &talk);
    let archive = std::fs::read_to_string(root.path().join("cache/conversations/s_full.md"))
        .expect("an archive");
    assert!(archive.contains(&intent));
}

/// Returns a conversation in which each message of the user has a text of its own, and the texts.
fn told(texts: impl Iterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let mut messages = vec![
        user(Form::OpenAi, INTENT),
        assistant(Form::OpenAi, "I begin."),
    ];
    let mut told = Vec::new();
    for text in texts {
        messages.push(user(Form::OpenAi, &text));
        messages.push(assistant(Form::OpenAi, "Crate after crate."));
        told.push(text);
    }
    (self::texts(&messages), told)
}

fn list(messages: &[String]) -> MessageList {
    MessageList::of(Form::OpenAi, messages.iter().map(String::as_str)).expect("messages")
}

#[test]
fn marks_over_the_room_are_an_error_that_lists_them() {
    let root = tempfile::tempdir().expect("a folder");
    let (mut messages, told) =
        told((0..24).map(|n| format!("The seal of crate {n} is {}.", "vermilion ".repeat(12))));
    // A summary needs only what leaves the list. More messages follow the marked ones, so that the
    // marked ones leave.
    let more = (0..60).map(|n| {
        assistant(
            Form::OpenAi,
            &format!("Crate {n} holds {}", "lamps and ropes ".repeat(20)),
        )
    });
    messages.extend(self::texts(&more.collect::<Vec<_>>()));
    let wide = Window::of(64_000).expect("a window");
    compress(root.path(), &list(&messages), &wide).expect("a list");
    for number in 0..told.len() {
        open(root.path())
            .mark(2 + 2 * number, OffsetDateTime::UNIX_EPOCH)
            .expect("it is marked");
    }
    messages.extend(self::texts(&[
        user(Form::OpenAi, "Go on."),
        assistant(Form::OpenAi, "Yes."),
    ]));
    let narrow = Window::of(4_000).expect("a window");
    let refused = compress(root.path(), &list(&messages), &narrow).expect_err("no room");
    assert!(
        matches!(refused, ContextError::Plan(PlanError::NoRoom(_))),
        "{refused}"
    );
    let said = refused.to_string();
    for number in 0..told.len() {
        let listed = format!("message {} (The seal of crate {number} is", 2 + 2 * number);
        assert!(said.contains(&listed), "{said}");
    }
    assert!(
        said.ends_with("give a larger window, or remove marks (`accp context mark --remove`)"),
        "{said}"
    );
    // The refused call changed nothing. A larger window has room for all marked messages.
    assert_eq!(open(root.path()).session().expect("begun").events(), []);
    let wider = Window::of(12_000).expect("a window").with_stress(true);
    let done = compress(root.path(), &list(&messages), &wider).expect("a list");
    assert!(
        done.events.iter().any(|event| event.tier == Tier::Three),
        "{:?}",
        done.after
    );
    let (summary, there) = (summary(&done.list), raws(&done.list));
    for (number, text) in told.iter().enumerate() {
        assert!(
            summary.contains(text.trim_end()) || there.contains(&messages[2 + 2 * number]),
            "{text}: {summary}"
        );
    }
}

#[test]
fn requests_over_the_room_are_counted_and_found_in_the_archive() {
    let root = tempfile::tempdir().expect("a folder");
    let (messages, told) =
        told((0..90).map(|n| format!("Never open crate {n} of row {} alone.", n * 7 + 1_000)));
    let window = Window::of(2_000).expect("a window");
    let done = compress(root.path(), &list(&messages), &window).expect("a list");
    let (summary, there) = (summary(&done.list), raws(&done.list));
    let stands = |at: &usize| summary.contains(&told[*at]) || there.contains(&messages[2 + 2 * at]);
    let (stand, gone): (Vec<_>, Vec<_>) = (0..told.len()).partition(stands);
    assert!(stand.len() > 10 && gone.len() > 5, "{stand:?}");
    let count = format!(
        "Not whole: {} left out (messages {} to {}). ",
        gone.len(),
        2 + 2 * gone[0],
        2 + 2 * gone[gone.len() - 1]
    );
    assert!(summary.contains(&count), "{count}: {summary}");
    let mut index = Index::open(root.path()).expect("an index");
    index.update().expect("files");
    for at in gone {
        let hits = index
            .exact(&told[at], &Filter::default(), 1)
            .expect("an index");
        assert_eq!(hits.len(), 1, "{}", told[at]);
    }
}

#[test]
fn a_session_that_begins_with_words_alone_takes_the_form_that_is_told_later() {
    let window = Window::of(2_000).expect("a window");
    for form in Form::ALL {
        let root = tempfile::tempdir().expect("a folder");
        let mut all = vec![json!({ "role": "user", "content": "Baue einen Dienst." })];
        let mut list = String::new();
        for round in 0..12 {
            let read = |text: &str| match open(root.path()).session() {
                Some(session) => session.read(text, None).expect("a list"),
                None => MessageList::read(text, None).expect("a list"),
            };
            let given = read(&Json::from(all.clone()).to_string());
            let done = compress(root.path(), &given, &window).expect("a list that fits");
            list = done.list.to_string();
            let told = if round == 0 { Form::OpenAi } else { form };
            assert_eq!(
                (done.list.form(), check(&done.list)),
                (told, vec![]),
                "{form}: {list}"
            );
            // The list that the session returned is read in the form of the session, too.
            assert_eq!(read(&list).form(), told);
            let id = format!("call_{round}");
            all.push(call(form, &id, "look", &json!({ "round": round })));
            all.push(result(form, &id, &"rye ".repeat(160)));
            all.push(assistant(form, "Done."));
            all.push(user(form, &format!("Wunsch {round}")));
        }
        for round in 0..11 {
            assert!(list.contains(&format!("Wunsch {round}")), "{form}: {list}");
        }
        let session = open(root.path());
        let restored = session
            .session()
            .expect("a session")
            .restored()
            .expect("a list");
        assert_eq!(restored.form(), form);
    }
}

#[test]
fn a_user_who_repeats_a_summary_word_for_word_is_heard() {
    let window = Window::of(2_000).expect("a window").with_stress(true);
    for form in Form::ALL {
        let root = tempfile::tempdir().expect("a folder");
        let give = |messages: &[String]| {
            let list = MessageList::of(form, messages.iter().map(String::as_str)).expect("a list");
            compress(root.path(), &list, &window).expect("a list that fits")
        };
        let mut all = texts(&[user(form, INTENT)]);
        for crates in 0..12 {
            all.extend(texts(&[
                assistant(
                    form,
                    &format!("Crate {crates} {}", "holds rye. ".repeat(90)),
                ),
                user(form, "Go on."),
            ]));
        }
        let mut list = raws(&give(&all).list);
        let is_made = |raw: &&String| !all.contains(raw) && raw.contains("## Session Summary");
        let summary = list.iter().find(is_made).expect("a summary").clone();
        let more = [texts(&[assistant(form, "Is that all?")]), vec![summary]].concat();
        for messages in [&mut list, &mut all] {
            messages.extend_from_slice(&more);
        }
        // The session gets first the list with the new messages, then the list that it returned,
        // and then the whole conversation.
        let out = raws(&give(&list).list);
        for messages in [&out, &all] {
            assert_eq!(raws(&give(messages).list), out, "{form}");
        }
        let context = open(root.path());
        let restored = context
            .session()
            .expect("begun")
            .restored()
            .expect("a list");
        assert_eq!(raws(&restored), all, "{form}");
    }
}
