//! Steps of a walk: what a participant would sensibly do next, events with mistakes, and random ones.

use crate::walks::declared::{Declared, Doc, OF_STATE};
use crate::walks::fit;
use crate::walks::judge::{Judge, Verdict, sha256};
use crate::walks::line::{EVENTS, Line};
use crate::walks::rng::Rng;
use crate::walks::step::Step;
use crate::walks::world::World;

fn write(what: &str, name: &str, text: impl Into<Vec<u8>>) -> Step {
    Step::Write(what.to_owned(), vec![(name.to_owned(), Some(text.into()))])
}

/// Returns the time of the event after `count` events.
fn time(count: usize) -> String {
    format!("2026-01-01T{:02}:{:02}:00Z", count / 60, count % 60)
}

/// Returns an event whose members are right, apart from rules that depend on the state.
fn event(judge: &Judge<'_>, name: &str, from: &str) -> Line {
    let count = judge.log.events.len();
    Line {
        seq: count as u64 + 1,
        from: from.to_owned(),
        event: name.to_owned(),
        at: time(count),
        summary: "It is done, schön.".to_owned(),
        reply_to: (count > 0).then_some(count as u64),
        doc: (name == "completed").then(|| "conclusion.md".to_owned()),
        ..Line::default()
    }
}

fn about(line: Line, world: &World, doc: &Doc, role: &str) -> Line {
    let hash = (line.event == "deliverable_frozen").then(|| sha256(world.bytes(&doc.name)));
    Line {
        doc: Some(doc.reference.clone()),
        role: Some(role.to_owned()),
        sha256: hash,
        ..line
    }
}

/// Returns a sensible next step; `None` if the collaboration is over, or the folder is invalid.
pub(crate) fn sensible(
    world: &World,
    judge: &Judge<'_>,
    verdict: &Verdict,
    rng: &mut Rng,
) -> Option<Step> {
    let (declared, story) = judge.story()?;
    let (phase, _, _) = story.sum();
    if phase == "new" {
        let first = event(judge, "initialized", &declared.participants[0]);
        return Some(Step::Append(first));
    }
    let codes: Vec<&str> = verdict.errors.iter().copied().collect();
    if !codes.is_empty() && (rng.in_thousand(400) || phase == "readiness_check") {
        let code = rng.pick(&codes);
        // Most missing freezes are left until the walk comes to the freeze itself.
        let is_early = *code == *"freeze-missing" && rng.in_thousand(800);
        let mended = mend(world, judge, declared, code).filter(|_| !is_early);
        if let Some(step) = mended {
            return Some(step);
        }
    }
    if let Some(doc) = declared.supporting.first()
        && rng.in_thousand(20)
    {
        return Some(freeze_now(world, judge, doc, &declared.participants[0]));
    }
    let busy = declared.participants.iter().filter_map(|who| {
        let action = judge.todo(who).ok()?;
        let is_over = action.starts_with("wait") || action.starts_with("stop");
        (!is_over).then_some((&who[..], action))
    });
    let busy: Vec<(&str, &str)> = busy.collect();
    if busy.is_empty() {
        return None;
    }
    let (who, action) = busy[rng.below(busy.len())];
    let append = |name: &str| Step::Append(event(judge, name, who));
    let primary = |name: &str| {
        Step::Append(about(
            event(judge, name, who),
            world,
            &declared.primary,
            "primary",
        ))
    };
    let hash = story.frozen(&declared.primary.reference);
    Some(match action {
        "draft" => primary("deliverable_drafted"),
        "submit" => append("proposal_submitted"),
        "review" => append("review_submitted"),
        "revise" => match rng.below(20) {
            0 => append("proposal_submitted"),
            1..4 => append("decision_proposed"),
            4..6 => primary("deliverable_revised"),
            6 => primary("deliverable_drafted"),
            _ => append("proposal_revised"),
        },
        "classify" if !judge.has_questions() || rng.in_thousand(100) => {
            append("question_classified")
        }
        "classify" | "clear-readiness" => write(
            "close questions",
            "readiness.md",
            fit::readiness(declared, hash, " "),
        ),
        "accept" => append("decision_accepted"),
        "freeze" => freeze(world, judge, who)?,
        "check-gates" => {
            let mark = if rng.in_thousand(500) { "x" } else { "X" };
            write(
                "check gates",
                "readiness.md",
                fit::readiness(declared, hash, mark),
            )
        }
        "pass-readiness" => append("readiness_passed"),
        "conclude" => write("conclude", "conclusion.md", fit::conclusion(declared, hash)),
        _ => append("completed"),
    })
}

