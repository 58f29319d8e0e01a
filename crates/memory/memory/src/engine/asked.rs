//! Shows the requests of persons in a summary. If a request does not fit as a whole, the summary shows its beginning
//! and a mark for the rest.

use super::Memory;
use super::mark::{Lines, MESSAGE, TOOL};
use crate::parsed::Parsed;
use crate::summary::{Item, quoted};

/// How many characters of a request a summary shows, if it has no room for the whole request. With 0, the mark stands
/// alone.
const CUT: [usize; 6] = [2_000, 800, 400, 200, 80, 0];
/// The fewest characters of a line that is shown in part.
const PART: usize = 40;
/// The tokens of the mark that stands for several requests.
const COMMON: u64 = 50;

/// The forms of a request with their tokens, the longest one first. The first form is the whole request, and the
/// others follow [`CUT`].
type Forms = Vec<(String, u64)>;

impl Memory {
    /// Returns requests as a summary shows them, in at most `most` tokens. If they do not all fit, the newest request
    /// gets room first, then the first request, then the others from new to old. A request without enough room keeps
    /// its first lines, and a mark names the other lines. If there is not even room for these marks, the oldest
    /// requests have one mark together. `all` are the messages of the list, which have the names of the speakers.
    pub(super) fn requests(&self, all: &[Parsed], asked: &[&Item], most: u64) -> String {
        let heads = asked.iter().map(|item| head(all, item));
        let heads: Vec<String> = heads.collect();
        let whole = asked.iter().zip(&heads);
        let whole = whole.map(|(item, head)| format!("{head}\n{}", quoted(&item.text)));
        let whole: Vec<String> = whole.collect();
        let text = whole.join("\n");
        if self.counter.count(&text) as u64 <= most {
            return text;
        }
        let forms = asked.iter().zip(&heads).zip(whole);
        let forms = forms.map(|((item, head), whole)| self.forms(item, head, whole));
        let forms: Vec<Forms> = forms.collect();
        let shown = fitting(&forms, most);
        let shown = shown.iter().zip(&forms);
        let shown: Vec<&(String, u64)> = shown.map(|(at, forms)| &forms[*at]).collect();
        let mut used: u64 = shown.iter().map(|(_, tokens)| *tokens).sum();
        let mut gone = 0;
        while used > most && gone < shown.len() {
            used += if gone == 0 { COMMON } else { 0 };
            used = used.saturating_sub(shown[gone].1);
            gone += 1;
        }
        let common = asked[..gone].first().zip(asked[..gone].last());
        let common = common.map(|(first, last)| {
            let (first, last) = (first.message, last.message);
            format!(
                "[{gone} requests in messages {first} to {last} left out; {TOOL}(\"{MESSAGE}{first}\", 1, 40) shows lines of message {first}]"
            )
        });
        let shown = shown[gone..].iter().map(|(text, _)| text.clone());
        let lines: Vec<String> = common.into_iter().chain(shown).collect();
        lines.join("\n")
    }

    /// Returns the forms of a request. No form has more tokens than the one before it.
    fn forms(&self, item: &Item, head: &str, whole: String) -> Forms {
        let characters = item.text.chars().count();
        let name = format!("{MESSAGE}{}", item.message);
        let read = self.message(&name).unwrap_or_default();
        let tokens = self.tokens_of(&whole);
        let mut last = (whole, tokens);
        let mut forms = vec![last.clone()];
        for most in CUT {
            if characters > most {
                let cut = beginning(&name, head, (&*item.text, &*read), most);
                let tokens = self.tokens_of(&cut);
                if tokens < last.1 {
                    last = (cut, tokens);
                }
            }
            forms.push(last.clone());
        }
        forms
    }

    /// Returns the tokens of a text and of the line feed behind it.
    fn tokens_of(&self, text: &str) -> u64 {
        self.counter.count(text) as u64 + 1
    }
}

/// Returns which form of each request is shown, so that all of them have at most `most` tokens. If that is not
/// possible, each has its shortest form.
fn fitting(forms: &[Forms], most: u64) -> Vec<usize> {
    let newest = forms.len().saturating_sub(1);
    let tokens = |shown: &[usize]| -> u64 {
        let shown = shown.iter().zip(forms);
        shown.map(|(at, forms)| forms[*at].1).sum()
    };
    let others = |whole: &[usize], form: usize| -> Vec<usize> {
        let all = 0..forms.len();
        all.map(|at| if whole.contains(&at) { 0 } else { form })
            .collect()
    };
    // The first request is whole only as long as each other one has more than a mark.
    let both = (1..CUT.len()).map(|form| others(&[newest, 0], form));
    let one = (1..=CUT.len()).map(|form| others(&[newest], form));
    let none = (1..=CUT.len()).map(|form| others(&[], form));
    let found = both
        .chain(one)
        .chain(none)
        .find(|shown| tokens(shown) <= most);
    let mut shown = found.unwrap_or_else(|| others(&[], CUT.len()));
    // The room that is left goes to longer forms.
    let mut used = tokens(&shown);
    for at in [newest, 0].into_iter().chain((1..newest).rev()) {
        let Some((forms, now)) = forms.get(at).zip(shown.get_mut(at)) else {
            continue;
        };
        let without = used.saturating_sub(forms[*now].1);
        let longer = (0..*now).find(|form| without + forms[*form].1 <= most);
        if let Some(form) = longer {
            used = without + forms[form].1;
            *now = form;
        }
    }
    shown
}

