//! Tests the output of the demo. The demo kills one of its own processes.

use std::process::Command;

/// Returns the text with `_` in the place of each number that differs between runs.
fn steady(line: &str) -> String {
    let mut line = line.to_owned();
    for name in ["as process ", "ts:", "sum:", "proof:"] {
        if let Some((before, rest)) = line.split_once(name) {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_hexdigit());
            line = format!("{before}{name}_{rest}");
        }
    }
    line
}

const SAID: &str = r#"1. The build script made Rust types of ten lines of JSON, registry/refunds.json:
    pub struct RefundReq {
        pub order: String,
        pub amount: Decimal,
        pub reason: Option<String>,
    }

2. A value of that type, as a frame, and as JSON that says the same:
     72 bytes  @shop>req:refund{order:A-1042|amount:12.5|reason:it_came_late|schema:RF}
    133 bytes  {"agent":"shop","intent":"req","operation":"refund","schema":"RF","payload":{"amount":12.5,"order":"A-1042","reason":"it came late"}}

3. The shop asks the bank. Each is a process that keeps its side of the session in a file.
    The bank runs as process _.
    shop > @shop>req:refund{order:A-1042|amount:12.5|reason:it_came_late|schema:RF}[mid:100000001001,seq:1,ts:_,pos:4,by:100,sum:_,proof:_]
    183 bytes: the number, the time and the proofs are the price of step 4.
    bank: pays 12.5 for order A-1042
    The bank is killed, and its answer is lost on the way.

4. The bank starts again from its file.
    The bank runs as process _.
    shop < @bank>done:refund{order:A-1042|schema:RF}[mid:101000001001,seq:2,ts:_,cid:100000001001]

Kills: 1. Paid: 1. Answered: 1.
The payment, the answer and the mark of the request were one commit, so the answer went out again.

Next: README.md, and docs/tutorial.md, which builds a program like this one.
"#;

/// Returns whether a line appears only on a slow machine, where a frame may be sent twice.
fn is_of_slowness(line: &str) -> bool {
    line.contains("The shop waits no longer")
}

#[test]
fn a_killed_bank_pays_once() {
    let run = Command::new(env!("CARGO_BIN_EXE_demo")).output().unwrap();
    let said = String::from_utf8(run.stdout).unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}{errors}");
    let lines = said.lines().filter(|line| !is_of_slowness(line));
    let said: Vec<_> = lines.map(steady).collect();
    assert_eq!(said, SAID.lines().collect::<Vec<_>>());
}

#[test]
fn other_words_are_refused() {
    let run = Command::new(env!("CARGO_BIN_EXE_demo"))
        .arg("other")
        .output()
        .unwrap();
    assert!(!run.status.success());
    assert!(String::from_utf8_lossy(&run.stderr).contains("usage: demo"));
}
