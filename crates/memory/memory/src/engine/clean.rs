//! Removes from results what only a terminal needs: codes for colours, progress bars, spaces before line numbers.

mod bar;
mod code;

use std::borrow::Cow;

use crate::layout::without_padding;

/// Returns a result as a person finally sees it on a terminal. Only codes, overwritten bars and padding are left out.
pub(super) fn clean(text: &str) -> String {
    let plain = code::without_codes(text);
    let lines: Vec<Cow<'_, str>> = plain.split('\n').map(bar::last_written).collect();
    let mut lines: Vec<&str> = lines.iter().map(|line| &**line).collect();
    without_padding(&mut lines);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::clean;

    #[test]
    fn codes_and_bars_leave_and_words_stay() {
        assert_eq!(clean("\u{1b}[1;31merror\u{1b}[0m: no"), "error: no");
        assert_eq!(clean("\u{1b}]0;title\u{7}ready\u{1b}(B"), "ready");
        assert_eq!(clean("10%\r50%\r90%\r100%\rdone\nnext"), "100%\rdone\nnext");
        // A carriage return before a line feed only ends the line. Another single one is not a progress bar.
        assert_eq!(clean("a\r\nb\rc"), "a\r\nb\rc");
        assert_eq!(clean("   1\ta\n   2\t  b\n   3\tc"), "1\ta\n2\t  b\n3\tc");
        assert_eq!(clean("cut \u{1b}[3"), "cut ");
        // The address of a link is no code: it stays, behind its words.
        let link = |address: &str, words: &str| {
            format!("\u{1b}]8;;{address}\u{1b}\\{words}\u{1b}]8;;\u{7}")
        };
        let job = "https://ci.example/job/7919";
        let text = format!("see {}\nand {}", link(job, "build 1"), link(job, job));
        assert_eq!(clean(&text), format!("see build 1 ({job})\nand {job}"));
        let open = format!("\u{1b}]8;id=3;{job}\u{7}build 2\n");
        assert_eq!(clean(&open), format!("build 2 ({job})\n"));
        for text in ["", "    fn a() {}\n", "ä\u{1b}", "\u{1b}\n\u{1b}["] {
            assert!(clean(text).len() <= text.len());
        }
    }

    /// If the time grew with the square of a line, this test would take many minutes.
    #[test]
    fn a_long_line_of_states_or_of_codes_without_an_end_is_read_at_once() {
        let blank = format!("50%{}", "\r".repeat(300_000));
        assert_eq!(clean(&blank), blank);
        let states = "7%\r \r".repeat(2_000);
        assert!(clean(&states).ends_with("\r \r7%\r \r"));
        let open = "\u{1b}]0;".repeat(500_000);
        assert_eq!(clean(&open), "0;".repeat(500_000));
        let titles = "\u{1b}]0;t\u{7}a".repeat(200_000);
        assert_eq!(clean(&titles), "a".repeat(200_000));
        // A line without an end of a code says nothing of the next line.
        assert_eq!(
            clean("\u{1b}]0;a\n\u{1b}]0;b\u{7}c\u{1b}]0;d\n\u{1b}Pe\u{1b}\\f"),
            "0;a\nc0;d\nf"
        );
    }

    proptest! {
        #[test]
        fn lines_that_end_with_a_carriage_return_stay(
            rows in prop::collection::vec("[a-z]{0,3}[0-9]{1,3}(, ?[a-z0-9.]{1,5}){0,3}( FAILED| ok)?", 1..20),
            done in prop::collection::vec(0..100_u8, 20),
            says_percent in any::<bool>(),
        ) {
            let rows = rows.iter().zip(done).enumerate().map(|(at, (row, done))| {
                if says_percent { format!("{done}% of it, part{at} {row}") } else { row.clone() }
            });
            let text = format!("{}\r", rows.collect::<Vec<_>>().join("\r"));
            prop_assert_eq!(clean(&text), text);
        }

        #[test]
        fn a_text_without_codes_and_bars_stays(text in "[a-z0-9,;: \r\n]{0,120}") {
            prop_assert_eq!(clean(&text), text);
        }

        #[test]
        fn codes_leave_nothing_and_take_nothing(
            words in prop::collection::vec("[A-Za-z0-9%;()]{1,6}", 1..8),
            codes in prop::collection::vec(prop::sample::select(vec![
                "\u{1b}(B", "\u{1b})0", "\u{1b}*A", "\u{1b}-A", "\u{1b}#8", "\u{1b}%G", "\u{1b} F", "\u{1b}7", "\u{1b}=",
                "\u{1b}c", "\u{1b}[m", "\u{1b}[1;31m", "\u{1b}[?25l", "\u{1b}[2 q", "\u{1b}]0;t\u{7}",
                "\u{1b}]8;;\u{1b}\\", "\u{1b}Pq1\u{1b}\\",
            ]), 8),
        ) {
            let pairs = words.iter().zip(&codes);
            let text: String = pairs.flat_map(|(word, code)| [*code, word]).collect();
            prop_assert_eq!(clean(&text), words.concat());
        }

        #[test]
        fn a_code_without_an_end_takes_no_words(opening in prop::sample::select(vec!["]", "P", "_", "^", "X"])) {
            let text = format!("before \u{1b}{opening}0;behind\nnext");
            prop_assert_eq!(clean(&text), "before 0;behind\nnext");
        }
    }
}
