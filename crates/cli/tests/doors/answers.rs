//! `accp agent`: what a command answers, and how it ends.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::command::accp;
use super::processes::Hub;

/// A hub, an agent of it that runs a script of the shell, and the folder of both.
struct Place {
    folder: tempfile::TempDir,
    hub: Hub,
    cook: Option<Child>,
}

impl Place {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut hub = Hub::new(folder.path());
        hub.start();
        let mut place = Self {
            folder,
            hub,
            cook: None,
        };
        place.cook(&[], script);
        place
    }

    /// Starts the agent, in the place of one before it.
    fn cook(&mut self, options: &[&str], script: &str) {
        self.end();
        let url = self.hub.http();
        let agent = [
            "agent",
            "cook",
            "--session",
            "team",
            "--grace",
            "1",
            "--hub",
            &url,
        ];
        let mut cook = Command::new(env!("CARGO_BIN_EXE_accp"))
            .args(agent)
            .args(options)
            .args(["--", "sh", "-c", script])
            .current_dir(self.folder.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(cook.stderr.take().unwrap()).lines();
        // Before that it says what its registry replaces.
        let mut said = said.map(Result::unwrap);
        assert!(
            said.any(|line| line.starts_with("cook is in session team")),
            "it has ended"
        );
        self.cook = Some(cook);
    }

    fn end(&mut self) {
        if let Some(mut cook) = self.cook.take() {
            cook.kill().unwrap();
            cook.wait().unwrap();
        }
    }

    fn run(&self, command: &str, frame: &str) -> String {
        let url = self.hub.http();
        let args = [command, frame, "--session", "team", "--hub", &url];
        accp(self.folder.path(), &args).1
    }

    fn ask(&self, frame: &str) -> String {
        self.run("ask", frame)
    }

    /// Waits for a file with the number of a process.
    fn process(&self, name: &str) -> u32 {
        let file = self.folder.path().join(name);
        within(Duration::from_secs(20), || {
            std::fs::read_to_string(&file).ok()?.trim().parse().ok()
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits until something is there.
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

/// Returns whether a process is there and has not ended.
fn runs(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat"));
    let alone = Path::new("/proc/self/stat").exists();
    if alone {
        // A zombie has ended, and nobody has waited for it yet.
        return status.is_ok_and(|status| !status.contains(") Z "));
    }
    let alive = Command::new("kill")
        .args(["-0", &process.to_string()])
        .status();
    alive.unwrap().success()
}

#[test]
fn a_cancelled_chain_ends_the_command_and_its_child() {
    let place = Place::new("echo $$ >parent; sleep 300 & echo $! >child; wait");
    place.run(
        "send",
        "@dev>req:note{text:soup|schema:NOTE}[mid:abc101000001]",
    );
    let processes = [place.process("parent"), place.process("child")];
    assert!(processes.map(runs) == [true, true]);
    let said = place.run("send", "@dev>cancel:note{}[cid:abc101000001]");
    assert!(said.contains("ack:frame"), "{said}");
    for process in processes {
        within(Duration::from_secs(10), || (!runs(process)).then_some(()));
    }
    // A chain that was cancelled has no answer.
    let frames = place.hub.frames();
    assert!(
        !frames.iter().any(|frame| frame.starts_with("@cook>")),
        "{frames:?}"
    );
}

#[test]
fn a_command_that_fails_is_a_tool_that_fails() {
    let mut place = Place::new("exit 3");
    let question = "@dev>req:note{text:soup|schema:NOTE}[mid:abc101000001]";
    let said = place.ask(question);
    let fail = r"@cook>fail:error{code:E4002|msg:the_command_ended_with_exit_status\:_3|retry:true|schema:ER}[";
    assert!(
        said.starts_with(fail) && said.contains(",cid:abc101000001"),
        "{said}"
    );
    let said = place.ask("@dev>req:tool{tool:oven|schema:TC}");
    let fail = "_3|retry:true|tool:oven|schema:ER}[";
    assert!(
        said.contains("code:E4002|") && said.contains(fail),
        "{said}"
    );

    // So is one that a signal ends, and one that prints what nobody may say.
    for (script, why) in [
        ("kill -9 $$", "signal"),
        ("echo '@bob>done:note{text:x|schema:NOTE}'", "another_agent"),
        (
            "echo '@cook>done:note{size:much|schema:NOTE}'",
            "the_frame_that_the_command_prints",
        ),
        ("printf '\\377'", "invalid_utf-8"),
    ] {
        place.cook(&[], script);
        let said = place.ask(&question.replace("[mid:abc101000001]", ""));
        let is_told = said.contains("code:E4002|") && said.contains("retry:true");
        assert!(is_told && said.contains(why), "{script}: {said}");
    }
}

#[test]
fn a_text_becomes_the_frame_that_the_registry_declares() {
    let mut place = Place::new("echo Soup");
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
        let said = place.ask(&format!("@dev>{asked}"));
        assert!(
            said.starts_with(&format!("@cook>{answered}")),
            "{asked}: {said}"
        );
    }
    // No frame of the registry holds the text, and the error says so.
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
        let said = place.ask(&format!("@dev>{asked}")).replace('\\', "");
        assert!(
            said.contains("code:E4002|") && said.contains(why),
            "{asked}: {said}"
        );
    }
    // A text of a closed set, and a frame without what the session sets.
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
        place.cook(&["--registry", "registry.json"], script);
        let said = place.ask("@dev>req:judge{case:soup|schema:VD}");
        assert!(said.starts_with(answered), "{script}: {said}");
    }
}
