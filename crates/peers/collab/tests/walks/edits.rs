//! Edits of the files of a folder, by people who know the rules and people who do not.

use serde_json::{Value as Json, json};

use crate::walks::declared::{Declared, FORBIDDEN};
use crate::walks::fit;
use crate::walks::judge::Judge;
use crate::walks::rng::Rng;
use crate::walks::step::{Step, Writes};
use crate::walks::world::World;

/// Returns an edit of any file.
pub(crate) fn edit(world: &World, judge: &Judge<'_>, rng: &mut Rng) -> Step {
    match rng.below(20) {
        0..12 => of_text(world, judge, rng),
        12..16 => of_protocol(world, rng),
        16..19 => of_log(world, rng),
        _ => of_others(world, judge, rng),
    }
}

fn step(what: String, name: &str, bytes: Vec<u8>) -> Step {
    Step::Write(what, vec![(name.to_owned(), Some(bytes))])
}

fn of_text(world: &World, judge: &Judge<'_>, rng: &mut Rng) -> Step {
    let mut names = vec!["proposal.md", "review.md", "decisions.md", "readiness.md"];
    names.extend(["conclusion.md", "readiness.md", "decisions.md", "review.md"]);
    let declared = judge.declared.clone();
    if let Some(declared) = &declared {
        names.push(&declared.primary.name);
        names.extend(declared.supporting.iter().map(|doc| &doc.name[..]));
    }
    let name = rng.pick(&names);
    let text = world.text(name);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = rng.below(lines.len() + 1);
    let is_there = at < lines.len();
    let what = match rng.below(40) {
        0 => {
            let gone = vec![(name.to_owned(), None)];
            return Step::Write(format!("remove {name}"), gone);
        }
        1 => {
            let bytes = [world.bytes(name), b"\xff\n"].concat();
            return step(format!("no UTF-8 in {name}"), name, bytes);
        }
        2 => {
            let text = text.replace('\n', "\r\n");
            return step(format!("ends of lines in {name}"), name, text.into());
        }
        3..8 if is_there => {
            lines.remove(at);
            format!("remove line {at} of {name}")
        }
        8..10 if is_there => {
            lines.insert(at, lines[at].clone());
            format!("repeat line {at} of {name}")
        }
        10..12 if is_there && lines[at].starts_with("- ") => {
            // The cut leaves marks and keys whole, because no rule says what half a mark means.
            let keep = lines[at].find("] ").map_or(16, |mark| mark + 3);
            lines[at] = lines[at].chars().take(keep + rng.below(20)).collect();
            format!("cut line {at} of {name}")
        }
        12 if declared.is_some() && name == "decisions.md" => {
            let declared = declared.as_ref().expect("a declaration");
            return step(
                "new decisions".to_owned(),
                name,
                fit::decisions(declared, 3).into(),
            );
        }
        _ => {
            let added = vocabulary(name, declared.as_deref(), judge, rng);
            let what = format!("add {added:?} at {at} of {name}");
            lines.insert(at.min(lines.len()), added);
            what
        }
    };
    step(what, name, (lines.join("\n") + "\n").into_bytes())
}

