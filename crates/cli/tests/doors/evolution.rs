//! Tests of the table in docs/evolution.md: what happens to a frame if its writer and its reader have different
//! versions of a registry. The same program is built twice, with the types of an old registry and with those of a new
//! one. Each run is a separate process.
//!
//! `ACCP_BLESS=1 cargo test -p accp-cli --test all evolution` writes the table again.

mod joining;
#[allow(
    clippy::duplicate_mod,
    reason = "the program has the types of either registry"
)]
mod new;
mod old;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Value as Json, json};

use super::processes::{HUB, Hub, Program};
use crate::cli::{command, finish, workspace};

/// A row of the table: a change of a registry, and a frame of each side that shows the effect.
struct Row {
    change: &'static str,
    /// The frame that the program with the old registry writes; `None` if it cannot write one.
    old: Option<Said>,
    new: Option<Said>,
}

/// A frame of one side: its operation, payload and schema as text, the path of the field that the change affects, and
/// the value that this field has for the writer.
struct Said(&'static str, &'static str, Json);

fn rows() -> Vec<Row> {
    let row = |change, old, new| Row { change, old, new };
    let both = |change, old, new| row(change, Some(old), Some(new));
    vec![
        both(
            "an optional field is added",
            Said("optional_field{item:a|schema:OF}", "note", Json::Null),
            Said(
                "optional_field{item:a|note:x|schema:OF}",
                "note",
                json!("x"),
            ),
        ),
        both(
            "a field with a default is added",
            Said("default_field{item:a|schema:DF}", "level", json!("low")),
            Said(
                "default_field{item:a|level:high|schema:DF}",
                "level",
                json!("high"),
            ),
        ),
        both(
            "a required field is added",
            Said("required_field{item:a|schema:RF}", "note", Json::Null),
            Said(
                "required_field{item:a|note:x|schema:RF}",
                "note",
                json!("x"),
            ),
        ),
        both(
            "an optional field is removed",
            Said("no_option{item:a|note:x|schema:NO}", "note", json!("x")),
            Said("no_option{item:a|schema:NO}", "note", Json::Null),
        ),
        both(
            "a required field is removed",
            Said(
                "no_requirement{item:a|note:x|schema:NR}",
                "note",
                json!("x"),
            ),
            Said("no_requirement{item:a|schema:NR}", "note", Json::Null),
        ),
        both(
            "a field is renamed",
            Said("renamed{amount:9.5|schema:RN}", "amount", json!(9.5)),
            Said("renamed{total:9.5|schema:RN}", "total", json!(9.5)),
        ),
        both(
            "a field is renamed, and the new registry has the old name as an alias",
            Said("aliased{amount:9.5|schema:AL}", "amount", json!(9.5)),
            Said("aliased{total:9.5|schema:AL}", "total", json!(9.5)),
        ),
        both(
            "the same, and the old registry has the new name as an alias",
            Said("both_known{amount:9.5|schema:BK}", "amount", json!(9.5)),
            Said("both_known{total:9.5|schema:BK}", "total", json!(9.5)),
        ),
        both(
            "a default is another, and the field is left out",
            Said(
                "default_changed{level:low|schema:DC}",
                "level",
                json!("low"),
            ),
            Said(
                "default_changed{level:high|schema:DC}",
                "level",
                json!("high"),
            ),
        ),
        both(
            "an enumeration gets a value",
            Said("value_added{level:high|schema:VA}", "level", json!("high")),
            Said("value_added{level:top|schema:VA}", "level", json!("top")),
        ),
        both(
            "the same, and the old type has a variant `other`",
            Said("value_other{level:high|schema:VO}", "level", json!("high")),
            Said("value_other{level:top|schema:VO}", "level", json!("top")),
        ),
        both(
            "an enumeration loses a value",
            Said("value_removed{level:top|schema:VR}", "level", json!("top")),
            Said(
                "value_removed{level:high|schema:VR}",
                "level",
                json!("high"),
            ),
        ),
        both(
            "a union gets a variant",
            Said(
                "variant_added{pay:{kind:card,no:1}|schema:UA}",
                "pay",
                json!({ "kind": "card", "no": "1" }),
            ),
            Said(
                "variant_added{pay:{kind:cash}|schema:UA}",
                "pay",
                json!({ "kind": "cash" }),
            ),
        ),
        both(
            "the same, and the old type has a variant `other`",
            Said(
                "variant_other{pay:{kind:card,no:1}|schema:UO}",
                "pay",
                json!({ "kind": "card", "no": "1" }),
            ),
            Said(
                "variant_other{pay:{kind:cash}|schema:UO}",
                "pay",
                json!({ "kind": "cash" }),
            ),
        ),
        both(
            "a variant gets a field that no other has",
            Said(
                "variant_field{way:{kind:road}|schema:UF}",
                "way.toll",
                Json::Null,
            ),
            Said(
                "variant_field{way:{kind:road,toll:2}|schema:UF}",
                "way.toll",
                json!(2),
            ),
        ),
        both(
            "a variant gets a field that another has",
            Said(
                "variant_shared{by:{kind:rail}|schema:US}",
                "by.line",
                Json::Null,
            ),
            Said(
                "variant_shared{by:{kind:rail,line:7}|schema:US}",
                "by.line",
                json!(7),
            ),
        ),
        both(
            "`integer` becomes `decimal`",
            Said("widened{count:2|schema:WI}", "count", json!(2)),
            Said("widened{count:2.5|schema:WI}", "count", json!(2.5)),
        ),
        both(
            "a list becomes a single value",
            Said("list_to_single{item:[a]|schema:LS}", "item", json!(["a"])),
            Said("list_to_single{item:a|schema:LS}", "item", json!("a")),
        ),
        both(
            "a schema gets another code",
            Said("code_renamed{item:a|schema:CODE}", "item", json!("a")),
            Said("code_renamed{item:a|schema:CODE2}", "item", json!("a")),
        ),
        row(
            "a schema is added",
            None,
            Some(Said("schema_added{item:a|schema:SA}", "item", json!("a"))),
        ),
    ]
}

