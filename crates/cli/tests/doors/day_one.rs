//! Tests of cases that new users met first: an agent whose name was used before, programs that end at once, texts
//! near the limits of a frame, failures with a user's own registry, and an agent whose registry differs from that of
//! its session.

use std::borrow::Cow;
use std::future::IntoFuture as _;

use accp_client::{Agent, Error, Hub as OwnHub};
use accp_runtime::profiles::{ChatDone, ChatReq, ErrorFail};
use accp_runtime::session::{Options, Outbound};
use accp_runtime::{AccpFrame, AgentId, DynamicFrame, ErrorCode, Registry};
use accp_store::{MemoryStore, SqliteStore, Store};

use super::REGISTRY;
use super::processes::{HUB, TestHub, connect};
use super::table::lab::{NoteDone, NoteReq};

/// Lengths of texts just below and above four limits: for a value inside a frame, for a frame, for a part of a value,
/// and for a transfer.
const LENGTHS: [usize; 12] = [
    0, 1, 50, 51, 16_000, 16_400, 24_600, 26_000, 64_000, 66_000, 100_000, 1_000_000,
];

fn says(line: impl std::fmt::Display) {
    println!("\npart: {line}");
}

fn note(text: impl Into<Cow<'static, str>>) -> NoteReq<'static> {
    NoteReq {
        text: text.into(),
        size: None,
        more: None,
    }
}

/// Returns a text of `length` characters. Many of them are escaped in a frame, so the text is longer there.
fn text_of(length: usize) -> String {
    let words = "The guest waits; soup, for two: \"grün\", 4|5 {hot}\n";
    words.chars().cycle().take(length).collect()
}

/// Answers each note with the note's text.
fn echo(agent: &Agent) {
    agent.serve(|note: NoteReq<'static>, cx| async move {
        let NoteReq { text, more, .. } = note;
        let size = Some(text.chars().count() as i64);
        cx.reply(NoteDone { text, size, more }).await
    });
}

/// Asks for each length, and compares the answers.
async fn ask_for_each_length(desk: &Agent) {
    for length in LENGTHS {
        let text = text_of(length);
        let answer: NoteDone<'static> = desk.ask(note(text.clone())).await.unwrap();
        assert!(answer.text == text, "{length}: {:.100}", answer.text);
        assert_eq!(answer.size, Some(length as i64));
    }
}

async fn own_hub(store: impl Store + Send + 'static) -> OwnHub {
    let hub = AgentId::new("hub").unwrap();
    let options = Options::from_json("team", hub, REGISTRY).unwrap();
    OwnHub::open_with(options, store).await.unwrap()
}

/// The main function of a program that a test starts. `part` says what the program does.
pub(crate) async fn play(part: &str) {
    match part {
        // The program runs a hub and two agents in its own process.
        "inside" => {
            let hub = own_hub(SqliteStore::open("own.accp").unwrap()).await;
            let (desk, lab) = (hub.agent("desk").unwrap(), hub.agent("lab").unwrap());
            says(format_args!("joined: {:?}", desk.joined().await));
            echo(&lab);
            let answer: NoteDone<'static> = desk.ask(note("soup")).await.unwrap();
            says(format_args!("{:?}", answer.size));
            let mut log = hub.frames(1);
            let mut asked = 0;
            while let Some(entry) = log.next_ready().await.unwrap() {
                asked += usize::from(entry.text.starts_with("@desk>req:note{"));
            }
            says(format_args!("asked: {asked}"));
            std::future::pending::<()>().await;
        }
        "lengths" => {
            let dev = connect("dev", true).await.unwrap();
            ask_for_each_length(&dev).await;
            says("all are whole");
        }
        "echo" => {
            let lab = connect("lab", true).await.unwrap();
            echo(&lab);
            says("ready");
            std::future::pending::<()>().await;
        }
        _ => stranger(part).await,
    }
}

