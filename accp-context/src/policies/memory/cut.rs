//! What is left of long results.

use accp_frame::TokenCounter;

use super::repeats::first;

/// The tokens of a result that is shown whole at first sight, and of the head and tail of a longer
/// one.
const SIGHT: usize = 4000;
const SIGHT_HEAD: usize = 1400;
const SIGHT_TAIL: usize = 720;
/// A gap of fewer tokens is not worth its mark.
const GAP: usize = 20;

/// What a result is, by its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Names and paths: hardly ever needed again.
    Listing,
    /// Numbered or indented lines: a page of a file, which edits quote.
    Page,
    /// Anything else: the output of a command, prose.
    Output,
}

/// Tokens of a result.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// What is longer is cut.
    most: usize,
    head: usize,
    tail: usize,
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
            Self::Page | Self::Output => { let v: Vec<usize> = std::env::var("LIM").unwrap_or("800,60,20".into()).split(',').map(|x| x.parse().unwrap()).collect(); (v[0], v[1], v[2]) }
        };
        Limits { most, head, tail }
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
    // A row of a table is no name.
    let is_one_word = !line
        .contains(|character: char| character.is_whitespace() || character == ',')
        && line.contains(char::is_alphabetic);
    let mode = line.split_whitespace().next().unwrap_or_default();
    let is_mode = mode.len() >= 10
        && mode.starts_with(['d', '-', 'l'])
        && mode[1..].bytes().all(|byte| b"rwxsStT-@+.".contains(&byte));
    is_mode || is_one_word && !line.ends_with([';', '{', '(', ')', ']', '}'])
}

/// Returns the head and tail of a long result, by what it is.
pub(super) fn middle(
    lines: Vec<String>,
    message: usize,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let limits = Form::of(&lines).limits();
    ends(lines, message, limits, counter)
}

/// Returns the head and tail of a result that is too long for any prompt.
pub(super) fn longest(
    lines: Vec<String>,
    message: usize,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let limits = Limits {
        most: SIGHT,
        head: SIGHT_HEAD,
        tail: SIGHT_TAIL,
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
    let head = fitting(tokens.iter(), limits.head);
    let tail = fitting(tokens[head..].iter().rev(), limits.tail);
    let end = lines.len() - tail;
    let gone: usize = tokens[head..end].iter().sum();
    if gone <= GAP {
        return lines;
    }
    let mut out = lines[..head].to_vec();
    let mut from = head;
    if head == 0 {
        // The first line alone is too long.
        let room = lines[0].len() * limits.head / tokens[0].max(1);
        let characters = lines[0].char_indices();
        let beginning = characters.take_while(|(at, _)| *at < room);
        out.push(beginning.map(|(_, character)| character).collect());
        from = 1;
    }
    let left_out = lines
        .get(from)
        .filter(|_| from < end)
        .unwrap_or(&lines[head]);
    let count = end - head;
    let noun = if count == 1 { "line" } else { "lines" };
    out.push(format!("[{count} {noun}: p{message}: {}]", first(left_out)));
    out.extend_from_slice(&lines[end..]);
    out
}

/// Returns the number of lines from the beginning that fit into this many tokens.
fn fitting<'t>(tokens: impl Iterator<Item = &'t usize>, room: usize) -> usize {
    let mut sum = 0;
    let fits = tokens.take_while(|&&tokens| {
        sum += tokens;
        sum <= room
    });
    fits.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Words;

    impl TokenCounter for Words {
        fn name(&self) -> &'static str {
            "words"
        }
        fn count(&self, text: &str) -> usize {
            text.split_whitespace().count()
        }
    }

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
        let cut = middle(listing.clone(), 7, &Words);
        assert_eq!(cut.len(), 30 + 1 + 10);
        assert_eq!(cut[30], "[60 lines: p7: file_30]");
        assert_eq!(cut[31..], listing[90..]);
        let short = lines(60, |n| format!("file_{n}"));
        assert_eq!(middle(short.clone(), 7, &Words), short);
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_within() {
        let long = lines(1, |_| "größe ".repeat(9000));
        let cut = longest(long.clone(), 3, &Words);
        assert_eq!(cut.len(), 2);
        assert!(long[0].starts_with(&cut[0]) && cut[0].len() > 5000);
        assert_eq!(cut[1], "[1 line: p3: größe größe größe größe größe größe]");
    }
}