/// Returns the next step to a freeze: the freeze of the next deliverable, or the edit that makes it ready.
fn freeze(world: &World, judge: &Judge<'_>, who: &str) -> Option<Step> {
    let (doc, role) = judge.to_freeze()?;
    if role == "supporting" {
        return Some(freeze_now(world, judge, doc, who));
    }
    Some(match to_fill(judge, doc) {
        Some(step) => step,
        None => Step::Append(about(
            event(judge, "deliverable_frozen", who),
            world,
            doc,
            role,
        )),
    })
}

/// Returns the next step to the freeze of this supporting deliverable, whether or not it is declared frozen.
fn freeze_now(world: &World, judge: &Judge<'_>, doc: &Doc, who: &str) -> Step {
    to_fill(judge, doc).unwrap_or_else(|| {
        let line = event(judge, "deliverable_frozen", who);
        Step::Append(about(line, world, doc, "supporting"))
    })
}

/// Returns the step that makes a deliverable ready for its freeze, if it is not ready.
fn to_fill(judge: &Judge<'_>, doc: &Doc) -> Option<Step> {
    let text = fit::deliverable(doc, "Frozen", "Text.");
    let is_fit = judge.is_fit_to_freeze(doc);
    (!is_fit).then(|| write("fill and freeze", &doc.name, text))
}

/// Returns a step that removes a finding.
fn mend(world: &World, judge: &Judge<'_>, declared: &Declared, code: &str) -> Option<Step> {
    let (_, story) = judge.story()?;
    let hash = story.frozen(&declared.primary.reference);
    if OF_STATE.contains(&code) {
        let text = fit::protocol(judge, world.bytes("protocol.json"));
        return Some(write("repair", "protocol.json", text));
    }
    let reviews = || fit::reviews(declared, &judge.log.events);
    let what = format!("mend {code}");
    let mended = |name: &str, text: String| Some(write(&what, name, text));
    if code.starts_with("review") {
        return mended("review.md", reviews());
    }
    if code.starts_with("decision") {
        return mended("decisions.md", fit::decisions(declared, 1));
    }
    if code.starts_with("conclusion") {
        return mended("conclusion.md", fit::conclusion(declared, hash));
    }
    let all = || std::iter::once(&declared.primary).chain(&declared.supporting);
    match code {
        "blocking" | "unresolved" | "reason-missing" => {
            mended("readiness.md", fit::readiness(declared, hash, " "))
        }
        "ready-unchecked" | "gates-unchecked" => {
            mended("readiness.md", fit::readiness(declared, hash, "x"))
        }
        "file-forbidden" => {
            let names = ["state.log", "discussion.md", "opinions.md"];
            let gone = names.map(|name| (name.to_owned(), None));
            Some(Step::Write(what, gone.to_vec()))
        }
        "attachment-missing" => {
            let lacking = declared
                .attachments
                .iter()
                .find(|(_, name)| !world.has(name));
            mended(&lacking?.1, "PNG".to_owned())
        }
        "freeze-unmarked" => crate::walks::edits::mark_frozen(world, judge),
        "freeze-missing" => {
            let lacks = |doc: &&Doc| doc.is_frozen && story.frozen(&doc.reference).is_none();
            let doc = declared.supporting.iter().find(lacks)?;
            Some(freeze_now(world, judge, doc, &declared.participants[0]))
        }
        "unreadable" | "file-required" => {
            let lacks = |name: &str| !world.has(name) || !world.is_utf8(name);
            if lacks("readiness.md") {
                mended("readiness.md", fit::readiness(declared, hash, " "))
            } else if lacks("review.md") {
                mended("review.md", reviews())
            } else if lacks("decisions.md") {
                mended("decisions.md", fit::decisions(declared, 2))
            } else if lacks("conclusion.md") {
                mended("conclusion.md", fit::conclusion(declared, hash))
            } else if lacks("proposal.md") {
                mended("proposal.md", "# Proposal\n".to_owned())
            } else {
                let doc = all().find(|doc| lacks(&doc.name))?;
                mended(&doc.name, fit::deliverable(doc, "Draft", "Text."))
            }
        }
        _ => {
            let may_change = |doc: &&Doc| story.frozen(&doc.reference).is_none();
            let wrong = |doc: &&Doc| !judge.is_fit_to_freeze(doc);
            let doc = all().filter(may_change).find(wrong)?;
            let status = if doc.is_frozen { "Frozen" } else { "In Review" };
            mended(&doc.name, fit::deliverable(doc, status, "Text."))
        }
    }
}