/// The version of the registry that a program or a hub has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Age {
    Old,
    New,
}

use Age::{New, Old};

impl Age {
    fn word(self) -> &'static str {
        if self == Old { "old" } else { "new" }
    }

    fn other(self) -> Self {
        if self == Old { New } else { Old }
    }

    fn registry(self) -> String {
        fs::read_to_string(self.file("registry.json")).unwrap()
    }

    fn file(self, name: &str) -> PathBuf {
        let folder = Path::new("tests/doors/evolution").join(self.word());
        folder.join(name)
    }
}

impl Row {
    fn said(&self, writer: Age) -> Option<&Said> {
        match writer {
            Old => self.old.as_ref(),
            New => self.new.as_ref(),
        }
    }

    /// Returns the word for the table cell: what the reader made of the writer's frame.
    fn outcome(&self, writer: Age, heard: &Json) -> String {
        let Some(Said(_, written, value)) = self.said(writer) else {
            return "–".to_owned();
        };
        if let Some(code) = heard["error"].as_str() {
            return code.to_owned();
        }
        // The reader may know the field under another name, which its own frame in this row shows.
        let here = self.said(writer.other()).map_or(*written, |said| said.1);
        let dropped = heard["dropped"].as_array().unwrap();
        let held = here
            .split('.')
            .fold(&heard["held"], |held, name| &held[name]);
        let last = written.split('.').next_back();
        match held {
            held if same(held, value) => "read",
            Json::Null if dropped.contains(&json!(last)) => "dropped",
            Json::Null => "lost",
            _ => "another value",
        }
        .to_owned()
    }
}

/// Returns whether two values are the same for a program. The numbers `2` and `2.0` count as the same.
fn same(one: &Json, other: &Json) -> bool {
    one == other || one.as_f64().is_some() && one.as_f64() == other.as_f64()
}

