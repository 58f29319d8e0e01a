//! Cuts the middles out of long results.

use accp_frame::TokenCounter;

use super::repeats::{Mark, is_mark, numbers};
use crate::grapheme::floor;

/// The most tokens of a listing that is shown whole at first sight, and the tokens of the head and the tail of a
/// longer result. Other results are shown whole up to one and a half times as many tokens, because an agent soon needs
/// their middles.
const SIGHT: usize = 2000;
const SIGHT_HEAD: usize = 1400;
const SIGHT_TAIL: usize = 720;
/// A gap of fewer tokens is not worth its mark.
const GAP: usize = 20;

/// The kind of a result, as its lines show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Names and paths: hardly ever needed again.
    Listing,
    /// Numbered or indented lines: a page of a file, which edits quote.
    Page,
    /// Anything else: the output of a command, prose.
    Output,
}

/// Limits of a result, in tokens.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// A result with more tokens than this is cut.
    most: usize,
    head: usize,
    tail: usize,
    /// Whether the head may end, and the tail may begin, within a line.
    within: bool,
}

impl Form {
    fn of(lines: &[String]) -> Self {
        let lines = lines.iter().map(|line| line.trim_end());
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let share = |counts: fn(&str) -> bool| {
            let count = lines.iter().filter(|line| counts(line)).count();
            count * 10 / lines.len().max(1)
        };
        if share(is_numbered) > 5 {
            Self::Page
        } else if share(is_name) >= 7 {
            Self::Listing
        } else if share(|line| line.starts_with("    ") || line.starts_with('\t')) >= 4 {
            Self::Page
        } else {
            Self::Output
        }
    }

    fn limits(self) -> Limits {
        let (most, head, tail) = match self {
            Self::Listing => (60, 30, 10),
            Self::Page | Self::Output => (1000, 200, 100),
        };
        Limits {
            most,
            head,
            tail,
            within: false,
        }
    }
}

/// Returns whether a line begins with its number, as `cat -n` and `grep -n` write it.
fn is_numbered(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with([':', '|', '\t', '→', '-', ' '])
}

/// Returns whether a line is a name, a path, or a line of `ls -l`.
fn is_name(line: &str) -> bool {
    let line = line.trim();
    // One word without a comma is a name or a path. A line with more than that may be a row of a
    // table.
    let is_one_word = !line
        .contains(|character: char| character.is_whitespace() || character == ',')
        && line.contains(char::is_alphabetic);
    let mode = line.split_whitespace().next().unwrap_or_default();
    let is_mode = mode.len() >= 10
        && mode.starts_with(['d', '-', 'l'])
        && mode[1..].bytes().all(|byte| b"rwxsStT-@+.".contains(&byte));
    is_mode || is_one_word && !line.ends_with([';', '{', '(', ')', ']', '}'])
}

/// Returns whether a result is long enough to lose its middle.
pub(super) fn is_long(lines: &[String], counter: &dyn TokenCounter) -> bool {
    let tokens = lines.iter().map(|line| counter.count(&format!("{line}\n")));
    tokens.sum::<usize>() > Form::of(lines).limits().most
}

/// Returns the head and the tail of a long result. The kind of the result decides their lengths.
pub(super) fn middle(
    lines: Vec<String>,
    message: usize,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let limits = Form::of(&lines).limits();
    ends(lines, message, limits, counter)
}

/// Returns the head and the tail of a result that is too long to be shown whole even once.
pub(super) fn longest(
    lines: Vec<String>,
    message: usize,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let most = match Form::of(&lines) {
        Form::Listing => SIGHT,
        Form::Page | Form::Output => 3 * SIGHT / 2,
    };
    let limits = Limits {
        most,
        head: SIGHT_HEAD,
        tail: SIGHT_TAIL,
        within: true,
    };
    ends(lines, message, limits, counter)
}