/// Returns the head of a request: its message, and the name of its speaker if it has one.
fn head(all: &[Parsed], item: &Item) -> String {
    let name = all.get(item.message).and_then(|one| one.name.as_deref());
    let name = name.map_or(String::new(), |name| format!(" ({name})"));
    format!("{MESSAGE}{}{name}:", item.message)
}

/// Returns the first lines of a request, in at most this many characters, and the mark for the other lines. The mark
/// counts the lines of `read`. This text differs from `text` if `text` has a mark for a block of an earlier request, or
/// if the message has a name or a picture.
fn beginning(name: &str, head: &str, (text, read): (&str, &str), characters: usize) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut room = characters;
    let mut shown = 0;
    for line in &lines {
        let Some(left) = room.checked_sub(line.chars().count() + 1) else {
            break;
        };
        room = left;
        shown += 1;
    }
    let mut begins = lines[..shown].join("\n");
    if let Some(line) = lines.get(shown).filter(|_| room >= PART) {
        let part: String = line.chars().take(room).collect();
        begins = format!("{begins}\n{}\u{2026}", part.trim_end());
    }
    let read: Vec<&str> = read.split('\n').collect();
    let pairs = lines.iter().zip(&read);
    let same = pairs.take_while(|(one, other)| one == other).count();
    let pairs = lines.iter().rev().zip(read.iter().rev());
    let same_at_end = pairs.take_while(|(one, other)| one == other).count();
    let behind = lines.len() - shown;
    let from = if shown <= same {
        shown + 1
    } else if behind <= same_at_end {
        read.len() - behind + 1
    } else {
        same + 1
    };
    let mark = Lines {
        result: name,
        from: from.min(read.len()),
        to: read.len(),
    };
    let mark = mark.left_out();
    if begins.trim().is_empty() {
        format!("{head}\n{mark}")
    } else {
        format!("{head}\n{}\n{mark}", quoted(&begins))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_the_lines_that_a_reader_does_not_see() {
        let lines: Vec<String> = (1..=9).map(|n| format!("line {n} of it")).collect();
        let text = lines.join("\n");
        let beginning = |text: &str, read: &str, characters| {
            super::beginning("message 4", "message 4:", (text, read), characters)
        };
        let cut = beginning(&text, &text, 30);
        assert_eq!(
            cut,
            "message 4:\n> line 1 of it\n> line 2 of it\n\
             [lines 3-9 of message 4 left out; memory_read(\"message 4\", 3, 9) shows them]"
        );
        // The name of the speaker is the first line that the tool reads.
        let named = format!("ann\n{text}");
        let cut = beginning(&text, &named, 30);
        assert!(cut.contains("[lines 4-10 of message 4 left out"), "{cut}");
        // A line stands for a block in the middle, which an earlier request has.
        let other = text.replace("line 5 of it", "a block\nof two lines");
        for (characters, from) in [(30, 3), (80, 8)] {
            let cut = beginning(&text, &other, characters);
            assert!(cut.contains(&format!("[lines {from}-10 of")), "{cut}");
        }
        // Of a single long line, the beginning stays.
        let long = "word ".repeat(90);
        let cut = beginning(&long, &long, 50);
        assert!(cut.contains("> word word"), "{cut}");
        assert!(
            cut.contains("\u{2026}\n[line 1 of message 4 left out"),
            "{cut}"
        );
    }

    #[test]
    fn the_newest_request_is_whole_before_the_others() {
        let forms = |whole: u64| -> Forms {
            let tokens = [whole, 90, 80, 70, 60, 50, 40];
            let tokens = tokens.into_iter().map(|tokens| tokens.min(whole));
            tokens.map(|tokens| (String::new(), tokens)).collect()
        };
        let all = [forms(300), forms(200), forms(30), forms(200)];
        assert_eq!(fitting(&all, 900), [0, 0, 0, 0]);
        // The newest and the first request are whole, and the second one has more than a mark.
        assert_eq!(fitting(&all, 600), [0, 3, 0, 0]);
        assert_eq!(fitting(&all, 400), [1, 2, 0, 0]);
        assert_eq!(fitting(&all, 10), [6, 6, 6, 6]);
        assert_eq!(fitting(&[forms(300)], 75), [3]);
    }
}
