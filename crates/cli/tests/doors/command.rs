//! Tests of the command on a session whose registry is not the standard one.

use super::processes::{Hub, accp};

const FRAMES: [&str; 4] = [
    "@dev>req:note{text:soup|size:4|schema:NOTE}",
    "@dev>req:book_room{room:blue|code:7|schema:ER}",
    "@dev>req:status{state:open|schema:ST}",
    "@dev>fail:error{code:E4001|msg:gone|retry:false|schema:ER}",
];

const WORDS: [&str; 4] = [
    "dev requests note: text soup, size 4",
    "dev requests book_room: room blue, code 7",
    "dev requests status: state open",
    "dev reports a failure, error: code E4001, msg gone, retry false",
];

#[test]
fn a_store_knows_the_registry_of_its_sessions() {
    let (folder, mut hub) = Hub::started(crate::doors::REGISTRY);
    for frame in FRAMES {
        let (fine, said) = hub.accp(("send", frame));
        assert!(fine, "{said}");
        hub.kill();
        hub.start();
    }
    let (fine, said) = hub.accp("tail --no-follow --words");
    assert!(fine, "{said}");
    for words in WORDS {
        assert!(said.contains(words), "{said}");
    }
    // The hub announces the hash that the command computes for the same file.
    let (_, hash) = accp(folder.path(), "registry hash registry.json --digits 12");
    let announced = format!("names the registry in force: hash {}", hash.trim_end());
    assert!(said.contains(&announced), "{announced}: {said}");
    let (_, said) = hub.accp("tail --no-follow --words --registry registry.json");
    assert!(!said.contains("(schema"), "{said}");
    for running in [true, false] {
        if !running {
            hub.kill();
        }
        // The commands get the registry of the session from the file, so no option names it.
        let on_file = |args: &str| {
            let (fine, said) = accp(folder.path(), ("session", args));
            assert!(fine, "{args:?}: {said}");
            said
        };
        let said = on_file("verify hub.accp");
        assert!(said.contains("team: fine: "), "{said}");
        let said = on_file("replay hub.accp");
        for words in WORDS {
            assert!(said.contains(&format!("{words}\n")), "{said}");
        }
        let said = on_file("export hub.accp --format jsonl");
        assert!(said.contains(r#""room":"blue""#), "{said}");
        assert!(on_file("show hub.accp").contains("dev"));
    }
}

#[test]
fn numbers_of_json_keep_their_digits() {
    let folder = tempfile::tempdir().unwrap();
    let messages = |amount: &str| {
        let pay = r#""agent":"dev","intent":"req","operation":"transaction","schema":"TX""#;
        let line = format!(
            r#"{{{pay},"payload":{{"transaction_id":"t1","amount":{amount},"account":"a1"}}}}"#
        );
        std::fs::write(folder.path().join("messages.jsonl"), line + "\n").unwrap();
    };
    for amount in [
        "12345678901234.123456",
        "9007199254740993.5",
        "-0.1",
        "42.5",
    ] {
        messages(amount);
        let (fine, frame) = accp(folder.path(), "encode messages.jsonl -o frames.accp");
        assert!(fine, "{frame}");
        let frame = std::fs::read_to_string(folder.path().join("frames.accp")).unwrap();
        assert!(frame.contains(&format!("amt:{amount}|")), "{frame}");
        let (fine, json) = accp(folder.path(), "decode frames.accp");
        assert!(
            fine && json.contains(&format!(r#""amount":{amount},"#)),
            "{json}"
        );
        // The command can encode the JSON that it has printed.
        std::fs::write(folder.path().join("again.jsonl"), &json).unwrap();
        let (fine, again) = accp(folder.path(), "encode again.jsonl");
        assert!(fine && again == frame, "{again}");
    }
    for amount in ["1.0000000000000001", "123456789012345678901234567890"] {
        messages(amount);
        let (fine, said) = accp(folder.path(), "encode messages.jsonl");
        assert!(
            !fine && said.contains(amount) && said.contains("amount"),
            "{said}"
        );
        assert!(said.contains("messages.jsonl:1:"), "{said}");
    }
}

/// The command shows the conformance level of a session. The hub answers a `ping` of the command, and the `ping`
/// leaves nothing in the log.
#[test]
fn a_session_has_its_level_and_its_hub_answers_a_ping() {
    let (folder, mut hub) = Hub::started(crate::doors::REGISTRY);
    assert!(hub.accp(("send", FRAMES[0])).0);
    let (fine, said) = hub.accp("send @dev>ping:link{}");
    assert!(fine && said.starts_with("@hub>pong:link{}["), "{said}");
    assert!(!hub.frames().iter().any(|frame| frame.contains(">ping:")));
    hub.kill();
    let (fine, said) = accp(folder.path(), "session show hub.accp team");
    assert!(
        fine && said
            .lines()
            .any(|line| line.split_whitespace().eq(["Level", "3"])),
        "{said}"
    );
}
