//! Tests of agents in separate programs that connect to a hub (`accp_client::Agent::connect`).

use std::time::Duration;

use accp_client::Error;
use accp_runtime::session::Outbound;
use accp_runtime::{DynamicFrame, Value};

use super::processes::{PART, TestHub, connect};

/// Prints a line for the test that has started this program.
macro_rules! say {
    ($($words:tt)*) => {
        println!("\npart: {}", format_args!($($words)*))
    };
}

fn note(text: &str) -> Outbound<'static> {
    let mut note = DynamicFrame::new("dev", "req", "note").unwrap();
    note.schema = Some("NOTE".into());
    note.payload
        .insert("text", Value::String(text.to_owned().into()));
    Outbound::owned_message(note)
}

/// The main function of a program that another test starts. The environment variable `PART` says what the program
/// does. Without the variable, this test does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plays_a_part() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let (what, text) = part.split_once(' ').unwrap_or((&part, ""));
    if what == "table" {
        return super::table::player::play(text).await;
    }
    if what == "registry" {
        say!("{}", super::registries::play(text).await);
        std::process::exit(0);
    }
    if what == "evolution" {
        return super::evolution::play(text).await;
    }
    if what == "unions" {
        return super::unions::play().await;
    }
    if what == "killed" {
        return super::killed::play(text).await;
    }
    if what == "day_one" {
        return super::day_one::play(text).await;
    }
    let name = if ["count", "fail"].contains(&what) {
        "lab"
    } else {
        "dev"
    };
    let agent = match connect(name, what != "fire").await {
        Ok(agent) => agent,
        Err(error) => return say!("not connected: {error}"),
    };
    match what {
        // Sends a frame and ends at once, as a short program would.
        "fire" | "send" => match agent.send_with(note(text)).await {
            Ok(sent) => say!("sent at {}", sent.position.unwrap()),
            Err(error) => say!("not sent: {error}"),
        },
        // Continues as soon as the frame is in the agent's store.
        "queue" => {
            agent.send_with(note(text)).queued().await.unwrap();
            say!("queued");
        }
        // Queues 20 frames, and then waits for the hub.
        "close" => {
            for n in 0..20 {
                agent
                    .send_with(note(&format!("{text} {n}")))
                    .queued()
                    .await
                    .unwrap();
            }
            say!("closed: {:?}", agent.close().await);
        }
        "send_soon" => {
            let sent = agent
                .send_with(note(text))
                .within(Duration::from_millis(300));
            match sent.await {
                // The store keeps frames in their order. So when the store has the next frame, it also has this
                // frame.
                Err(Error::Pending(_)) => {
                    let next = agent.send_with(note("after that")).queued().await;
                    say!("pending, then {:?}", next.map(drop));
                }
                other => say!("not pending: {other:?}"),
            }
        }
        // Answers each note with the number of its bytes.
        "count" => {
            agent.serve_others(|cx| async move {
                let asked = cx.message().await?;
                let size = asked.payload.get("text").and_then(|text| text.as_str());
                let size = size.map_or(-1, |text| text.len() as i64);
                let mut done = DynamicFrame::new("lab", "done", "note").unwrap();
                done.schema = Some("NOTE".into());
                done.payload.insert("text", Value::String("counted".into()));
                done.payload.insert("size", Value::Integer(size));
                cx.reply_with(Outbound::owned_message(done)).await
            });
            say!("ready");
            std::future::pending::<()>().await;
        }
        // Fails for each note. The part gives the length of the reason.
        "fail" => {
            let why = "x".repeat(text.parse().unwrap());
            agent.serve_others(move |_| {
                let why = why.clone();
                async move { Err(std::io::Error::other(why)) }
            });
            say!("ready");
            std::future::pending::<()>().await;
        }
        "ask" => {
            let long = "x".repeat(text.parse().unwrap());
            let begun = std::time::Instant::now();
            match agent.ask_with::<()>(note(&long)).frame().await {
                Ok(answer) => say!("{} {:?}", answer.text(), begun.elapsed()),
                Err(error) => say!("{error}"),
            }
        }
        // Runs until it is killed.
        "stay" => {
            say!("joined: {:?}", agent.joined().await);
            std::future::pending::<()>().await;
        }
        other => say!("there is no part {other}"),
    }
    std::process::exit(0);
}

