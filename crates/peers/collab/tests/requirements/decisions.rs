//! Decisions: COL-48 to COL-50.

use accp_collab::{Action, Code, DECISIONS_FILE};
use serde_json::json;

use crate::requirements::round::{Round, codes};

/// Returns a valid decision with this id.
fn decision(id: &str) -> String {
    format!(
        "### {id}. Use a queue\n\n- Decision: We use a queue.\n- Rationale: It is fast.\n\
         - Reflected in: `deliverables/adr.md#decision`\n\n"
    )
}

/// Returns the findings about decisions, each with the id of the decision.
fn found(round: &Round) -> Vec<(Code, String)> {
    let findings = round.findings().into_iter();
    let findings = findings.map(|one| {
        assert_eq!(one.file.as_deref(), Some(DECISIONS_FILE));
        assert!(one.line.is_some());
        (one.code, one.id.unwrap())
    });
    findings.collect()
}

#[test]
fn col_48_accepts_decisions_in_order() {
    let round = Round::at(Action::Accept);
    let ids = (1..=11).map(|number| decision(&format!("D{number}")));
    round.decide(&ids.collect::<String>());
    assert_eq!(found(&round), []);
    round.append("bob", "decision_accepted");
    // A heading of another level is not a decision.
    round.decide(&format!(
        "## Accepted\n\n{}#### D9. No decision\n",
        decision("D1")
    ));
    assert_eq!(found(&round), []);
}

#[test]
fn col_48_refuses_other_ids_and_decisions_without_their_parts() {
    let one = decision("D1");
    let round = Round::at(Action::Accept);
    for (text, code, id) in [
        (decision("1"), Code::DecisionId, "D1"),
        (decision("D"), Code::DecisionId, "D1"),
        (decision("d1"), Code::DecisionId, "D1"),
        (
            one.replace("D1. Use a queue", "D1."),
            Code::DecisionId,
            "D1",
        ),
        (decision("D2"), Code::DecisionOrder, "D2"),
        (decision("D1") + &decision("D3"), Code::DecisionOrder, "D3"),
        (
            decision("D1") + &decision("D1"),
            Code::DecisionRepeated,
            "D1",
        ),
        (one.replace("- Decision:", "-"), Code::DecisionText, "D1"),
        (
            one.replace("- Reflected in:", "-"),
            Code::DecisionReflected,
            "D1",
        ),
    ] {
        round.decide(&text);
        assert_eq!(found(&round), [(code, id.to_owned())], "{text}");
        assert!(round.findings().iter().all(|one| !one.is_warning));
        let wrong = round.refuse("bob", "decision_accepted");
        assert_eq!(wrong, [code], "{text}");
    }
    // A decision without a rationale gives a warning, and may be accepted.
    round.decide(&one.replace("- Rationale:", "-"));
    assert_eq!(found(&round), [(Code::DecisionRationale, "D1".to_owned())]);
    assert_eq!(round.errors(), []);
    round.append("bob", "decision_accepted");
}

#[test]
fn col_49_accepts_any_declared_deliverable() {
    let round = Round::at(Action::Accept);
    round.edit_protocol(|json| {
        let one = json!({ "file": "tests.md", "type": "custom", "frozen": false });
        json["deliverables"]["supporting"] = json!([one]);
    });
    round.write("deliverables/tests.md", "Status: Draft\n");
    for doc in [
        "deliverables/adr.md",
        "deliverables/adr.md#a",
        "deliverables/tests.md",
    ] {
        round.decide(&decision("D1").replace("deliverables/adr.md#decision", doc));
        assert_eq!(found(&round), [], "{doc}");
    }
}

#[test]
fn col_49_refuses_another_target() {
    let round = Round::at(Action::Accept);
    for doc in [
        "proposal.md",
        "deliverables/other.md",
        "external:adr.md",
        "adr.md",
        "",
    ] {
        round.decide(&decision("D1").replace("deliverables/adr.md#decision", doc));
        assert_eq!(
            found(&round),
            [(Code::DecisionTarget, "D1".to_owned())],
            "{doc}"
        );
        round.refuses("bob", "decision_accepted", &[Code::DecisionTarget]);
    }
}

#[test]
fn col_50_accepts_decisions_that_are_there() {
    let round = Round::at(Action::Accept);
    round.decide(&decision("D1"));
    for who in ["cy", "ada", "bob"] {
        round.append(who, "decision_accepted");
    }
    assert_eq!(round.action("ada"), Action::Freeze);
}

#[test]
fn col_50_refuses_an_acceptance_of_nothing() {
    let round = Round::at(Action::Accept);
    for text in ["", "We use a queue.\n", "## D1. Use a queue\n"] {
        round.decide(text);
        // A folder without a decision is valid, because the owner may still write one.
        assert_eq!(round.errors(), []);
        let wrong = round.refuse_draft(&round.draft("bob", "decision_accepted"));
        assert_eq!(codes(&wrong), [Code::DecisionNone], "{text}");
        assert_eq!(wrong[0].file.as_deref(), Some(DECISIONS_FILE));
    }
    round.remove(DECISIONS_FILE);
    let wrong = round.refuse("bob", "decision_accepted");
    assert_eq!(wrong, [Code::DecisionNone]);
    round.write(DECISIONS_FILE, b"### D1. Use a queue\xff\n");
    let wrong = round.refuse("bob", "decision_accepted");
    assert!(wrong.contains(&Code::Unreadable), "{wrong:?}");
}
