//! Checks every example frame of the draft against a stored verdict. A verdict has the content of the frame, or the
//! error code, the place of the fault, and the frame that the lenient reader makes of the text.
//!
//! `ACCP_BLESS=1 cargo test -p accp-tests --test all vectors` writes the verdicts anew.

use std::fs;
use std::path::Path;

use accp_runtime::{DynamicFrame, Frame, Registry};
use accp_tests::judges::agree;
use serde_json::{Value as Json, json};

fn verdict(frame: &str) -> Json {
    let registry = Registry::shared();
    agree(frame.as_bytes());
    match DynamicFrame::decode(frame, registry) {
        Ok(message) => {
            let canonical = message
                .encode(registry)
                .expect("what decodes has a canonical text");
            assert_eq!(
                DynamicFrame::decode(&canonical, registry).as_ref(),
                Ok(&message)
            );
            json!({ "accepted": message.to_json(), "canonical": canonical })
        }
        Err(error) => {
            let mut verdict = json!({
                "rejected": { "code": error.code().to_string(), "at": error.at(), "message": error.to_string() },
            });
            if let Ok((fixed, repairs)) = Frame::parse_lenient(frame) {
                let fixed = fixed.to_string();
                let message =
                    DynamicFrame::decode(&fixed, registry).expect("the repaired frame decodes");
                verdict["fixed"] = json!({
                    "frame": fixed,
                    "repairs": repairs.iter().map(ToString::to_string).collect::<Vec<_>>(),
                    "accepted": message.to_json(),
                });
            }
            verdict
        }
    }
}

#[test]
fn the_draft_s_examples() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/draft.json");
    let text = fs::read_to_string(&path).expect("the vectors are there");
    let vectors: Vec<Json> = serde_json::from_str(&text).expect("the vectors are JSON");
    assert_eq!(vectors.len(), 20);
    let judged: Vec<Json> = vectors
        .iter()
        .map(|vector| {
            let frame = vector["frame"].as_str().expect("a vector has a frame");
            json!({ "section": vector["section"], "frame": frame, "verdict": verdict(frame) })
        })
        .collect();
    if std::env::var_os("ACCP_BLESS").is_some() && std::env::var_os("CI").is_none() {
        let text = serde_json::to_string_pretty(&judged).expect("JSON is written");
        fs::write(&path, text + "\n").expect("the vectors are written");
        return;
    }
    for (vector, judged) in vectors.iter().zip(&judged) {
        assert_eq!(vector, judged, "{}", vector["frame"]);
    }
}