impl TestHub {
    /// Runs a program, and returns its output.
    fn run(&self, part: &str) -> String {
        let mut program = self.start(part);
        let said = program.says();
        assert!(program.wait().success(), "{part}: {said}");
        said
    }

    fn count(&self, text: &str) -> usize {
        let log = self.hub.log();
        log.iter().filter(|frame| frame.contains(text)).count()
    }
}

#[test]
fn what_a_short_program_has_sent_is_in_the_log() {
    let mut test = TestHub::new();
    test.hub.start();
    for n in 0..5 {
        let said = test.run(&format!("fire soup{n}"));
        assert!(said.starts_with("sent at "), "{said}");
        assert_eq!(test.count(&format!("soup{n}")), 1);
    }
}

#[test]
fn an_agent_comes_back_to_its_store_whoever_was_killed() {
    let mut test = TestHub::new();
    test.hub.start();
    for n in 0..4 {
        let mut program = test.start("stay");
        assert_eq!(program.says(), "joined: Ok(())");
        program.kill();
        let said = test.run(&format!("send soup{n}"));
        assert!(said.starts_with("sent at "), "{said}");
        if n % 2 == 1 {
            test.hub.kill();
            test.hub.start();
        }
    }
    let log = test.hub.log();
    assert_eq!(log.len(), 4, "{log:?}");
}

#[test]
fn a_frame_waits_for_a_hub_that_is_away_and_goes_out_once() {
    let mut test = TestHub::new();
    test.hub.start();
    assert!(test.run("send first").starts_with("sent at "));
    test.hub.kill();
    // The agent's store holds the session already, so the agent can begin without a hub.
    assert_eq!(test.run("queue second"), "queued");
    assert_eq!(test.run("send_soon third"), "pending, then Ok(())");
    test.hub.start();
    assert!(test.run("send fourth").starts_with("sent at "));
    let log = test.hub.log();
    let order = ["first", "second", "third", "after_that", "fourth"];
    assert_eq!(log.len(), order.len(), "{log:?}");
    for (frame, text) in log.iter().zip(order) {
        assert!(frame.contains(text), "{log:?}");
    }
}

#[test]
fn a_text_of_any_length_arrives_whole() {
    let mut test = TestHub::new();
    test.hub.start();
    let mut lab = test.start("count");
    assert_eq!(lab.says(), "ready");
    for length in [1, 51, 24_600, 30_000, 1_000_000] {
        let said = test.run(&format!("ask {length}"));
        assert!(
            said.contains(&format!("size:{length}|")),
            "{length}: {said}"
        );
    }
    lab.kill();
}

#[test]
fn whoever_asks_hears_that_a_handler_has_failed() {
    let mut test = TestHub::new();
    test.hub.start();
    for length in [10, 51, 30_000, 1_000_000] {
        let part = format!("fail {length}");
        let mut lab = test.start(&part);
        assert_eq!(lab.says(), "ready");
        let said = test.run("ask 10");
        let expected = format!("the answer is a failure: E9999: {}", "x".repeat(length));
        assert!(said == expected, "{length}: {} {:.80}", said.len(), said);
        lab.kill();
        test.hub.kill();
        test.hub.start();
    }
}

#[test]
fn who_closes_an_agent_loses_nothing() {
    let mut test = TestHub::new();
    test.hub.start();
    assert_eq!(test.run("close soup"), "closed: Ok(())");
    assert_eq!(test.count("soup"), 20);
}

#[test]
fn an_agent_that_was_never_in_its_session_needs_its_hub() {
    let test = TestHub::new();
    let said = test.run("send note");
    assert!(
        said.starts_with("not connected: no hub at ws://127.0.0.1"),
        "{said}"
    );
}