fn ends(
    lines: Vec<String>,
    message: usize,
    limits: Limits,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let tokens = lines.iter().map(|line| counter.count(&format!("{line}\n")));
    let tokens: Vec<usize> = tokens.collect();
    let all: usize = tokens.iter().sum();
    if all <= limits.most {
        return lines;
    }
    let (head, head_room) = fitting(tokens.iter(), limits.head);
    let (tail, tail_room) = fitting(tokens[head..].iter().rev(), limits.tail);
    let end = lines.len() - tail;
    let gone: usize = tokens[head..end].iter().sum();
    if gone <= GAP {
        return lines;
    }
    let mut out = lines[..head].to_vec();
    // If a line is too long for the head or the tail, a part of it is shown. A reference is never cut, because
    // half of it is useless.
    let part = |at: usize, room: usize| {
        let is_cut = (limits.within || head == 0) && !is_mark(&lines[at]);
        (is_cut && room > GAP).then(|| lines[at].len() * room / tokens[at].max(1))
    };
    let first_part = part(head, head_room).map(|bytes| &lines[head][..floor(&lines[head], bytes)]);
    let last_part = part(end - 1, tail_room).filter(|_| end - 1 > head);
    let last_part = last_part.map(|bytes| {
        let line = &lines[end - 1];
        &line[floor(line, line.len().saturating_sub(bytes))..]
    });
    // The mark names the lines that are left out whole, or the line that is shown in part.
    let from = head + usize::from(first_part.is_some());
    let to = end - usize::from(last_part.is_some());
    let (from, to) = if from < to {
        (from, to)
    } else {
        (head, head + 1)
    };
    let numbers = numbers(&lines);
    let mark = Mark {
        message,
        from: numbers[from],
        to: numbers[to] - 1,
        is_gap: true,
    };
    out.extend(first_part.map(str::to_owned));
    out.push(mark.with(&lines[from]));
    out.extend(last_part.map(str::to_owned));
    out.extend_from_slice(&lines[end..]);
    out
}

/// Returns the number of lines from the beginning that fit into this many tokens, and the tokens
/// that are left.
fn fitting<'t>(tokens: impl Iterator<Item = &'t usize>, mut room: usize) -> (usize, usize) {
    let mut count = 0;
    for tokens in tokens {
        if *tokens > room {
            break;
        }
        room -= tokens;
        count += 1;
    }
    (count, room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::WORDS;

    fn lines(count: usize, of: impl Fn(usize) -> String) -> Vec<String> {
        (0..count).map(of).collect()
    }

    #[test]
    fn a_result_is_a_listing_a_page_or_an_output() {
        let form = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            Form::of(&lines)
        };
        assert_eq!(form("a.rs\nb.rs\nsrc/c.rs"), Form::Listing);
        assert_eq!(form("-rw-r--r-- 1 me me 4 May 3 a b"), Form::Listing);
        assert_eq!(form("  1\tfn main() {\n  2\t}\n"), Form::Page);
        assert_eq!(form("def f():\n    return 1\n    # x\n"), Form::Page);
        assert_eq!(form("WF31,BGO\nWF35,OSL"), Form::Output);
        assert_eq!(form("2 passed, 1 failed\nno more"), Form::Output);
        assert_eq!(form(""), Form::Output);
    }

    #[test]
    fn the_middle_leaves_and_its_mark_says_how_much() {
        let listing = lines(100, |n| format!("file_{n}"));
        let cut = middle(listing.clone(), 7, &WORDS);
        assert_eq!(cut.len(), 30 + 1 + 10);
        assert_eq!(cut[30], "[... p7:31-90: file_30]");
        assert_eq!(cut[31..], listing[90..]);
        let short = lines(60, |n| format!("file_{n}"));
        assert_eq!(middle(short.clone(), 7, &WORDS), short);
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_within() {
        let long = lines(1, |_| "größe ".repeat(9000));
        let cut = longest(long.clone(), 3, &WORDS);
        assert_eq!(cut.len(), 2);
        assert!(long[0].starts_with(&cut[0]) && cut[0].len() > 5000);
        assert_eq!(cut[1], "[... p3:1: größe größe größe größe größe größe]");
    }

    #[test]
    fn a_reference_is_not_cut_within() {
        let mark = format!("[as in p1:3-42: {}]", "größe ".repeat(9000));
        let cut = longest(vec![mark, "and so on ".repeat(9000)], 3, &WORDS);
        assert!(
            cut[0].starts_with("[... p3:1-40: [as in p1:3-42:"),
            "{}",
            cut[0]
        );
        assert!(cut[1].ends_with("and so on "));
    }
}