/// Returns one or more lines that could stand in a file.
fn vocabulary(name: &str, declared: Option<&Declared>, judge: &Judge<'_>, rng: &mut Rng) -> String {
    let of_primary = declared.map_or("x.md", |declared| &declared.primary.reference);
    match name {
        "readiness.md" => rng.pick(&[
            "- [blocking] Who pays?",
            "- [unresolved] What is it?",
            "- [resolved] It is fine.",
            "- [resolved] TBD",
            "  - [deferred_nonblocking] Later.",
            "- [deferred_nonblocking] Later. REASON: cost.",
            "- [x] Ready to implement",
            "- [X] The first gate",
            "- [ ] The first gate",
            "- TBD",
        ]),
        "conclusion.md" => rng.pick(&[
            "- [defer] Later.",
            "- [blocked] Nobody pays.",
            "The rest is TBD.",
            "A todo: all.",
            "Many todos and a tbd_.",
            "It is Unresolved",
            "## Rationale",
            "## Another section",
        ]),
        "proposal.md" => "- We do it. TBD",
        "decisions.md" => {
            let mut text = rng
                .pick(&[
                    "### D1. One",
                    "### D2. Two",
                    "### D3. Three",
                    "### Two",
                    "### D1.",
                    "### X2. Two",
                ])
                .to_owned();
            let target = rng.pick(&[of_primary, of_primary, of_primary, "other.md"]);
            let parts = ["- Decision: yes", "- Rationale: so", "- Reflected in: "];
            for part in parts.into_iter().filter(|_| !rng.in_thousand(150)) {
                text = format!("{text}\n{part}");
            }
            return format!("{text}`{target}`");
        }
        "review.md" => return review(of_primary, judge, rng),
        _ => rng.pick(&[
            "Status: Frozen",
            "Status: In Review",
            "Status: Done",
            "## Scope",
            "## Context",
            "A line.",
            "### Detail",
        ]),
    }
    .to_owned()
}

fn review(of_primary: &str, judge: &Judge<'_>, rng: &mut Rng) -> String {
    let events = &judge.log.events;
    let reviews = events
        .iter()
        .filter(|event| event.event == "review_submitted");
    let reviews: Vec<_> = reviews.collect();
    if events.is_empty() || rng.in_thousand(200) {
        return "- Concerns: none".to_owned();
    }
    let event = if reviews.is_empty() || rng.in_thousand(200) {
        &events[rng.below(events.len())]
    } else {
        reviews[rng.below(reviews.len())]
    };
    let from = if rng.in_thousand(200) {
        "ada"
    } else {
        &event.from
    };
    let seq = event.seq + u64::from(rng.in_thousand(150));
    let heading = fit::heading(event, from, seq);
    if rng.in_thousand(300) {
        return heading;
    }
    format!(
        "{heading}\n- Reviewed primary deliverable: `{of_primary}`\nReview Scope:\n\
         - Primary deliverable completeness"
    )
}

/// Returns members of protocol.json and what may be written there.
fn members() -> Vec<(&'static str, Json)> {
    let gate = |source: &str, text: &str| json!({ "source": source, "text": text });
    let with = |one: Json| json!([gate("objective", "The first gate"), one]);
    let doc = |file: &str, kind: &str| json!([{ "file": file, "type": kind }]);
    let frozen = json!([{ "file": "more.md", "type": "test-plan", "frozen": true }]);
    let twice = json!([{ "file": "b.md", "type": "adr" }, { "file": "b.md", "type": "adr" }]);
    vec![
        ("/protocol", json!("acq")),
        ("/schemaVersion", json!(3)),
        ("/schemaVersion", json!("2")),
        ("/objective", json!(" ")),
        ("/objective", json!("Another objective")),
        ("/currentPhase", json!("sleeping")),
        ("/currentPhase", json!("reviewing")),
        ("/currentPhase", json!("readiness_check")),
        ("/proposalOwner", json!(7)),
        ("/proposalOwner", json!("eve")),
        ("/waitingFor", json!("ada")),
        ("/waitingFor", json!([])),
        ("/waitingFor", json!(["ada", "Bob"])),
        ("/participants", json!([])),
        ("/participants", json!([{ "id": "ada" }])),
        (
            "/participants",
            json!([{ "id": "ada" }, { "id": "eve" }, { "id": "Bob" }]),
        ),
        ("/participants/0", json!({ "name": "ada" })),
        ("/completionGates", json!([])),
        (
            "/completionGates",
            with(gate("generated", "The second gate ")),
        ),
        ("/completionGates", with(gate("mine", "The second gate"))),
        (
            "/completionGates",
            with(gate("objective", "opinions.md is short")),
        ),
        ("/completionGates", with(json!("The second gate"))),
        ("/deliverables", json!("none")),
        ("/deliverables/primary", json!("adr.md")),
        ("/deliverables/mode", json!("both")),
        ("/deliverables/mode", json!("internal")),
        ("/deliverables/mode", json!("external")),
        ("/deliverables/dir", json!("../up")),
        ("/deliverables/dir", json!("/up")),
        ("/deliverables/primary/type", json!("memo")),
        ("/deliverables/primary/type", json!("custom")),
        ("/deliverables/primary/file", json!("../adr.md")),
        ("/deliverables/primary/file", json!("adr.txt")),
        ("/deliverables/primary/checklist", json!([" "])),
        ("/deliverables/supporting", json!([])),
        ("/deliverables/supporting", frozen),
        ("/deliverables/supporting", doc("more.md", "adr")),
        ("/deliverables/supporting", doc("more.txt", "adr")),
        ("/deliverables/supporting", doc("../more.md", "adr")),
        ("/deliverables/supporting", doc("more.md", "list")),
        ("/deliverables/supporting", doc("notes.md", "adr")),
        ("/deliverables/supporting", twice),
        ("/deliverables/attachments", json!([])),
        ("/deliverables/attachments", json!([{ "file": "a.png" }])),
        ("/deliverables/attachments", json!([{ "file": "../a.png" }])),
        ("/deliverables/attachments", json!(["a.png"])),
        ("/x-own", json!({ "kept": true })),
    ]
}