/// Connects as an agent whose registry does not have a schema of the session, or has another form of this schema.
/// Then serves requests.
async fn stranger(part: &str) {
    let registry = match part {
        "another form" => REGISTRY.replace("\"more\"", "\"extra\""),
        "another type" => REGISTRY.replace("\"text\": \"text\"", "\"text\": \"integer\""),
        // Here the schema `status` differs from the one in the session. So the agent refuses the registry of the
        // session, and does not learn `note` either.
        _ => r#"{ "schemas": { "status": { "code": "ST", "fields": ["mood"] } } }"#.to_owned(),
    };
    let name = AgentId::new("lab").unwrap();
    let options = Options::from_json("team", name, &registry).unwrap();
    let hub = std::env::var(HUB).unwrap();
    let lab = Agent::connect(hub, "team", "lab").options(options);
    let lab = lab.await.unwrap();
    match part {
        "another form" => echo(&lab),
        "reads" | "another type" => lab.serve_others(|cx| async move {
            let asked = cx.message().await?;
            cx.reply_with(Outbound::owned_message(asked)).await
        }),
        "panics" => lab.serve_others(|cx| async move {
            let registry = cx.agent()?.registry().await?;
            let asked = cx.inbound().message(&registry).unwrap().into_owned();
            cx.reply_with(Outbound::owned_message(asked)).await
        }),
        "gives up" => lab.serve_others(|cx| async move {
            let asked = cx.inbound().message(&Registry::empty())?.into_owned();
            drop(asked);
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        }),
        // The agent has a type for the frame. But without the schema, it cannot put the long text into the frame.
        _ => echo(&lab),
    }
    says("ready");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn an_agent_joins_whoever_had_its_name_before() {
    let hub = own_hub(MemoryStore::new()).await;
    let lab = hub.agent("lab").unwrap();
    echo(&lab);
    let first = hub.agent("desk").unwrap();
    first.joined().await.unwrap();
    drop(first);
    let second = hub.agent("desk").unwrap();
    second.joined().await.unwrap();
    // The second handle is still open.
    let third = hub.agent("desk").unwrap();
    third.joined().await.unwrap();
    let ended = second.joined().await.unwrap_err();
    assert!(ended.to_string().contains("opened again"), "{ended}");
    let ended = second.ask::<NoteDone<'static>>(note("soup")).await;
    let ended = ended.unwrap_err();
    assert!(ended.to_string().contains("opened again"), "{ended}");
    let answer: NoteDone<'static> = third.ask(note("soup")).await.unwrap();
    assert_eq!(answer.text, "soup");
    // Dropping the second handle does not affect the third.
    drop(second);
    third.joined().await.unwrap();
    let answer: NoteDone<'static> = third.ask(note("bread")).await.unwrap();
    assert_eq!(answer.text, "bread");
    // Here neither of the two handles was used before.
    let (older, newer) = (hub.agent("dev").unwrap(), hub.agent("dev").unwrap());
    newer.joined().await.unwrap();
    assert!(matches!(older.joined().await.unwrap_err(), Error::Ended(_)));
    newer.send(note("wine")).await.unwrap();
}

#[test]
fn a_hub_with_its_agents_in_one_process_comes_back_to_its_store() {
    let test = TestHub::started();
    for life in 1..=4 {
        let mut program = test.start("day_one inside");
        assert_eq!(program.says(), "joined: Ok(())", "{life}");
        assert_eq!(program.says(), "Some(4)");
        assert_eq!(program.says(), format!("asked: {life}"));
        program.kill();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_of_any_length_is_whole_in_one_process() {
    let hub = own_hub(MemoryStore::new()).await;
    let (desk, lab) = (hub.agent("desk").unwrap(), hub.agent("lab").unwrap());
    echo(&lab);
    ask_for_each_length(&desk).await;
}

#[test]
fn a_text_of_any_length_is_whole_between_two_programs_and_after_a_restart() {
    let mut test = TestHub::started();
    for _ in 0..2 {
        let mut lab = test.start("day_one echo");
        assert_eq!(lab.says(), "ready");
        let mut dev = test.start("day_one lengths");
        assert_eq!(dev.says(), "all are whole");
        lab.kill();
        test.hub.kill();
        test.hub.start();
    }
}

/// The registry uses the code ER, which is normally the code for errors, for its own frames. Still, a failure must be
/// reported.
#[tokio::test]
async fn a_failure_is_told_in_one_process_whatever_the_registry_calls_er() {
    let hub = own_hub(MemoryStore::new()).await;
    let (desk, lab) = (hub.agent("desk").unwrap(), hub.agent("lab").unwrap());
    lab.serve(|note: NoteReq<'static>, _| async move { Err::<(), _>(note.text.into_owned()) });
    for length in [4, 60, 30_000] {
        let text = text_of(length);
        let told = desk.ask::<NoteDone<'static>>(note(text.clone())).await;
        let Err(Error::Failed(failure)) = told else {
            panic!("{told:?}");
        };
        assert_eq!(failure.code(), Some(ErrorCode::INTERNAL_ERROR));
        assert!(
            failure.message() == text,
            "{length}: {:.100}",
            failure.message()
        );
    }
}

/// Two agents serve the same questions. Each question reaches only one of them.
#[tokio::test]
async fn who_asks_two_agents_gets_an_answer_to_each_question_from_one_of_them() {
    let hub = own_hub(MemoryStore::new()).await;
    let desk = hub.agent("desk").unwrap();
    let labs = ["lab", "lab2"].map(|name| hub.agent(name).unwrap());
    labs.iter().for_each(echo);
    for number in 0..20 {
        let text = format!("soup {number}");
        let answer: NoteDone<'static> = desk.ask(note(text.clone())).await.unwrap();
        assert_eq!(answer.text, text);
    }
    let mut log = hub.frames(1);
    let mut answers = 0;
    while let Some(entry) = log.next_ready().await.unwrap() {
        answers += usize::from(entry.text.contains(">done:note{"));
    }
    assert_eq!(answers, 20);
    // A request that was sent with `send`, and not with `ask`, reaches both agents.
    desk.send(note("for both")).await.unwrap();
    while answers != 22 {
        let entry = log.next().await.unwrap().unwrap();
        answers += usize::from(entry.text.contains(">done:note{"));
    }
}

/// The asker gets an error at once if no agent can answer.
#[tokio::test]
async fn a_question_that_nobody_takes_is_an_error_at_once() {
    let hub = own_hub(MemoryStore::new()).await;
    let desk = hub.agent("desk").unwrap();
    let alone = desk.ask::<NoteDone<'static>>(note("soup")).await;
    let told = alone.unwrap_err();
    assert_eq!(told.code(), Some(ErrorCode::REF_NOT_FOUND), "{told}");
    assert!(
        told.to_string().contains("that takes req:note:NOTE"),
        "{told}"
    );
    // This agent has no handlers. It says so when it has been silent for a second.
    let _idle = hub.agent("idle").unwrap();
    let failed = desk.ask::<NoteDone<'static>>(note("soup")).await;
    let told = failed.unwrap_err();
    assert_eq!(told.code(), Some(ErrorCode::REF_NOT_FOUND), "{told}");
    // An agent that takes only other questions cannot answer this question either.
    let chef = hub.agent("chef").unwrap();
    chef.serve(
        |said: ChatReq<'static>, cx| async move { cx.reply(ChatDone::new(said.content)).await },
    );
    let told = desk
        .ask::<NoteDone<'static>>(note("soup"))
        .await
        .unwrap_err();
    assert_eq!(told.code(), Some(ErrorCode::REF_NOT_FOUND), "{told}");
    let chat = desk.ask::<ChatDone<'static>>(ChatReq::new("soup?")).await;
    assert_eq!(chat.unwrap().content, "soup?");
}

/// When an agent is removed, its open questions go to the next agent. They have a mark that another agent has had
/// them before.
#[tokio::test]
async fn an_agent_that_is_taken_out_hands_its_questions_on() {
    let hub = own_hub(MemoryStore::new()).await;
    let desk = hub.agent("desk").unwrap();
    let lab = hub.agent("lab").unwrap();
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    lab.serve(move |_: NoteReq<'static>, cx| {
        begun.send(()).unwrap();
        // This handler never ends.
        async move {
            std::future::pending::<()>().await;
            cx.handled().await
        }
    });
    let asked = tokio::spawn(desk.ask::<NoteDone<'static>>(note("soup")).into_future());
    has_begun.recv().await.unwrap();
    let next = hub.agent("next").unwrap();
    next.serve(|asked: NoteReq<'static>, cx| async move {
        let text = format!("{}, again: {}", asked.text, cx.inbound().redelivered());
        cx.reply(NoteDone {
            text: text.into(),
            size: None,
            more: None,
        })
        .await
    });
    assert!(hub.remove("lab").await.unwrap());
    assert_eq!(asked.await.unwrap().unwrap().text, "soup, again: true");
    // An agent that leaves by itself first finishes its work, and gets no new questions.
    next.leave().await.unwrap();
    let lab = hub.agent("lab").unwrap();
    echo(&lab);
    let answer: NoteDone<'static> = desk.ask(note("rye")).await.unwrap();
    assert_eq!(answer.text, "rye");
}

#[tokio::test]
async fn an_answer_that_fails_in_words_of_its_own_is_a_failure() {
    let hub = own_hub(MemoryStore::new()).await;
    let (desk, lab) = (hub.agent("desk").unwrap(), hub.agent("lab").unwrap());
    lab.serve(|_: NoteReq<'static>, cx| async move {
        let fail = DynamicFrame::new("lab", "fail", "note")?.with("why", "no flour");
        cx.reply_with(Outbound::owned_message(fail)).await?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    });
    let typed = desk.ask::<NoteDone<'static>>(note("soup")).await;
    let frame = desk.ask::<NoteDone<'static>>(note("soup")).frame().await;
    let registry = desk.registry().await.unwrap();
    for told in [typed.map(drop), frame.map(drop)] {
        let Err(Error::Failed(failure)) = told else {
            panic!("{told:?}");
        };
        assert_eq!(failure.code(), None);
        let message = failure.message();
        assert!(message.starts_with("@lab>fail:note{why:"), "{message}");
        let read = failure.inbound().message(&registry).unwrap();
        // In the standard tables, `why` is the abbreviation of `rationale`.
        let why = read.payload.get("rationale").and_then(|why| why.as_str());
        assert_eq!(why, Some("no flour"));
    }
}

/// The failure of a note.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "fail", operation = "note")]
struct NoteFail<'a> {
    why: Cow<'a, str>,
    left: Option<i64>,
}

/// The two possible answers to a note.
type Answer = Result<NoteDone<'static>, NoteFail<'static>>;

#[tokio::test]
async fn a_failure_is_read_as_its_type() {
    let hub = own_hub(MemoryStore::new()).await;
    let (desk, lab) = (hub.agent("desk").unwrap(), hub.agent("lab").unwrap());
    lab.serve(|asked: NoteReq<'static>, cx| async move {
        let (why, left) = (asked.text.clone(), asked.size);
        match &*asked.text {
            "soup" => {
                cx.reply(NoteDone {
                    text: why,
                    size: left,
                    more: None,
                })
                .await
            }
            "crash" => cx.reply(ErrorFail::new("E2001", "no flour", false)).await,
            _ => cx.reply(NoteFail { why, left }).await,
        }
    });
    let answer: Answer = desk.ask(note("soup")).await.unwrap();
    assert_eq!(answer.unwrap().text, "soup");
    let long = text_of(30_000);
    let answer: Answer = desk.ask(note(long.clone())).await.unwrap();
    let fail = NoteFail {
        why: long.clone().into(),
        left: None,
    };
    assert!(answer == Err(fail.clone()));
    let error = desk.ask::<NoteDone<'static>>(note(long)).await.unwrap_err();
    assert!(error.frame::<NoteFail<'static>>().unwrap() == fail);

    // Both `ask::<Answer>` and `frame` return an error for a failure of another type.
    let error = desk.ask::<Answer>(note("crash")).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::REF_NOT_FOUND));
    let other = error.frame::<NoteFail<'static>>().unwrap_err();
    assert!(matches!(other, Error::Answer(..)), "{other}");
    // If the error does not come from a frame, `frame` returns the error unchanged.
    desk.close().await.unwrap();
    let error = desk.ask::<Answer>(note("soup")).await.unwrap_err();
    assert!(matches!(error, Error::Ended(_)), "{error}");
    let same = error.frame::<NoteFail<'static>>().unwrap_err();
    assert_eq!(same.to_string(), error.to_string());
}

