//! Tests of `accp context compress`: if a constraint had no room in the summary, the command puts it back, and the
//! report says so (CTX-44).

use serde_json::{Value as Json, json};

use crate::cli::Folder;

/// Returns a list of rules, more than a summary has room for.
fn rules() -> Vec<String> {
    let parts = [
        "roof", "floor", "door", "window", "gutter", "frame", "hinge", "wall", "step", "shelf",
    ];
    let rule = |part: &&str| {
        format!(
            "The {part} of the shed must never have a colour that the neighbours at number 14 can see from their own \
             garden in summer, in autumn or in winter."
        )
    };
    parts.iter().map(rule).collect()
}

fn compressed(folder: &Folder, messages: &Json) -> (Json, Json, String) {
    std::fs::write(folder.path("messages.json"), messages.to_string()).unwrap();
    let args = "context compress --window 2000 --report report.json messages.json";
    let run = folder.run(args, "");
    run.code_is(0);
    let report = serde_json::from_str(&folder.read("report.json")).unwrap();
    (run.json()[0].clone(), report, run.stderr)
}

#[test]
fn a_constraint_without_room_comes_back_and_is_reported() {
    let folder = Folder::with(&[]);
    let mut messages = vec![
        json!({ "role": "user", "content": "Plan a garden shed." }),
        // The manager is an agent, because it also has answers in the list.
        json!({ "role": "assistant", "name": "manager", "content": "I lead." }),
    ];
    messages.extend(
        rules()
            .iter()
            .map(|rule| json!({ "role": "user", "name": "manager", "content": rule })),
    );
    let talk = "We looked at sheds in the park. ".repeat(160);
    messages.push(json!({ "role": "assistant", "content": talk }));
    messages.push(json!({ "role": "user", "content": "Go on, please." }));
    let (list, report, _) = compressed(&folder, &json!(messages));
    assert_eq!(
        (&report["events"][0]["type"], &report["drift"]),
        (&json!("TIER_3"), &json!([]))
    );
    let shown = list.to_string();
    let gone: Vec<_> = rules()
        .into_iter()
        .filter(|rule| !shown.contains(rule))
        .collect();
    assert!(!gone.is_empty() && gone.len() < 10, "{gone:?}");

    let mut list = list.as_array().unwrap().clone();
    list.push(json!({ "role": "assistant", "content": "Let me draw the shed." }));
    let (next, report, stderr) = compressed(&folder, &json!(list));
    let signs = report["drift"].as_array().unwrap();
    assert_eq!(signs.len(), gone.len(), "{report}");
    assert!(report["tokens_after"].as_u64().unwrap() <= 2000);
    let put_back = next.as_array().unwrap().last().unwrap()["content"]
        .as_str()
        .unwrap();
    for (sign, rule) in signs.iter().zip(&gone) {
        assert_eq!(
            (&sign["indicator"], &sign["severity"]),
            (&json!("constraint"), &json!("HIGH"))
        );
        assert!(sign["evidence"].as_str().unwrap().contains(rule), "{sign}");
        assert_eq!(sign["recovered"], put_back.contains(&format!("> {rule}")));
    }
    // The command puts back as many rules as a tenth of the window has room for.
    assert_eq!(signs[0]["recovered"], true);
    assert!(
        stderr.contains("HIGH (constraint): a constraint does not stand in the list: The "),
        "{stderr}"
    );
    // If a rule had no room, the command reports it again only if it puts the rule back this time.
    let mut list = next.as_array().unwrap().clone();
    list.push(json!({ "role": "assistant", "content": "The shed stands on four posts." }));
    let (_, report, _) = compressed(&folder, &json!(list));
    let again = report["drift"].as_array().unwrap();
    assert!(
        again.iter().all(|sign| sign["recovered"] == true),
        "{report}"
    );
    let came_back = again.len();
    let log = folder.run("context log --format json", "");
    let log = log.json();
    assert_eq!(
        log.iter()
            .filter(|entry| entry["indicator"] == "constraint")
            .count(),
        gone.len() + came_back
    );
}
