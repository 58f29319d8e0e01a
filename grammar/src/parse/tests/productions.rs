//! Texts at the edges of each production: some that just match, and some that just do not.

use super::*;

/// Inside a frame, each production must accept its first list of texts, and refuse its second list. Each refused text
/// has the byte of its fault beside it.
#[test]
fn productions_accept_and_refuse_at_their_edges() {
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static [(&'static str, usize)],
    );
    let cases: &[Case] = &[
        (
            "<>",
            &["@a>b:c{}", "@a>b:c{}[d:1]"],
            &[
                ("", 0),
                ("@", 1),
                ("a>b:c{}", 0),
                ("@a>b:c{}x", 8),
                ("@a>b:c{}[d:1]x", 13),
                ("@a>b:c{}\n", 8),
                (" @a>b:c{}", 0),
                ("@a>b:c{}[]", 9),
                ("@a>b:c[d:1]", 6),
                ("@a>b:c{}@a>b:c{}", 8),
                ("@a>b:c", 6),
                ("@a>b", 4),
                ("@a>", 3),
            ],
        ),
        (
            "@<>>b:c{}",
            &["a", "Z9", "-", "_", "a-b_C-1"],
            &[
                ("", 0),
                ("a b", 1),
                ("a.b", 1),
                ("a@", 1),
                ("é", 0),
                ("a/b", 1),
            ],
        ),
        (
            "@a><>:c{}",
            &["b", "REQ", "zZ"],
            &[("", 0), ("r1", 1), ("r_", 1), ("1", 0), ("r-q", 1)],
        ),
        (
            "@a>b:<>{}",
            &["c", "0", "_", "a_1Z"],
            &[("", 0), ("a-b", 1), ("a.b", 1), ("é", 0)],
        ),
        (
            "@a>b:c{<>:1}",
            &["k", "0", "_", "a_1Z"],
            &[
                ("", 0),
                ("a-b", 1),
                ("a.b", 1),
                ("|", 0),
                (r"a\:", 1),
                ("a b", 1),
            ],
        ),
        (
            "@a>b:c{<>}",
            &["", "k:1", "k:1|k:1"],
            &[
                ("|", 0),
                ("k:1|", 4),
                ("k:1||k:1", 4),
                ("k:1,k:1", 3),
                ("k", 1),
                ("k:", 2),
                (",", 0),
            ],
        ),
        (
            "@a>b:c{}[<>]",
            &["k:1", "k:1,k:[1]"],
            &[
                ("", 0),
                ("k:1|k:1", 3),
                ("k:1,", 4),
                (",", 0),
                ("k", 1),
                ("k:", 2),
            ],
        ),
        (
            "@a>b:c{k:<>}",
            &[
                "true",
                "false",
                "TRUE",
                "truefalse",
                "0",
                "-1",
                "007",
                "1.0",
                "-0.50",
                "1.",
                "-",
                ".",
                "!",
                "#",
                "%",
                "+",
                "-",
                "9",
                ";",
                "=",
                "?",
                "A",
                "Z",
                "^",
                "z",
                "\"",
                "'",
                "`",
                "_",
                r"\@",
                r"\>",
                r"\:",
                r"\{",
                r"\}",
                r"\[",
                r"\]",
                r"\|",
                r"\$",
                r"\,",
                r"\~",
                r"\\",
                r"1\:2",
                r"true\|",
                "~",
                "[]",
                "{}",
                "[1]",
                "[~,[],{}]",
                "{a:1}",
                "{a:1,a:[{b:~}]}",
                "$a",
                "$.",
                "$_",
                "$0",
                "$warm.ckpt_1.status",
                "$42.30",
                "[$a,$b]",
            ],
            &[
                ("", 0),
                ("@", 0),
                (">", 0),
                (":", 0),
                ("|", 0),
                (",", 0),
                ("a@", 1),
                ("a>", 1),
                ("a:", 1),
                ("a{", 1),
                ("a[", 1),
                ("a$", 1),
                ("a,", 1),
                ("a~", 1),
                ("1~", 1),
                (r"\", 2),
                (r"\n", 1),
                (r"a\-", 2),
                (r"42\x", 3),
                (r"true\e", 5),
                (r"1.5\ ", 4),
                (" ", 0),
                ("a ", 1),
                ("\t", 0),
                ("\u{7f}", 0),
                ("é", 0),
                ("a\u{80}", 1),
                ("\0", 0),
                ("~~", 1),
                ("~a", 1),
                ("[", 1),
                ("[,]", 1),
                ("[1,]", 3),
                ("[1", 2),
                ("[1|2]", 2),
                ("[a:1]", 2),
                ("[]a", 2),
                ("[][]", 2),
                ("{a}", 2),
                ("{a:}", 3),
                ("{:1}", 1),
                ("{a:1,}", 5),
                ("{a:1|b:2}", 4),
                ("{,}", 1),
                ("{}{}", 2),
                ("$", 1),
                ("$-", 1),
                ("$a-", 2),
                ("$$", 1),
                (r"$a\:", 2),
                ("$[", 1),
                ("]", 0),
            ],
        ),
    ];
    for (frame, accepted, refused) in cases {
        for text in *accepted {
            let whole = frame.replacen("<>", text, 1);
            assert_eq!(
                parse(&whole).map(|frame| frame.to_string()),
                Ok(whole.clone())
            );
        }
        for (text, at) in *refused {
            let whole = frame.replacen("<>", text, 1);
            let start = frame.find("<>").unwrap();
            assert_eq!(
                parse(&whole).map_err(|e| e.at()),
                Err(start + at),
                "{whole}"
            );
        }
    }
}

/// A string must hold every safe character and no other, over all of ASCII.
#[test]
fn a_string_holds_vchar_without_the_delimiters() {
    for byte in 0..=127_u8 {
        let text = format!("@a>b:c{{k:x{}y}}", byte as char);
        assert_eq!(
            parse(&text).is_ok(),
            accp_registry::lexical::is_safe_char(byte),
            "{text:?}"
        );
        let text = format!("@a>b:c{{k:\\{}}}", byte as char);
        assert_eq!(
            parse(&text).is_ok(),
            accp_registry::lexical::is_delimiter(byte),
            "{text:?}"
        );
    }
}