#[tokio::test]
async fn names_that_are_none_are_told() {
    let test = TestHub::started();
    let own = own_hub(MemoryStore::new()).await;
    for name in ["bad name!", "Müller", ""] {
        let told = own.agent(name).unwrap_err();
        assert!(matches!(&told, Error::Name(..)), "{told}");
        let begin = format!("agent `{name}`: ");
        assert!(told.to_string().starts_with(&begin), "{told}");
        let told = Agent::connect(test.hub.url(), "team", name).await;
        let told = told.unwrap_err();
        assert!(told.to_string().starts_with(&begin), "{told}");
    }
    let told = Agent::connect(test.hub.url(), "bad session!", "dev").await;
    let told = told.unwrap_err();
    assert!(matches!(told, Error::Denied(..)), "{told}");
    assert!(told.to_string().contains("session"), "{told}");
}

/// Starts an agent whose registry differs from that of its session, asks it, and returns the answer.
async fn told_by(part: &str, text: &str) -> Result<NoteDone<'static>, Error> {
    let setup = TestHub::started();
    let mut lab = setup.start(&format!("day_one {part}"));
    assert_eq!(lab.says(), "ready");
    let name = AgentId::new("dev").unwrap();
    let options = Options::from_json("team", name, REGISTRY).unwrap();
    let dev = Agent::connect(setup.hub.url(), "team", "dev").options(options);
    dev.await.unwrap().ask(note(text.to_owned())).await
}

