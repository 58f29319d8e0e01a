//! Tests of an agent that joins with another registry than its hub.

use super::Age::{New, Old};
use super::{Hub, Program};

/// When an agent joins with another registry, the hub logs the differences that break a reader, but not additions.
/// The state of the session shows these differences, too. With `--strict-registry`, the hub refuses such an agent,
/// but still serves an agent that has the same registry.
#[test]
fn a_hub_says_what_breaks_at_joining() {
    for strict in ["", "--strict-registry"] {
        let folder = tempfile::tempdir().unwrap();
        let mut hub = Hub::with(folder.path(), &Old.registry());
        let mut said = hub.start_with(strict);
        drop(Program::of(Old, "same", folder.path(), &hub));
        let _other = Program::start(folder.path(), &hub, "evolution new other");
        let is_told = |line: &String| line.contains("the registry of a peer differs");
        let told: Vec<String> = said.by_ref().filter(is_told).take(3).collect();
        for line in &told {
            assert!(
                line.contains("other") && line.contains("; breaks "),
                "{line}"
            );
            let added = ["optional_field", "default_field", "schema_added"];
            assert!(added.iter().all(|name| !line.contains(name)), "{line}");
        }
        assert_eq!(told.len(), 3, "the hub has ended");

        // The state of the session and the page of the hub show the differences, too.
        let url = format!("{}/accp/v1/sessions/team/state", hub.http());
        let state = ureq::get(&url).call().unwrap().into_body().read_to_string();
        let state: serde_json::Value = serde_json::from_str(&state.unwrap()).unwrap();
        let members = state["members"].as_array().unwrap();
        let member = |name| members.iter().find(|member| member["agents"][0] == name);
        let clashes = |name| member(name).unwrap()["clashes"].as_array().unwrap();
        assert_eq!(clashes("same").len(), 0);
        let clashes: Vec<_> = clashes("other").iter().map(|text| text.as_str()).collect();
        for clash in &clashes {
            assert!(clash.unwrap().contains("breaks "), "{clashes:?}");
        }
        assert!(clashes.len() >= told.len(), "{clashes:?}");

        let registry = New.file("registry.json").canonicalize().unwrap();
        let agent = [
            "agent",
            "third",
            "--registry",
            registry.to_str().unwrap(),
            "--",
            "true",
        ];
        if !strict.is_empty() {
            let (is_fine, said) = hub.accp(agent);
            let why = "refuses the agent: E5001: expected a registry by which all sides";
            assert!(!is_fine && said.contains(why), "{said}");
            // The refused agent gets no requests.
            let state = ureq::get(&url).call().unwrap().into_body().read_to_string();
            let state: serde_json::Value = serde_json::from_str(&state.unwrap()).unwrap();
            let mut members = state["members"].as_array().unwrap().iter();
            let third = members.find(|member| member["agents"][0] == "third");
            assert_eq!(third.unwrap()["present"], false, "{state}");
        }
    }
}