/// The main function of a program that a test starts. The part gives the version of its registry and the agent's name.
pub(crate) async fn play(part: &str) {
    let (age, name) = part.split_once(' ').unwrap();
    let address = env::var(HUB).unwrap();
    let is_old = age == "old";
    let agent = match (is_old, name) {
        (_, "nobody") => None,
        (true, _) => Some(old::program::connect(address, name).await),
        (false, _) => Some(new::program::connect(address, name).await),
    };
    let agent = agent.map(|agent| agent.expect("a hub"));
    if let Some(agent) = &agent {
        agent.joined().await.expect("a member");
    }
    println!("\npart: ready");
    let mut lines =
        tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(tokio::io::stdin()));
    while let Ok(Some(line)) = lines.next_line().await {
        let (what, text) = line.split_once(' ').unwrap();
        let answer = match (what, &agent) {
            ("write", _) if is_old => json!(old::program::written(text)),
            ("write", _) => json!(new::program::written(text)),
            ("read", _) if is_old => old::program::read(text),
            ("read", _) => new::program::read(text),
            (_, Some(agent)) => {
                let sending = if is_old {
                    agent.send(old::program::typed(text))
                } else {
                    agent.send(new::program::typed(text))
                };
                match sending.await {
                    Ok(_) => json!("sent"),
                    Err(error) => json!(
                        error
                            .code()
                            .map_or_else(String::new, |code| code.to_string())
                    ),
                }
            }
            (what, None) => json!(format!("{what} needs a hub")),
        };
        println!("\npart: {answer}");
    }
}

impl Program {
    /// Starts the program with this version of the registry. With the name `nobody` it opens no agent.
    fn of(age: Age, name: &str, folder: &Path, hub: &Hub) -> Self {
        let mut program = Self::start(folder, hub, &format!("evolution {} {name}", age.word()));
        assert_eq!(program.says(), "ready");
        program
    }

    fn asked(&mut self, what: &str, text: &str) -> Json {
        self.tell(&format!("{what} {text}"));
        self.heard()
    }

    fn heard(&mut self) -> Json {
        serde_json::from_str(&self.says()).unwrap()
    }
}

/// Returns the frame that a program writes.
fn frame(said: &Said) -> String {
    format!("@w>req:{}", said.0)
}

/// Both programs run without a session: one program writes its frames as text, and the other reads them. Returns a
/// cell for each row.
fn codec(rows: &[Row], writer: Age) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::with(folder.path(), "{}");
    let start = |age| Program::of(age, "nobody", folder.path(), &hub);
    let (mut from, mut reads) = (start(writer), start(writer.other()));
    let cell = |row: &Row| {
        let Some(said) = row.said(writer) else {
            return row.outcome(writer, &Json::Null);
        };
        let text = from.asked("write", &frame(said));
        row.outcome(writer, &reads.asked("read", text.as_str().unwrap()))
    };
    rows.iter().map(cell).collect()
}

/// Both programs are agents of a hub that has one of the two registries. Returns a cell for each row.
fn session(rows: &[Row], hub: Age, writer: Age) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Hub::with(folder.path(), &hub.registry());
    running.start();
    let start = |age: Age| Program::of(age, age.word(), folder.path(), &running);
    let (mut from, mut reads) = (start(writer), start(writer.other()));
    let cell = |row: &Row| {
        let Some(said) = row.said(writer) else {
            return row.outcome(writer, &Json::Null);
        };
        let sent = from.asked("send", &frame(said));
        match sent.as_str().unwrap() {
            "sent" => row.outcome(writer, &reads.heard()),
            code => format!("{code} to the sender"),
        }
    };
    rows.iter().map(cell).collect()
}

