//! Conformance, SEC-04: the limits of draft section 9.
//! `docs/conformance.md` lists the tests of each requirement.

use accp_runtime::profiles::ToolDone;
use accp_runtime::{DecodeOptions, DynamicFrame, ErrorCode, Frame, Limits, Registry, Typed};
use accp_tests::judges::agree;

use crate::codec::{decode, encode};

fn nested(levels: usize) -> String {
    format!(
        "@a>qry:lookup{{k:{}v{}}}",
        "[".repeat(levels),
        "]".repeat(levels)
    )
}

fn mapped(levels: usize) -> String {
    format!(
        "@a>qry:lookup{{k:{}v{}}}",
        "{a:".repeat(levels),
        "}".repeat(levels)
    )
}

fn params(count: usize) -> String {
    let params: Vec<String> = (0..count).map(|at| format!("k{at}:v")).collect();
    format!("@a>qry:lookup{{{}}}", params.join("|"))
}

fn pairs(count: usize) -> String {
    let pairs: Vec<String> = (0..count).map(|at| format!("k{at}:v")).collect();
    format!("@a>qry:lookup{{}}[{}]", pairs.join(","))
}

/// Makes a frame with this many elements, counting the param.
fn elements(count: usize) -> String {
    format!("@a>qry:lookup{{k:[{}]}}", vec!["v"; count - 1].join(","))
}

fn bytes(count: usize) -> String {
    let frame = "@a>qry:lookup{k:}".len();
    format!("@a>qry:lookup{{k:{}}}", "x".repeat(count - frame))
}

/// Returns the largest frame within each limit, and the smallest frame over it.
fn limits() -> [(String, String); 6] {
    [
        (nested(5), nested(6)),
        (mapped(5), mapped(6)),
        (params(256), params(257)),
        (pairs(256), pairs(257)),
        (elements(4096), elements(4097)),
        (bytes(64 * 1024), bytes(64 * 1024 + 1)),
    ]
}

#[test]
fn sec_04_accepts_frames_at_the_limits() {
    for (fits, _) in limits() {
        let message = decode(&fits).unwrap();
        assert_eq!(decode(&encode(&message).unwrap()).unwrap(), message);
        assert!(Frame::parse_lenient(&fits).is_ok());
    }
}

#[test]
fn sec_04_refuses_frames_over_the_limits() {
    for (_, over) in limits() {
        assert!(!agree(over.as_bytes()));
        assert_eq!(
            Frame::parse(&over).unwrap_err().code(),
            ErrorCode::PARSE_ERROR
        );
        assert_eq!(
            Frame::parse_lenient(&over).unwrap_err().code(),
            ErrorCode::PARSE_ERROR
        );
        assert_eq!(
            DynamicFrame::decode(&over, Registry::shared())
                .unwrap_err()
                .code(),
            ErrorCode::PARSE_ERROR
        );
    }
    let deep = "@a>done:tool{tool:t|res:[[[[[[v]]]]]]|schema:TC}[cid:1]";
    assert_eq!(Typed::<ToolDone<'_>>::decode(deep).unwrap_err().at(), 29);
}

/// No encoder writes a frame that decoders refuse to read.
#[test]
fn sec_04_refuses_to_write_frames_over_the_limits() {
    for (_, over) in limits() {
        let options = DecodeOptions {
            limits: Limits::NONE,
            ..DecodeOptions::default()
        };
        let message = DynamicFrame::decode_with(&over, Registry::shared(), &options).unwrap();
        let written = encode(&message).map_err(|error| error.code());
        assert_eq!(written, Err(ErrorCode::PARSE_ERROR));
    }
}

/// A decoder refuses a hostile text at the first byte that is too much, however long the text is.
/// It checks the length before anything else.
#[test]
fn sec_04_refuses_before_it_reads_on() {
    let limit = 64 * 1024;
    for (start, unit, at) in [
        ("@a>b:c{k:", "[", 9 + 5),
        ("@a>b:c{k:", "{a:", 9 + 5 * 3),
        ("@a>b:c{k:", "~", 9 + 1),
        ("@", "@", 1),
    ] {
        let text = [start, &unit.repeat((limit - start.len()) / unit.len())].concat();
        assert!(!agree(text.as_bytes()));
        assert_eq!(Frame::parse(&text).unwrap_err().at(), at);
        let longer = [&text, &*unit.repeat(limit)].concat();
        assert!(!agree(longer.as_bytes()));
        assert_eq!(Frame::parse(&longer).unwrap_err().at(), limit);
    }
    // The depth has a bound even if the reader has no other limit.
    let options = DecodeOptions {
        limits: Limits::NONE,
        ..DecodeOptions::default()
    };
    assert!(Frame::parse_with(&nested(Limits::MAX_DEPTH as usize), &options).is_ok());
    assert!(Frame::parse_with(&nested(1_000_000), &options).is_err());
}
