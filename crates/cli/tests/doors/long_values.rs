//! Tests of `accp send` and `accp ask` with values that are too long for a frame. The tests count the tokens of the
//! frames in the log (draft section 3.4).

use accp_runtime::{Frame, FrameTokenLimits, FrameTokens, Within};
use accp_tokens::Bpe;

use super::answers::Cook;
use super::processes::Hub;

/// A text of `count` words.
fn words(count: usize) -> String {
    let all = [
        "pumpkin", "soup", "with", "bread", "and", "butter", "for", "lunch",
    ];
    let words = all.iter().cycle().take(count).copied();
    words.collect::<Vec<_>>().join("_")
}

/// Checks that each frame of an agent is within the hard limits, and that no value is longer than `longest`. The
/// hub's own frames about the session are not limited.
pub(crate) fn are_small(frames: &[String], longest: usize) {
    for text in frames.iter().filter(|text| !text.starts_with("@hub>")) {
        let frame = Frame::parse(text).unwrap();
        let tokens = FrameTokens::count(&frame, &Bpe::o200k_base());
        // If a client has named the chain, an answer needs both `cid` and `aid`. Then the metadata is over the limit,
        // even with the shortest ids.
        let is_named = text.contains(",cid:") && text.contains(",aid:");
        for (part, count, limit, within) in tokens.against(&FrameTokenLimits::DRAFT) {
            if is_named && part == "metadata" {
                continue;
            }
            assert!(
                within != Within::Over,
                "{part}: {count} of {}: {text}",
                limit.hard
            );
        }
        // Announcements (`put`) are left out, because the digest in them has 64 characters, more
        // than `longest`.
        let values = frame.payload.iter().filter(|_| &*frame.operation != "put");
        for param in values {
            assert!(param.value.as_str().len() <= longest, "{text}");
        }
    }
}

#[test]
fn a_long_answer_of_a_command_goes_by_reference() {
    let (folder, hub) = Hub::started(crate::doors::REGISTRY);
    let long = words(300);
    std::fs::write(folder.path().join("words"), long.replace('_', " ")).unwrap();
    let _cook = Cook::start(&hub, "", "cat words");
    for frame in [
        "@dev>req:note{text:soup|schema:NOTE}",
        "@dev>req:chat{content:soup|schema:CH}",
        "@dev>req:tool{tool:oven|schema:TC}",
        "@dev>req:plan{goal:soup}",
    ] {
        let said = hub.output(("ask", frame));
        assert!(
            said.starts_with("@cook>done:") && said.contains(":$cold.k"),
            "{said}"
        );
        // A line on stderr says how to read the value without asking again.
        let (_, rest) = said.split_once(": GET http://").unwrap();
        let (url, rest) = rest.split_once(" reads it").unwrap();
        assert!(rest.contains("`accp ask --words`"), "{said}");
        let value = ureq::get(format!("http://{url}")).call();
        let value = value.unwrap().body_mut().read_to_string().unwrap();
        assert!(value.replace(' ', "_").contains(&long), "{value:.300}");
        // With `--words` the output has the text itself.
        let said = hub.output(("ask --words", frame));
        assert!(said.replace(' ', "_").contains(&long), "{said:.300}");
    }
    are_small(&hub.frames(), 50);
}

#[test]
fn a_long_value_that_is_sent_goes_by_reference() {
    let (_folder, hub) = Hub::started(crate::doors::REGISTRY);
    // The command gets the whole values and prints the length of the frame.
    let _cook = Cook::start(&hub, "", "wc -c");
    let (at_51, long) = ("x".repeat(51), words(300));
    // The first frame begins the session. The last frame states its sequence number.
    for (frame, is_inline) in [
        (format!("@dev>req:plan{{goal:{at_51}}}"), false),
        (
            format!("@dev>req:plan{{goal:[{at_51},soup]|for:{at_51}}}"),
            false,
        ),
        (format!("@dev>req:plan{{goal:{long}}}"), false),
        (
            format!("@dev>qry:lookup{{question:{at_51}|schema:LU}}"),
            false,
        ),
        // The registry lists this field as inline, so its texts stay in the frame as long as they fit.
        (format!("@dev>req:note{{text:{at_51}|schema:NOTE}}"), true),
        (format!("@dev>req:note{{text:{long}|schema:NOTE}}"), false),
        (format!("@eve>req:plan{{goal:{long}}}[seq:1]"), false),
    ] {
        let before = hub.frames().len();
        let said = hub.output(("send", &frame));
        assert!(said.contains(">ack:frame{"), "{frame:.60}: {said}");
        let sent = hub.frames().split_off(before);
        let stands = sent
            .iter()
            .find(|text| text.contains(">req:") || text.contains(">qry:"));
        let stands = stands.unwrap();
        assert_eq!(stands.contains("$cold.k"), !is_inline, "{stands}");
        assert_eq!(stands.contains(&at_51), is_inline, "{stands}");
        let said = hub.output(("ask", frame.replace("[seq:1]", "")));
        let size: usize = {
            let digits: String = said
                .chars()
                .skip_while(|c| !c.is_ascii_digit())
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse().unwrap()
        };
        assert!(size > frame.len() - 20, "{size} of {}: {said}", frame.len());
    }
    are_small(&hub.frames(), 51);
}