/// A hub and an agent store a session, and then continue the session with the other registry. Returns a cell for each
/// row.
fn log(rows: &[Row], writer: Age) -> Vec<String> {
    let (folder, mut hub) = Hub::started(&writer.registry());
    let reader = Program::of(writer, "reader", folder.path(), &hub);
    reader.kill();
    let mut from = Program::of(writer, "writer", folder.path(), &hub);
    for said in rows.iter().filter_map(|row| row.said(writer)) {
        assert_eq!(from.asked("send", &frame(said)), "sent", "{}", said.0);
    }
    from.kill();
    hub.kill();
    let registry = folder.path().join("registry.json");
    fs::write(registry, writer.other().registry()).unwrap();
    hub.start();
    let mut reads = Program::start(
        folder.path(),
        &hub,
        &format!("evolution {} reader", writer.other().word()),
    );
    // Handlers run concurrently, so the agent may say `ready` before, between or after the lines of its handlers.
    let expected = rows.iter().filter(|row| row.said(writer).is_some()).count();
    let mut heard = BTreeMap::new();
    while heard.len() < expected {
        let said = reads.says();
        if said != "ready" {
            let said: Json = serde_json::from_str(&said).unwrap();
            let operation = said["operation"].as_str().unwrap().to_owned();
            heard.insert(operation, said);
        }
    }
    let cell = |row: &Row| match row.said(writer) {
        Some(said) => row.outcome(writer, &heard[said.0.split('{').next().unwrap()]),
        None => row.outcome(writer, &Json::Null),
    };
    rows.iter().map(cell).collect()
}

/// Returns a Markdown table. Its first column has the changes.
fn table(rows: &[Row], heads: [&str; 2], cells: [&[String]; 2]) -> String {
    let mut out = format!("| Change | {} | {} |\n|---|---|---|\n", heads[0], heads[1]);
    for (at, row) in rows.iter().enumerate() {
        let change = row.change;
        writeln!(out, "| {change} | {} | {} |", cells[0][at], cells[1][at]).unwrap();
    }
    out
}

/// Compares a table with the table on the page, or writes it to the page.
fn compare(name: &str, table: &str) {
    let page = workspace().join("docs/evolution.md");
    let text = fs::read_to_string(&page).unwrap();
    let (start, end) = (format!("<!-- table: {name} -->\n"), "<!-- end -->");
    let from = text.find(&start).map(|at| at + start.len());
    let from = from.expect("the page has the marks of each table");
    let to = from + text[from..].find(end).unwrap();
    if env::var_os("ACCP_BLESS").is_some() && env::var_os("CI").is_none() {
        fs::write(&page, [&text[..from], table, &text[to..]].concat()).unwrap();
        return;
    }
    assert_eq!(
        &text[from..to],
        table,
        "bless with ACCP_BLESS=1 if the change is meant"
    );
}

const READERS: [&str; 2] = [
    "the old reader, of new frames",
    "the new reader, of old frames",
];

#[test]
fn the_table_of_changes() {
    let rows = rows();
    let each = |cells: &dyn Fn(Age) -> Vec<String>| [cells(New), cells(Old)];
    let shown = |name: &str, cells: [Vec<String>; 2]| {
        let [old_reads, new_reads] = &cells;
        compare(name, &table(&rows, READERS, [old_reads, new_reads]));
    };
    shown("codec", each(&|writer| codec(&rows, writer)));
    for hub in [Old, New] {
        let name = format!("a session with the {} registry", hub.word());
        shown(&name, each(&|writer| session(&rows, hub, writer)));
    }
    shown("log", each(&|writer| log(&rows, writer)));
}

/// The types of both programs must be what the command generates from the registries.
#[test]
fn the_types_of_the_registries() {
    for age in [Old, New] {
        let mut generate = command();
        generate.arg("generate").arg(age.file("registry.json"));
        generate.args(["--owned", "--runtime", "accp_frame"]);
        if age == Old {
            generate.args(["--field-type", "ValueOtherReq.level=super::Level"]);
            generate.args(["--field-type", "VariantOtherReq.pay=super::AnyPayment"]);
        }
        if env::var_os("ACCP_BLESS").is_none() {
            generate.arg("--check");
        }
        generate.arg("-o").arg(age.file("types.rs"));
        finish(&mut generate, b"").code_is(0);
    }
}