fn of_protocol(world: &World, rng: &mut Rng) -> Step {
    let name = "protocol.json";
    let bytes = world.bytes(name);
    match rng.below(40) {
        0 => return Step::Write(format!("remove {name}"), vec![(name.to_owned(), None)]),
        1 => {
            let cut = bytes.len() - 1 - rng.below(bytes.len().max(3) - 2).min(bytes.len() - 1);
            return step(format!("cut {name} at {cut}"), name, bytes[..cut].to_vec());
        }
        2 => return step(format!("array in {name}"), name, b"[{}]".to_vec()),
        _ => {}
    }
    let mut json: Json = serde_json::from_slice(bytes).unwrap_or_default();
    let mut all = members();
    let (pointer, value) = all.swap_remove(rng.below(all.len()));
    if rng.in_thousand(100) {
        return repo_root(json, rng);
    }
    let what = format!("{pointer} = {value}");
    let (above, key) = pointer.rsplit_once('/').expect("a pointer");
    let place = json.pointer_mut(above);
    match place {
        Some(Json::Object(object)) if rng.in_thousand(100) => {
            object.remove(key);
            return of_json(format!("remove {pointer}"), &json);
        }
        Some(Json::Object(object)) => {
            object.insert(key.to_owned(), value);
        }
        Some(Json::Array(items)) if !items.is_empty() => items[0] = value,
        _ => {}
    }
    of_json(what, &json)
}

fn of_json(what: String, json: &Json) -> Step {
    let bytes = serde_json::to_vec(json).expect("JSON is written");
    step(what, "protocol.json", bytes)
}

fn repo_root(mut json: Json, rng: &mut Rng) -> Step {
    if let Some(object) = json.as_object_mut() {
        let value = rng.pick(&["/", "../..", "../../..", " ", ""]);
        if value.is_empty() {
            object.remove("repoRoot");
        } else {
            object.insert("repoRoot".to_owned(), json!(value));
        }
    }
    of_json("repoRoot".to_owned(), &json)
}

/// Declares as frozen all supporting deliverables that the log has frozen.
pub(crate) fn mark_frozen(world: &World, judge: &Judge<'_>) -> Option<Step> {
    let (declared, story) = judge.story()?;
    let mut json: Json = serde_json::from_slice(world.bytes("protocol.json")).ok()?;
    for (at, doc) in declared.supporting.iter().enumerate() {
        if story.frozen(&doc.reference).is_some() {
            json["deliverables"]["supporting"][at]["frozen"] = json!(true);
        }
    }
    Some(of_json("mark as frozen".to_owned(), &json))
}

