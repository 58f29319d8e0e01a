//! Nothing is lost and nothing is done twice, whenever one of the processes is killed.

use std::process::Command;

use rusqlite::Connection;

/// The number of lines that each process prints when no process is killed.
const LINES: usize = 7;

/// Plays a session in which `victim` is killed after a line. Returns the output and the rows of the
/// shop.
fn play(victim: &str, line: usize) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_support"))
        .args([
            "demo",
            folder.path().to_str().unwrap(),
            victim,
            &line.to_string(),
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    let shop = Connection::open(folder.path().join("shop.accp")).unwrap();
    let rows = "SELECT 'asked ' || case_id FROM app_asked
        UNION ALL SELECT 'paid ' || case_id || ' ' || amount FROM app_paid
        UNION ALL SELECT 'escalated ' || case_id FROM app_escalated";
    let mut rows = shop.prepare(rows).unwrap();
    let rows = rows.query_map((), |row| row.get(0)).unwrap();
    (said, rows.map(Result::unwrap).collect())
}

const ROWS: [&str; 4] = ["asked c1", "asked c2", "paid c1 59.9", "escalated c2"];

#[test]
fn two_cases_are_settled() {
    let (said, rows) = play("nobody", 0);
    assert_eq!(rows, ROWS, "{said}");
    for who in ["desk", "shop"] {
        let lines = said.lines().filter(|line| line.starts_with(who));
        assert_eq!(lines.count(), LINES, "{said}");
    }
    assert!(
        said.contains("corrects the model: amount: expected a number"),
        "{said}"
    );
}

#[test]
fn also_when_the_shop_is_killed_at_any_line() {
    for line in 1..=LINES {
        let (said, rows) = play("shop", line);
        assert!(said.contains("the shop is killed"), "{said}");
        assert_eq!(rows, ROWS, "{said}");
    }
}

#[test]
fn also_when_the_desk_is_killed_at_any_line() {
    for line in 1..=LINES {
        let (said, rows) = play("desk", line);
        assert!(said.contains("the desk is killed"), "{said}");
        assert_eq!(rows, ROWS, "{said}");
    }
}
