//! The lenient reader must read the texts that models write, and must report each repair.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::{any_message, any_text, view};
use crate::view::{Block, Mistake};
use accp_frame::{DynamicFrame, Repair};

/// Returns whether the block ends with its line: neither a chat frame nor a text below the line.
fn is_one_line(block: &Block) -> bool {
    let line = block.text.trim_end_matches('\n');
    let is_frame = line
        .find(['>', ':', '?'])
        .is_some_and(|at| line[at..].starts_with('>'));
    is_frame && !line.contains('\n') && !outside_of_quotes(line).contains('|')
}

/// Returns the text without its JSON strings.
fn outside_of_quotes(text: &str) -> String {
    pieces(text)
        .filter(|(_, quoted)| !quoted)
        .map(|(piece, _)| piece)
        .collect()
}

/// Splits a line into JSON strings and the texts between them. The flag of a piece says whether it is a JSON string.
fn pieces(line: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let quoted = rest.starts_with('"');
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let end = match end {
            Some((at, _)) => at + usize::from(quoted),
            None => rest.len(),
        };
        let piece = &rest[..end];
        rest = &rest[end..];
        (!piece.is_empty()).then_some((piece, quoted))
    })
}

/// Puts spaces, and perhaps line breaks, where a model might.
fn spaced(block: &str, gap: &str) -> String {
    let (head, body) = block.split_at(block.find(['(', '{']).unwrap_or(block.len()));
    let head = head.replacen('>', " > ", 1);
    let mut out = head;
    for (piece, quoted) in pieces(body.trim_end_matches('\n')) {
        if quoted {
            out.push_str(piece);
            continue;
        }
        for c in piece.chars() {
            let is_close = matches!(c, ')' | '}' | ']');
            out.push_str(if is_close { gap } else { "" });
            out.push(c);
            out.push_str(if matches!(c, ',' | '(' | '{' | '[') {
                gap
            } else {
                ""
            });
        }
    }
    out + " \n"
}

