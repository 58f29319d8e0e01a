//! Tests of `accp agent`: the answers of its command, and the ways in which the command ends.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::processes::{Hub, TestHub};
use crate::cli::Words as _;

/// An agent of a hub. Its command is a shell script.
pub(crate) struct Cook(Child);

impl Cook {
    /// Starts the agent, and waits until it is in the session.
    pub(crate) fn start(hub: &Hub, options: &str, script: &str) -> Self {
        Self::start_as(hub, "cook", options, script)
    }

    /// Starts an agent with this name, as [`start`](Self::start) does.
    pub(crate) fn start_as(hub: &Hub, name: &str, options: &str, script: &str) -> Self {
        let agent = ("agent --grace 1", options, [name, "--", "sh", "-c", script]);
        let mut command = hub.command();
        command.args(agent.words()).stderr(Stdio::piped());
        let mut cook = command.spawn().unwrap();
        let lines = BufReader::new(cook.stderr.take().unwrap()).lines();
        // Before this line, the command may print which standard profiles its registry replaces.
        let mut lines = lines.map(Result::unwrap);
        assert!(
            lines.any(|line| line.starts_with(&format!("{name} is in session team"))),
            "it has ended"
        );
        Self(cook)
    }
}

impl Drop for Cook {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a hub, and an agent of it.
fn with_cook(script: &str) -> (TestHub, Cook) {
    let test = TestHub::started();
    let cook = Cook::start(&test.hub, "", script);
    (test, cook)
}

/// Waits until a file holds the number of a process, and returns the number.
fn process(test: &TestHub, name: &str) -> u32 {
    let file = test.folder.path().join(name);
    within(Duration::from_secs(20), || {
        std::fs::read_to_string(&file).ok()?.trim().parse().ok()
    })
}

/// Waits until `look` returns something, but not longer than `time`.
pub(crate) fn within<T>(time: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + time;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "nothing within {time:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns whether a process exists and has not ended.
fn runs(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat"));
    let alone = Path::new("/proc/self/stat").exists();
    if alone {
        // A zombie has ended, but its parent has not waited for it yet.
        return status.is_ok_and(|status| !status.contains(") Z "));
    }
    let alive = Command::new("kill")
        .args(["-0", &process.to_string()])
        .status();
    alive.unwrap().success()
}

#[test]
fn a_cancelled_chain_ends_the_command_and_its_child() {
    let (test, _cook) = with_cook("echo $$ >parent; sleep 300 & echo $! >child; wait");
    test.hub.output((
        "send",
        "@dev>req:note{text:soup|schema:NOTE}[mid:abc101000001]",
    ));
    let processes = [process(&test, "parent"), process(&test, "child")];
    assert!(processes.map(runs) == [true, true]);
    let said = test
        .hub
        .output(("send", "@dev>cancel:note{}[cid:abc101000001]"));
    assert!(said.contains("ack:frame"), "{said}");
    for process in processes {
        within(Duration::from_secs(10), || (!runs(process)).then_some(()));
    }
    // The agent must not answer in a cancelled chain.
    let frames = test.hub.frames();
    assert!(
        !frames.iter().any(|frame| frame.starts_with("@cook>")),
        "{frames:?}"
    );
}

#[test]
fn a_command_that_fails_is_a_tool_that_fails() {
    let (test, mut cook) = with_cook("exit 3");
    let question = "@dev>req:note{text:soup|schema:NOTE}[mid:abc101000001]";
    let said = test.hub.output(("ask", question));
    let fail = r"@cook>fail:error{code:E4002|msg:the_command_ended_with_exit_status\:_3|retry:true|schema:ER}[";
    assert!(
        said.starts_with(fail) && said.contains(",cid:abc101000001"),
        "{said}"
    );
    let said = test
        .hub
        .output(("ask", "@dev>req:tool{tool:oven|schema:TC}"));
    let fail = "_3|retry:true|tool:oven|schema:ER}[";
    assert!(
        said.contains("code:E4002|") && said.contains(fail),
        "{said}"
    );

    // The answer is also a failure if a signal ends the command, or if the command prints a frame that the agent may
    // not send.
    for (script, why) in [
        ("kill -9 $$", "signal"),
        ("echo '@bob>done:note{text:x|schema:NOTE}'", "another_agent"),
        (
            "echo '@cook>done:note{size:much|schema:NOTE}'",
            "the_frame_that_the_command_prints",
        ),
        ("printf '\\377'", "invalid_utf-8"),
    ] {
        drop(cook);
        cook = Cook::start(&test.hub, "", script);
        let said = test
            .hub
            .output(("ask", question.replace("[mid:abc101000001]", "")));
        let is_told = said.contains("code:E4002|") && said.contains("retry:true");
        assert!(is_told && said.contains(why), "{script}: {said}");
    }
}

#[test]
fn a_text_becomes_the_frame_that_the_registry_declares() {
    let (test, mut cook) = with_cook("echo Soup");
    for (asked, answered) in [
        (
            "req:chat{content:Lunch?|schema:CH}",
            "done:chat{content:Soup|schema:CH}[",
        ),
        (
            "req:tool{tool:web_search|args:{q:ACCP}|schema:TC}",
            "done:tool{tool:web_search|res:Soup|schema:TC}[",
        ),
        (
            "req:schedule{asgn:cook|task:lunch|schema:TA}",
            "done:schedule{task:lunch|stat:Soup|schema:TA}[",
        ),
        (
            "req:execute{asgn:cook|task:lunch|pri:high|schema:TA}",
            "done:execute{task:lunch|stat:Soup|schema:TA}[",
        ),
        (
            "req:transaction{txn:t1|amt:1.5|schema:TX}",
            "done:transaction{txn:t1|stat:Soup|schema:TX}[",
        ),
        (
            "req:note{text:soup|size:4|schema:NOTE}",
            "done:note{text:Soup|schema:NOTE}[",
        ),
        (
            "qry:lookup{question:soup|source:book|schema:LU}",
            "done:lookup{question:soup|answer:Soup|schema:LU}[",
        ),
        ("req:plan{goal:lunch}", "done:plan{result:Soup}["),
    ] {
        let said = test.hub.output(("ask", format!("@dev>{asked}")));
        assert!(
            said.starts_with(&format!("@cook>{answered}")),
            "{asked}: {said}"
        );
    }
    // No frame of the registry can hold the text. The error must give this reason.
    for (asked, why) in [
        (
            "req:book_room{room:blue|schema:ER}",
            "the_text_that_the_command_prints:_schema_ER_lists_none",
        ),
        (
            "req:judge{case:soup|schema:VD}",
            "makes_no_done:judge_of_schema_VD:_ruling:_the_registry_declares_enum",
        ),
    ] {
        let said = test
            .hub
            .output(("ask", format!("@dev>{asked}")))
            .replace('\\', "");
        assert!(
            said.contains("code:E4002|") && said.contains(why),
            "{asked}: {said}"
        );
    }
    // The command may print only the value of an enumeration, or a frame without the fields that the session sets.
    for (script, answered) in [
        (
            "echo free",
            "@cook>done:judge{case:soup|ruling:free|schema:VD}[",
        ),
        (
            "echo '@cook>done:judge{case:soup|ruling:guilty|schema:VD}'",
            "@cook>done:judge{case:soup|ruling:guilty|schema:VD}[",
        ),
    ] {
        drop(cook);
        cook = Cook::start(&test.hub, "--registry registry.json", script);
        let said = test
            .hub
            .output(("ask", "@dev>req:judge{case:soup|schema:VD}"));
        assert!(said.starts_with(answered), "{script}: {said}");
    }
}