#[tokio::test]
async fn an_agent_that_lacks_the_schema_of_a_question_says_so_and_what_to_do() {
    let long = text_of(100_000);
    for (part, text) in [
        ("reads", "soup"),
        ("panics", "soup"),
        ("gives up", "soup"),
        ("typed", &*long),
    ] {
        let told = told_by(part, text).await;
        let Err(Error::Failed(failure)) = told else {
            panic!("{part}: {told:?}");
        };
        assert_eq!(
            failure.code(),
            Some(ErrorCode::UNKNOWN_SCHEMA),
            "{part}: {failure}"
        );
        let expected = "lab cannot read this frame: its registry has no schema NOTE. Open it with a registry that agrees with that of its session";
        assert_eq!(failure.message(), expected, "{part}");
    }
}

#[tokio::test]
async fn an_agent_with_another_form_of_a_schema_reads_what_both_have() {
    for length in [4, 100_000] {
        let text = text_of(length);
        let answer = told_by("another form", &text).await.unwrap();
        assert!(answer.text == text, "{length}: {:.100}", answer.text);
    }
}

/// The asker hears that asking again does not help, as it does of an agent whose handler has a type.
#[tokio::test]
async fn an_agent_with_another_type_for_a_field_says_which() {
    let told = told_by("another type", "soup").await;
    let Err(Error::Failed(failure)) = told else {
        panic!("{told:?}");
    };
    assert_eq!(failure.code(), Some(ErrorCode::INVALID_TYPE), "{failure}");
    let expected = "lab cannot read this frame: in text, its registry expects a value of type integer. Open it with a registry that agrees with that of its session";
    assert_eq!(failure.message(), expected);
    let text = failure.inbound().text();
    assert!(text.contains("retry:false"), "{text}");
}
