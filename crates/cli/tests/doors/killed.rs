//! Tests with three processes: a program that asks, a program that answers, and their hub. For each line of the
//! programs' scripts, each of the processes is killed at that line and started again.

use std::collections::{BTreeMap, BTreeSet};

use accp_client::{Agent, Error};
use accp_runtime::session::Mid;
use accp_runtime::{DynamicFrame, Frame, Value};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::processes::{Program, TestHub, connect};
use super::table::lab::{NoteDone, NoteReq};

/// The lines of the asking program's script, from its connection to its end.
const ASKER: [&str; 10] = [
    "connect", "begin", "queue", "send", "ask", "long", "put", "check", "close", "closed",
];
/// The lines of [`ASKER`] that send a frame. The field `size` of the frame is the number of its line in this list,
/// from 1.
const SENDS: [&str; 5] = ["queue", "send", "ask", "long", "put"];
/// The lines of the answering program's script, without the lines of its handler.
const ANSWERER: [&str; 2] = ["connect", "serve"];
/// Each run of the asking program first sends a frame with a number larger than this. The numbers of the other frames
/// are smaller.
const LIVES: i64 = 1000;
/// The target line for a program that should not stop at any line.
const NO_LINE: &str = "-";

fn says(line: impl std::fmt::Display) {
    println!("\npart: {line}");
}

/// Returns the text of the frame with this number.
fn words(number: i64) -> String {
    let begin = format!("line_{number}");
    if number == 4 {
        begin + &"_rye_and_spelt".repeat(16_000)
    } else {
        begin
    }
}

fn note(number: i64) -> NoteReq<'static> {
    let more = (number == 5).then(|| Value::String("_a_value".repeat(12_000).into()));
    NoteReq {
        text: words(number).into(),
        size: Some(number),
        more,
    }
}

/// The script of a program. At the target line, the program stops until it is killed or is told to go on.
#[derive(Clone)]
struct Script {
    target: String,
}

impl Script {
    async fn at(&self, line: &str) {
        if line == self.target {
            says(format_args!("at {line}"));
            let mut go = String::new();
            let mut stdin = BufReader::new(tokio::io::stdin());
            stdin.read_line(&mut go).await.unwrap();
        }
    }
}

/// The main function of a program that a test starts. `part` is `asker` or `answerer`, and the line at which the
/// program stops.
pub(crate) async fn play(part: &str) {
    let (part, target) = part.split_once(' ').unwrap();
    let script = Script {
        target: target.to_owned(),
    };
    match part {
        "asker" => ask(script).await,
        _ => answer(script).await,
    }
}

async fn ask(script: Script) {
    script.at("connect").await;
    let dev = connect("dev", true).await.unwrap();
    script.at("begin").await;
    // The frames that an earlier run has left in the outbox come before this frame in the log. So up to this frame,
    // the log shows which lines earlier runs have carried out.
    let life = LIVES + i64::from(std::process::id());
    let begun = dev.send(note(life)).await.unwrap().position.unwrap();
    let done = has_sent(&dev, begun).await;
    for (number, line) in (1..).zip(SENDS) {
        script.at(line).await;
        if done.contains(&number) {
            continue;
        }
        let note = note(number);
        match line {
            "queue" => drop(dev.send(note).queued().await.unwrap()),
            "ask" | "long" => {
                let answer: NoteDone<'static> = dev.ask(note).await.unwrap();
                assert_eq!(answer.text, words(number).to_uppercase());
            }
            _ => drop(dev.send(note).await.unwrap()),
        }
    }
    script.at("check").await;
    check(&dev, life).await;
    script.at("close").await;
    dev.close().await.unwrap();
    script.at("closed").await;
    says("done");
}

/// Returns the numbers of the notes of this agent in the log, up to a position.
async fn has_sent(dev: &Agent, last: u64) -> BTreeSet<i64> {
    let mut log = dev.frames(1);
    let mut sent = BTreeSet::new();
    while log.position() <= last {
        let entry = log.next().await.unwrap().unwrap();
        if entry.text.starts_with("@dev>req:note{") {
            sent.extend(number(&Frame::parse(&entry.text).unwrap()));
        }
    }
    sent
}

/// Returns the number of a note.
fn number(frame: &Frame<'_>) -> Option<i64> {
    let size = frame.payload.iter().find(|param| param.key == "size");
    size?.value.as_str().parse().ok()
}

/// Reads the log until each question has an answer, and checks the texts of the answers.
async fn check(dev: &Agent, life: i64) {
    let registry = dev.registry().await.unwrap();
    let mut log = dev.frames(1);
    let mut open = BTreeMap::new();
    let mut asked = BTreeSet::new();
    let all: Vec<i64> = (1..).take(SENDS.len()).chain([life]).collect();
    while !open.is_empty() || !all.iter().all(|number| asked.contains(number)) {
        let entry = log.next().await.unwrap().unwrap();
        if entry.text.starts_with("@dev>req:note{") {
            let number = number(&Frame::parse(&entry.text).unwrap()).unwrap();
            asked.insert(number);
            open.insert(entry.mid.clone(), number);
        }
        if !entry.text.starts_with("@lab>done:note{") {
            continue;
        }
        let answer = DynamicFrame::decode(&entry.text, &registry).unwrap();
        let chain = answer.envelope.correlation_id.as_deref().map(Mid::parse);
        let number = open.remove(&chain.unwrap()).unwrap();
        let expected = NoteDone {
            text: words(number).to_uppercase().into(),
            size: Some(number),
            more: note(number).more,
        };
        for (key, value) in [
            ("text", Some(Value::String(expected.text))),
            ("more", expected.more),
        ] {
            let told = match answer.payload.get(key) {
                Some(Value::Ref(reference)) => Some(dev.expand(reference).await.unwrap()),
                told => told.cloned().map(Value::into_owned),
            };
            assert!(told == value, "{number}: {key}: {:.200}", entry.text);
        }
    }
}