fn kinds(repairs: &[Repair<Mistake>]) -> Vec<Mistake> {
    let mut kinds: Vec<_> = repairs.iter().map(|repair| repair.what).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

proptest! {
    #[test]
    fn a_strict_text_is_read_the_same(messages in prop::collection::vec(any_message(), 0..4)) {
        let view = view();
        let text: String = messages.iter().map(|message| view.block(message).text).collect();
        prop_assert_eq!(view.read_lenient(&text), Ok((messages, Vec::new())), "{}", text);
    }

    #[test]
    fn what_is_mangled_is_read_the_same(
        messages in prop::collection::vec((any_message(), 0..6_u8), 1..4),
        gap in prop::sample::select(vec![" ", "\t", "  ", "\n  "]),
    ) {
        let view = view();
        let mut text = String::from("Here you are:\n\n");
        let (mut expected, mut follows_text) = (Vec::new(), false);
        let mut made = vec![Mistake::Prose];
        for (message, how) in &messages {
            let block = view.block(message);
            // After a block of several lines, the reader would take a fence or a list as part of
            // that block's text. So the next block is written as it is.
            let how = if follows_text { &6 } else { how };
            follows_text = !is_one_line(&block) && *how != 1;
            match how {
                0 if is_one_line(&block) => {
                    text.push_str(&spaced(&block.text, gap));
                    made.push(Mistake::Spaces);
                }
                1 if !block.text.contains("```") => {
                    let _ = write!(text, "```accp\n{}```\nand\n", block.text);
                    made.push(Mistake::Fence);
                }
                2 if is_one_line(&block) => {
                    let _ = writeln!(text, "{}So much for that.", block.text);
                }
                3 if is_one_line(&block) => {
                    let _ = writeln!(text, "- `{}`", block.text.trim_end());
                    made.push(Mistake::Mark);
                }
                4 if is_one_line(&block) => {
                    text.push_str(&block.text.replacen('@', "", 1).replacen(">done", ">DONE", 1));
                    made.push(Mistake::Sender);
                    made.extend(block.text.contains(">done").then_some(Mistake::Intent));
                }
                5 if is_one_line(&block) && block.text.contains(">req:book LE(") => {
                    text.push_str(&block.text.replacen(" LE(", "(", 1));
                    made.push(Mistake::Code);
                }
                _ => text.push_str(&block.text),
            }
            expected.push(message.clone());
        }
        let read = view.read_lenient(&text);
        let (read, repairs) = read.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(read, expected, "{}", text);
        let repaired = kinds(&repairs);
        for mistake in made {
            prop_assert!(repaired.contains(&mistake), "{} {:?}", text, repairs);
        }
        prop_assert!(repairs.is_sorted_by_key(|repair| repair.at));
        for repair in &repairs {
            prop_assert!(text[repair.at..].starts_with(&repair.from), "{}", repair);
        }
    }

    /// A word that is inserted at any place of the text ends up in a message or in a repair, or the text is refused.
    #[test]
    fn nothing_is_dropped_unseen(
        messages in prop::collection::vec(any_message(), 1..4),
        place in any::<prop::sample::Index>(),
        word in prop::sample::select(vec![
            "zqx7", " zqx7 ", "\nzqx7\n", ",zqx7", "zqx7,", "(zqx7)", "\"zqx7\"", "'zqx7'", "```zqx7\n",
            "\n```\nzqx7", "zqx7:", ",zqx7=1", "=zqx7", "\n@zqx7: ", "zqx7>req:zqx7\n", "{zqx7}", "\\zqx7",
        ]),
    ) {
        let view = view();
        let mut text: String = messages.iter().map(|message| view.block(message).text).collect();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        text.insert_str(*place.get(&places), word);
        if let Ok((messages, repairs)) = view.read_lenient(&text) {
            let is_told = format!("{messages:?}").contains("zqx7")
                || repairs.iter().any(|repair| repair.from.contains("zqx7"))
                || text.lines().any(|line| line.starts_with("@facts "));
            prop_assert!(is_told, "{} {:?} {:?}", text, messages, repairs);
        }
    }

    #[test]
    fn reading_leniently_never_panics(
        text in prop_oneof![any_text(), "[@a>=:?(){}\\[\\],|\"FLSE0-9\n '`~-]{0,40}",
            "(@a>req:|trip |book|LE|TR|[(]|[)]|,| |\n|```|\"|'|x|12|=|:|[{]|[}]|\\[|\\]|null|True|- ){0,24}"],
    ) {
        let view = view();
        if let Ok((messages, _)) = view.read_lenient(&text) {
            let again: String = messages.iter().map(|message| view.block(message).text).collect();
            // A frame as peers write it may have metadata, which a view leaves out.
            let messages: Vec<DynamicFrame<'_>> = messages
                .into_iter()
                .map(|message| message.in_envelope(accp_frame::Envelope::default()))
                .collect();
            prop_assert_eq!(view.read(&again), Ok(messages), "{}", again);
        }
    }
}

/// Each mistake that models make, with the value that is read and the repair.
#[test]
fn what_it_repairs() {
    let view = view();
    let texts = [
        "Sure, here you go:\n\n```\n@a>req:book LE(WF1,OSL)\n```\n\nAnything else?",
        "```text\n@a: Like this:\n```rust\nlet a = 1;\n```\n```\n",
        "1. `@a: hi`\n2. @a>req:book LE(WF1)\n> @a>req:book LE(WF2).\n",
        "@a>req:book LE( WF1, OSL ,\n  2026-05-01\n)\n",
        "@a >Req : book(WF1)",
        "a>req:book leg (WF1)\n",
        "@a:hi",
        "@a>req:trip TR([(7,OSL), fl(8)],,{a=1, \"b\": 2,},Low,+5,1e3,\"2.50\",@b,True)",
        "@a>req:trip TR(,,none,On Edge,12.0,,null,`b`,no,,)",
        "@a>req:book LE('94107',-12%,see (a, b) below,\"say \"hi\" now\",/usr/bin,5\u{201d} x)",
        "@a>req:book LE(\u{201c}x, y\u{201d},\"two\nlines\",\"it\\'s\")",
        "@a>req:schedule TA(dev,x,,,y,,)",
        "@a>req:plan{ a:1, b :{c:2, d:3}}",
        "@a>req:schedule{asgn:dev|task:x|schema:TA}",
        "@a>done:x{r:FL[from: BGO, seats: (4, 9)\n  WF31 , OSL\n  WF35, SVG ]}\nThat is all.",
        "@= FL(number, from,to,seats:SE,open)\n@a>req:book LE(1)\n",
        "@=FL(number, from, to, seats:SE, open)\nThey fly.\n@a>req:book LE(1, )\n",
    ];
    let read = texts.map(|text| match view.read_lenient(text) {
        Ok((messages, repairs)) => {
            let blocks = messages.iter().map(|message| view.block(message).text);
            let repairs = repairs.iter().map(|repair| format!("  {repair}\n"));
            blocks.chain(repairs).collect::<String>()
        }
        Err(error) => format!("{error}\n"),
    });
    insta::assert_snapshot!(read.join("\n"), @r#"
    @a>req:book LE(WF1,OSL)
      byte 0: text outside of the blocks is left out: "Sure, here you go:\n\n"
      byte 20: no code fence around blocks: "```\n"
      byte 48: no code fence around blocks: "```\n"
      byte 52: text outside of the blocks is left out: "\nAnything else?"

    @a: Like this:
    ```rust
    let a = 1;
    ```
      byte 0: no code fence around blocks: "```text\n"
      byte 46: no code fence around blocks: "```\n"

    @a: hi
    @a>req:book LE(WF1)
    @a>req:book LE(WF2)
      byte 0: no marks around a block: "1. `"
      byte 10: no marks around a block: "`\n"
      byte 12: no marks around a block: "2. "
      byte 35: no marks around a block: "> "
      byte 56: no marks around a block: "."

    @a>req:book LE(WF1,OSL,2026-05-01)
      byte 15: spaces and line breaks only as in the form: " "
      byte 20: spaces and line breaks only as in the form: " "
      byte 24: spaces and line breaks only as in the form: " "
      byte 26: spaces and line breaks only as in the form: "\n  "
      byte 39: spaces and line breaks only as in the form: "\n"

    @a>req:book LE(WF1)
      byte 2: spaces and line breaks only as in the form: " "
      byte 4: an intent is in small letters: `Req` is `req`
      byte 7: spaces and line breaks only as in the form: " "
      byte 9: spaces and line breaks only as in the form: " "
      byte 15: a record begins with the code of its schema: `` is `LE`

    @a>req:book LE(WF1)
      byte 0: a block begins with '@': `` is `@`
      byte 11: a record begins with the code of its schema: `leg ` is `LE`

    @a: hi
      byte 3: spaces and line breaks only as in the form: `` is ` `

    @a>req:trip TR(FL[
    "7",OSL
    "8"],,{a:1.0,b:2.0},,5,1000.0,2.5,b,true)
      byte 16: a record begins with the code of its schema: `` is `FL`
      byte 24: spaces and line breaks only as in the form: " "
      byte 25: a record begins with the code of its schema: `fl` is `FL`
      byte 35: ',' stands between values and ':' behind a key: `=` is `:`
      byte 38: spaces and line breaks only as in the form: " "
      byte 43: spaces and line breaks only as in the form: " "
      byte 45: ',' stands between values and ':' behind a key: ","
      byte 48: a value is spelt as its type demands: `Low` is `low`
      byte 52: a value is spelt as its type demands: `+5` is `5`
      byte 55: a value is spelt as its type demands: `1e3` is `1000.0`
      byte 59: only such a text is a JSON string: `"2.50"` is `2.5`
      byte 66: a value is spelt as its type demands: `@b` is `b`
      byte 69: a value is spelt as its type demands: `True` is `true`

    @a>req:trip TR(,,~,on_edge,12,,~,b,false)
      byte 17: a value is spelt as its type demands: `none` is `~`
      byte 22: a value is spelt as its type demands: `On Edge` is `on_edge`
      byte 30: a value is spelt as its type demands: `12.0` is `12`
      byte 36: a value is spelt as its type demands: `null` is `~`
      byte 41: only such a text is a JSON string: ``b`` is `b`
      byte 45: a value is spelt as its type demands: `no` is `false`
      byte 47: ',' stands between values and ':' behind a key: ",,"

    @a>req:book LE("94107","-12%","see (a, b) below","say \"hi\" now","/usr/bin",5” x)
      byte 15: only such a text is a JSON string: `'94107'` is `"94107"`
      byte 23: only such a text is a JSON string: `-12%` is `"-12%"`
      byte 28: only such a text is a JSON string: `see (a, b) below` is `"see (a, b) below"`
      byte 45: only such a text is a JSON string: `"say "hi" now"` is `"say \"hi\" now"`
      byte 60: only such a text is a JSON string: `/usr/bin` is `"/usr/bin"`

    @a>req:book LE("x, y",|,it's)
    two
    lines
      byte 15: only such a text is a JSON string: `“x, y”` is `"x, y"`
      byte 26: only such a text is a JSON string: `"two
    lines"` is `"two\nlines"`
      byte 38: only such a text is a JSON string: `"it\'s"` is `"it's"`

    @a>req:schedule TA(dev,x,,,[y])
      byte 27: a value is spelt as its type demands: `y` is `[y]`

    @a>req:plan{a:1,b:{c:2,d:3}}
      byte 12: spaces and line breaks only as in the form: " "
      byte 17: spaces and line breaks only as in the form: " "
      byte 19: spaces and line breaks only as in the form: " "
      byte 26: spaces and line breaks only as in the form: " "

    @a>req:schedule TA(dev,x)
      byte 0: a block, and not a frame as peers write it: `@a>req:schedule{asgn:dev|task:x|schema:TA}` is `@a>req:schedule TA(dev,x)`

    @a>done:x{r:FL[from:BGO,seats:(4,9)
    WF31,OSL
    WF35,SVG]}
      byte 20: spaces and line breaks only as in the form: " "
      byte 25: spaces and line breaks only as in the form: " "
      byte 32: spaces and line breaks only as in the form: " "
      byte 36: spaces and line breaks only as in the form: " "
      byte 40: spaces and line breaks only as in the form: "  "
      byte 46: spaces and line breaks only as in the form: " "
      byte 48: spaces and line breaks only as in the form: " "
      byte 53: spaces and line breaks only as in the form: "  "
      byte 60: spaces and line breaks only as in the form: " "
      byte 64: spaces and line breaks only as in the form: " "
      byte 68: text outside of the blocks is left out: "That is all."

    E1003 in block 1, line 1: expected the code of a schema: CH, ER, FL, LE, SE, ST, TA, TC, TX, TR; did you mean FL?, found ` FL(number`

    @a>req:book LE("1")
      byte 0: spaces and line breaks only as in the form: `@=FL(number, from, to, seats:SE, open)` is `@=FL(number,from,to,seats:SE,open)`
      byte 39: text outside of the blocks is left out: "They fly.\n"
      byte 66: spaces and line breaks only as in the form: " "
    "#);
}

/// Texts with two possible readings are refused, and so are texts that were cut off.
#[test]
fn what_it_refuses() {
    let view = view();
    let texts = [
        "@a>req:book LE(WF1, OSL",
        "@a>req:book LE(\"WF1, OSL)",
        "@a>req:book LE(\"a, b, \"c\")",
        "@a>req:book LE(WF1) and more",
        "@a>req:book XX(WF1)",
        "@a>req:trip TR(,,,,1,1 000)",
        "@a>req:trip TR(,,,,many)",
        "@John, here is what I would do.",
        "@a>done:x{a: 1, a: 2}",
        "@a>done:x{:1}",
        "@a>req:book LE(1, 2, 3, 4, 5, 6, 7)",
    ];
    let errors = texts.map(|text| view.read_lenient(text).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"), @r#"
    E1001 in block 1, line 1, LE: expected ')', found the end of the line
    E1001 in block 1, line 1, LE.number: expected a text that ends with '"', found `"WF1`
    E1001 in block 1, line 1, LE: expected ')', found `c"`
    E1001 in block 1, line 1, LE: expected the end, found `and more`
    E1003 in block 1, line 1, XX: expected the code of a schema: CH, ER, FL, LE, SE, ST, TA, TC, TX, TR; did you mean TX?, found `XX(WF1`
    E1004 in block 1, line 1, TR.rate: expected a number, found `1 000`
    E1004 in block 1, line 1, TR.count: expected an integer of 64 bits, found `many`
    E1004 in block 1, line 1, TR: expected the field count, which schema TR requires, found `)`
    E1001 in block 1, line 1: expected an agent, and '>', ':' or '?' behind it, found `John`
    E1001 in block 1, line 1: expected each key once, found `a: 2`
    E1001 in block 1, line 1: expected a key, without spaces around it, or a JSON string, found `:1`
    E1001 in block 1, line 1, LE: expected no more values than the schema has fields, found ` 7`
    "#);
}