fn of_log(world: &World, rng: &mut Rng) -> Step {
    let name = "events.jsonl";
    let text = world.text(name);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        let gone = vec![(name.to_owned(), None)];
        return Step::Write(format!("remove {name}"), gone);
    }
    let last = lines.len() - 1;
    let at = if rng.in_thousand(600) {
        last
    } else {
        rng.below(lines.len())
    };
    let what = match rng.below(12) {
        0 => {
            lines.remove(at);
            format!("remove line {at} of the log")
        }
        1 => {
            lines.push(lines[at].clone());
            format!("repeat line {at} of the log")
        }
        2 => {
            let cut: String = text
                .trim_end()
                .chars()
                .rev()
                .skip(1 + rng.below(60))
                .collect();
            let cut: String = cut.chars().rev().collect();
            return step("cut the log".to_owned(), name, cut.into());
        }
        3 => return step("no last line feed".to_owned(), name, text.trim_end().into()),
        4 => {
            lines.insert(at, " ".to_owned());
            format!("blank line {at} of the log")
        }
        5 => {
            lines.insert(at, rng.pick(&["[]", "7", "{", "\"seq\""]).to_owned());
            format!("junk at line {at} of the log")
        }
        6 if at > 0 => {
            lines.swap(at, at - 1);
            format!("swap lines {at} of the log")
        }
        _ => {
            let mut all = retyped();
            let (key, value) = all.swap_remove(rng.below(all.len()));
            let mut json: Json = serde_json::from_str(&lines[at]).unwrap_or_default();
            if let Some(object) = json.as_object_mut() {
                if rng.in_thousand(150) {
                    object.remove(key);
                } else {
                    object.insert(key.to_owned(), value.clone());
                }
            }
            lines[at] = json.to_string();
            format!("{key} = {value} in line {at} of the log")
        }
    };
    step(what, name, (lines.join("\n") + "\n").into_bytes())
}

fn retyped() -> Vec<(&'static str, Json)> {
    vec![
        ("seq", json!("2")),
        ("seq", json!([2])),
        ("seq", json!(0)),
        ("seq", json!(7)),
        ("seq", json!(1.5)),
        ("from", json!("stranger")),
        ("from", json!("ada")),
        ("from", json!("Bob")),
        ("from", Json::Null),
        ("event", json!("slept")),
        ("event", json!("blocked")),
        ("event", json!("decision_accepted")),
        ("event", json!("completed")),
        ("event", json!("review_submitted")),
        ("at", json!("soon")),
        ("at", json!("2025-01-01T00:00:00Z")),
        ("at", json!("2027-01-01T00:00:00Z")),
        ("at", json!(2026)),
        ("summary", json!("")),
        ("summary", json!({})),
        ("doc", json!("../up.md")),
        ("doc", json!(["a.md"])),
        ("reply_to", json!(1)),
        ("reply_to", json!(0)),
        ("reply_to", json!(99)),
        ("reply_to", json!("1")),
        ("role", json!("supporting")),
        ("role", json!("third")),
        ("sha256", json!("0")),
        ("sha256", json!("0".repeat(64))),
        ("x-own", json!(true)),
    ]
}

fn of_others(world: &World, judge: &Judge<'_>, rng: &mut Rng) -> Step {
    let attachments = judge.declared.as_ref().map(|one| one.attachments.clone());
    let attachments = attachments.unwrap_or_default();
    let name = match attachments.first() {
        Some((_, name)) if rng.in_thousand(500) => name,
        _ => rng.pick(&FORBIDDEN),
    };
    let writes: Writes = if world.has(name) {
        vec![(name.to_owned(), None)]
    } else {
        vec![(name.to_owned(), Some(b"x".to_vec()))]
    };
    Step::Write(format!("{name} comes or goes"), writes)
}