/// Returns an event of random parts.
pub(crate) fn random(world: &World, judge: &Judge<'_>, rng: &mut Rng) -> Line {
    let mut names = EVENTS.to_vec();
    // `blocked` ends the walk, so it is not among the random events.
    names.retain(|name| *name != "blocked");
    let name = rng.pick(&names);
    let mut people = vec!["ada", "Bob", "cy d", "dörte", "eve"];
    if let Some(declared) = &judge.declared {
        let known = declared.participants.iter().map(|one| &one[..]);
        people = known.collect();
    }
    if let Some((_, story)) = judge.story()
        && rng.in_thousand(500)
    {
        let (_, owner, asked) = story.sum();
        people = asked;
        people.push(owner);
    }
    people.retain(|one| !one.is_empty());
    people.push("ada");
    let mut line = event(judge, name, rng.pick(&people));
    if let Some(declared) = judge.declared.clone()
        && line.is_of_deliverable()
    {
        let count = declared.supporting.len();
        let at = rng.below(2 * count + 1);
        line = match declared.supporting.get(at) {
            Some(doc) => about(line, world, doc, "supporting"),
            None => about(line, world, &declared.primary, "primary"),
        };
    }
    line
}

/// Replaces one member of an event by another value, which may be valid or not.
pub(crate) fn with_mistake(line: Line, judge: &Judge<'_>, rng: &mut Rng) -> Line {
    let mut line = line;
    let docs = [
        "conclusion.md",
        "proposal.md",
        "../up.md",
        "/up.md",
        "none.md",
        "external:a/../b.md",
    ];
    let mut docs: Vec<String> = docs.map(str::to_owned).to_vec();
    let mut people = vec!["stranger".to_owned(), "bob".to_owned(), String::new()];
    if let Some(declared) = &judge.declared {
        docs.extend(declared.supporting.iter().map(|one| one.reference.clone()));
        docs.push(declared.primary.reference.clone());
        people.extend(declared.participants.iter().cloned());
    }
    match rng.below(16) {
        0 => rng
            .pick(&["", " ", "\u{2028}", "\t\n", "x"])
            .clone_into(&mut line.summary),
        1 | 2 => line.from = people.swap_remove(rng.below(people.len())),
        3 | 4 => line.doc = Some(docs.swap_remove(rng.below(docs.len()))),
        5 => line.doc = None,
        6 => line.role = None,
        7 => line.role = Some("supporting".to_owned()),
        8 => line.role = Some("primary".to_owned()),
        9 => line.reply_to = None,
        10 => line.reply_to = Some(rng.next() % (line.seq + 2)),
        11 => line.sha256 = None,
        12 => line.sha256 = Some("0".repeat(64)),
        13 => line.sha256 = line.sha256.map(|text| text.to_uppercase()),
        14 => "2025-12-31T23:59:59Z".clone_into(&mut line.at),
        _ => line.seq += rng.next() % 3,
    }
    line
}

/// Returns the event `blocked` of a random participant.
pub(crate) fn blocked(judge: &Judge<'_>, rng: &mut Rng) -> Line {
    let names = judge.declared.as_ref().map(|one| one.participants.clone());
    let names = names.unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|one| &one[..]).chain(["ada"]).collect();
    event(judge, "blocked", rng.pick(&names))
}