async fn answer(script: Script) {
    script.at("connect").await;
    let lab = connect("lab", true).await.unwrap();
    script.at("serve").await;
    lab.serve(move |note: NoteReq<'static>, cx| {
        let script = script.clone();
        async move {
            let NoteReq { text, size, more } = note;
            let number = size.unwrap_or_default();
            script.at(&format!("handle {number}")).await;
            let text = text.to_uppercase().into();
            cx.reply(NoteDone { text, size, more }).await?;
            script.at(&format!("replied {number}")).await;
            Ok::<_, Error>(())
        }
    });
    says("ready");
    std::future::pending::<()>().await;
}

/// Starts a program that stops at a line.
fn start(test: &TestHub, part: &str, target: &str) -> Program {
    test.start(&format!("killed {part} {target}"))
}

impl TestHub {
    /// Kills a program that has stopped at a line, and starts it again. With `is_midway`, the program first gets the
    /// order to go on, so that it is killed while it carries out the line.
    fn again(&self, mut program: Program, part: &str, is_midway: bool) -> Program {
        if is_midway {
            program.tell("go");
        }
        program.kill();
        start(self, part, NO_LINE)
    }

    /// Checks that each frame is in the log only once, and that each question has one answer.
    fn check(&self, what: &str) {
        let frames = self.hub.frames();
        let frames = frames.iter().map(|text| Frame::parse(text).unwrap());
        let (mut asked, mut answers) = (BTreeMap::new(), BTreeMap::<_, usize>::new());
        for frame in frames {
            let envelope = frame.envelope().unwrap().into_owned();
            match (&*frame.agent, &*frame.intent, &*frame.operation) {
                ("dev", "req", "note") => {
                    let mid = envelope.msg_id.unwrap();
                    let known = asked.insert(number(&frame).unwrap(), mid.clone());
                    // A request that was handed on to another agent is in the log a second time, under the same id.
                    let is_same = known.is_none_or(|known| known == mid);
                    assert!(is_same, "{what}: {frame:?} is there twice");
                }
                ("lab", "done", "note") => {
                    *answers.entry(envelope.correlation_id.unwrap()).or_default() += 1;
                }
                // The session sends these frames about itself and its values.
                (_, intent, _) => assert_eq!(intent, "sync", "{what}: {frame:?}"),
            }
        }
        let lines = asked.keys().filter(|number| **number < LIVES).count();
        assert_eq!(lines, SENDS.len(), "{what}: {asked:?}");
        for mid in asked.values() {
            assert_eq!(answers.remove(mid), Some(1), "{what}: {mid}: {asked:?}");
        }
        assert!(answers.is_empty(), "{what}: {answers:?}");
    }
}

/// Waits until a program prints this line.
fn until(program: &mut Program, expected: &str) {
    loop {
        let said = program.says();
        assert_ne!(said, "it has ended", "before it has said: {expected}");
        if said == expected {
            return;
        }
    }
}

#[test]
fn who_asks_is_killed_at_each_line() {
    for line in ASKER {
        for is_midway in [false, true] {
            let test = TestHub::started();
            let mut lab = start(&test, "answerer", NO_LINE);
            until(&mut lab, "ready");
            let mut dev = start(&test, "asker", line);
            until(&mut dev, &format!("at {line}"));
            let mut dev = test.again(dev, "asker", is_midway);
            until(&mut dev, "done");
            test.check(&format!("{line}, midway: {is_midway}"));
        }
    }
}

#[test]
fn who_answers_is_killed_at_each_line() {
    let handles = (1..=SENDS.len()).map(|number| format!("handle {number}"));
    let replied = (1..=SENDS.len()).map(|number| format!("replied {number}"));
    let begins = ANSWERER.map(str::to_owned);
    for line in begins.into_iter().chain(handles).chain(replied) {
        for is_midway in [false, true] {
            let test = TestHub::started();
            let mut lab = start(&test, "answerer", &line);
            let at = format!("at {line}");
            // An agent that joins after a question does not get it, so the answerer joins first.
            if line == "connect" {
                until(&mut lab, &at);
                lab = test.again(lab, "answerer", is_midway);
                until(&mut lab, "ready");
            } else if line != "serve" {
                until(&mut lab, "ready");
            } else {
                until(&mut lab, &at);
            }
            let mut dev = start(&test, "asker", NO_LINE);
            if line == "serve" {
                lab = test.again(lab, "answerer", is_midway);
            } else if line != "connect" {
                until(&mut lab, &at);
                lab = test.again(lab, "answerer", is_midway);
            }
            until(&mut dev, "done");
            test.check(&format!("{line}, midway: {is_midway}"));
            lab.kill();
        }
    }
}

#[test]
fn the_hub_is_killed_at_each_line() {
    for line in ASKER {
        for is_midway in [false, true] {
            // An agent that was never in the session cannot begin without its hub.
            let needs_hub = line == "connect";
            let mut test = TestHub::started();
            let mut lab = start(&test, "answerer", NO_LINE);
            until(&mut lab, "ready");
            let mut dev = start(&test, "asker", line);
            until(&mut dev, &format!("at {line}"));
            if is_midway && !needs_hub {
                dev.tell("go");
                test.hub.kill();
                test.hub.start();
            } else {
                test.hub.kill();
                test.hub.start();
                dev.tell("go");
            }
            until(&mut dev, "done");
            test.check(&format!("{line}, midway: {is_midway}"));
        }
    }
}
