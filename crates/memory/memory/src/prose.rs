//! Finds the prose in a text: its sentences without code, and the words of each sentence.

use std::collections::BTreeSet;

/// A sentence with more bytes than this is data, and is not read.
const LONGEST: usize = 600;
/// A label has at most this many words.
const LABEL: usize = 3;
/// A full stop behind these words does not end a sentence.
const SHORT: [&str; 16] = [
    "e.g", "i.e", "etc", "vs", "mr", "mrs", "ms", "dr", "no", "approx", "a.m", "p.m", "u.s", "st",
    "cf", "fig",
];
/// Words that say nothing of a topic.
const COMMON: &str = " a about after again all also am an and any are as at be because been before being but by \
    can could did do does doing done for from further get go going got had has have having he help her here him \
    his how i if in into is it its just let like make may me might more most my need needs no not now of off on \
    once one only or other our out over own please provide same see shall she should so some such sure take than \
    thank thanks that the their them then there these they thing things this those through to too under until up \
    us use used using very want was way we were what when where which while who will with within without would \
    yes you your i'd i'll i'm i've it's let's that's we'll you'd you'll you're don't doesn't didn't can't isn't \
    must never always ";

/// Words that German, Dutch, French, Spanish, Italian and Portuguese sentences are full of, and English ones are not.
const FOREIGN: &str = " der die das und ist nicht ich sie wir f\u{fc}r mit auf ein eine einen einer zu von den dem des \
    ihre ihr ihren bitte auch noch jetzt werde kann haben sind wird wie zum zur het een niet voor met zijn wij uw ik op \
    dat je la les et pas vous nous pour avec une du au sur votre vos que qui quel es por para una su sus m\u{e1}s y il gli \
    che di non della sono vostro o uma n\u{e3}o seu sua em ";

/// A sentence of prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// The text as it was written, but with one space for each run of white space.
    pub(crate) text: String,
    /// The words in small letters, each between spaces.
    pub(crate) plain: String,
    pub(crate) asks: bool,
    /// The beginnings of the words. With these, most phrases that the sentence does not have are ruled out quickly.
    begins: Beginnings,
}

/// A set of beginnings of words. It may seem to contain beginnings that were never added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Beginnings([u64; 4]);

impl Beginnings {
    fn of(plain: &str) -> Self {
        let mut bits = Self::default();
        for pair in plain.as_bytes().windows(3) {
            if let [b' ', first, second] = pair {
                let (at, bit) = Self::place(*first, *second);
                if let Some(word) = bits.0.get_mut(at) {
                    *word |= bit;
                }
            }
        }
        bits
    }

    fn place(first: u8, second: u8) -> (usize, u64) {
        let mixed = first.wrapping_mul(31) ^ second.wrapping_mul(7);
        (usize::from(mixed >> 6), 1 << (mixed & 63))
    }

    fn may_have(self, phrase: &str) -> bool {
        let mut bytes = phrase.bytes();
        let first = bytes.next().unwrap_or(b' ');
        let (at, bit) = Self::place(first, bytes.next().unwrap_or(b' '));
        self.0.get(at).is_some_and(|word| word & bit != 0)
    }
}

impl Sentence {
    pub(crate) fn of(text: &str) -> Self {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let asks = text
            .trim_end_matches(['"', '\'', ')', '*', '_'])
            .ends_with('?');
        let plain = plain(&text);
        Self {
            begins: Beginnings::of(&plain),
            plain,
            asks,
            text,
        }
    }

    /// Returns whether the sentence has one of these phrases as whole words.
    pub(crate) fn has(&self, phrases: &[&str]) -> bool {
        let mut phrases = phrases.iter().filter(|phrase| self.begins.may_have(phrase));
        phrases.any(|phrase| has(&self.plain, phrase))
    }

    /// Returns whether the sentence begins with one of these phrases.
    pub(crate) fn begins(&self, phrases: &[&str]) -> bool {
        let begins = |phrase: &&str| {
            let rest = self.plain.trim_start().strip_prefix(*phrase);
            rest.is_some_and(|rest| rest.starts_with(' '))
        };
        phrases.iter().any(begins)
    }

    /// Returns whether the label before the sentence has one of these words: `Safety rule: no latex here.`
    pub(crate) fn is_labelled(&self, words: &[&str]) -> bool {
        let label = self.text.split_once(": ").map_or("", |(label, _)| label);
        let mut all = label.split_whitespace();
        let is_short = all.clone().count() <= LABEL;
        is_short && all.any(|word| words.contains(&&*word.to_lowercase()))
    }

    pub(crate) fn count(&self) -> usize {
        self.plain.split_whitespace().count()
    }
}

/// Returns whether a phrase is in a text of words, as whole words.
fn has(plain: &str, phrase: &str) -> bool {
    plain.match_indices(phrase).any(|(at, _)| {
        let before = plain.get(..at).is_some_and(|before| before.ends_with(' '));
        let after = plain.get(at + phrase.len()..);
        before && after.is_some_and(|after| after.starts_with(' '))
    })
}

/// Returns the words of a text in lower case, each between spaces. Punctuation at the ends of words is left out;
/// inside words it stays.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    let text = text.replace('\u{2019}', "'").to_lowercase();
    for word in
        text.split(|c: char| c.is_whitespace() || ",;()[]\"\u{2014}\u{201c}\u{201d}".contains(c))
    {
        let is_mark =
            |c: char| !c.is_alphanumeric() && !matches!(c, '$' | '%' | '\u{20ac}' | '\u{a3}');
        let word = word.trim_matches(is_mark);
        if !word.is_empty() {
            out.push_str(word);
            out.push(' ');
        }
    }
    out
}

/// Returns whether a text may be English: most letters are ASCII, and it has no more common words of other languages
/// than of English. Code, names and numbers count as English.
pub(crate) fn may_be_english(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (ascii, other): (Vec<_>, Vec<_>) = letters.partition(char::is_ascii);
    let plain = plain(text);
    let count = |list| {
        plain
            .split_whitespace()
            .filter(|word| has(list, word))
            .count()
    };
    other.len() * 8 <= ascii.len() && count(FOREIGN) <= count(COMMON)
}

/// Returns the words of a text that say what it is about, without their endings.
pub(crate) fn topics(text: &str) -> BTreeSet<String> {
    let plain = plain(text);
    let words = plain.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_');
    let tells = |word: &&str| (word.len() > 2 || *word == "id") && !has(COMMON, word);
    words.filter(tells).map(stem).collect()
}

/// Returns a word without its ending, so that `books` and `booking` are one.
pub(crate) fn stem(word: &str) -> String {
    let cut = |end: &str| {
        word.strip_suffix(end)
            .filter(|stem| stem.chars().count() > 3)
    };
    let doubled = |stem: &str| {
        let mut last = stem.chars().rev();
        let twice = last
            .next()
            .zip(last.next())
            .is_some_and(|(a, b)| a == b && a != 's');
        let end = if twice { stem.len() - 1 } else { stem.len() };
        stem.get(..end).unwrap_or(stem).to_owned()
    };
    if let Some(stem) = cut("ations").or_else(|| cut("ation")) {
        return stem.to_owned();
    }
    if let Some(stem) = cut("ing").or_else(|| cut("ed")) {
        return doubled(stem).trim_end_matches('e').to_owned();
    }
    let word = cut("es")
        .or_else(|| cut("s"))
        .or_else(|| cut("ly"))
        .unwrap_or(word);
    if word.len() > 4 {
        word.trim_end_matches('e')
    } else {
        word
    }
    .to_owned()
}

/// Returns the sentences of a text that people wrote: without fenced code, lines of code, tables and tags.
pub(crate) fn sentences(text: &str) -> Vec<Sentence> {
    let mut out = Vec::new();
    for paragraph in paragraphs(text) {
        for part in split(&paragraph) {
            let sentence = Sentence::of(part);
            if sentence.text.len() <= LONGEST && sentence.plain.trim().contains(' ') {
                out.push(sentence);
            }
        }
    }
    out
}

/// Returns the paragraphs of a text. A line that ends in the middle of a sentence is joined with the next line.
fn paragraphs(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let (mut fenced, mut open) = (false, false);
    for line in text.lines() {
        let shown = line.trim();
        if shown.starts_with("```") || shown.starts_with("~~~") {
            (fenced, open) = (!fenced, false);
            continue;
        }
        let indented = line.starts_with("    ") && !is_listed(shown) || line.starts_with('\t');
        if fenced || shown.is_empty() || is_code(shown) || indented && !open {
            open = false;
            continue;
        }
        let line = unlisted(shown);
        let goes_on = open && !is_listed(shown) && !shown.starts_with('#');
        match out.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.push(' ');
                last.push_str(line);
            }
            None => out.push(line.to_owned()),
        }
        let is_whole = shown.ends_with(['.', '!', '?', ':', ';']) || shown.starts_with('#');
        open = !is_whole && shown.len() > 50;
    }
    out
}

/// Returns whether a line is an item of a list.
fn is_listed(line: &str) -> bool {
    unlisted(line).len() < line.len()
}

/// Returns a line without the mark of a list, a quotation or a heading.
pub(crate) fn unlisted(line: &str) -> &str {
    let marks = ["- [ ] ", "- [x] ", "- ", "* ", "+ ", "\u{2022} ", "> "];
    if let Some(rest) = marks.iter().find_map(|mark| line.strip_prefix(mark)) {
        return rest.trim_start();
    }
    let heading = line.trim_start_matches('#');
    if heading.len() < line.len() && heading.starts_with(' ') {
        return heading.trim_start();
    }
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = number
        .strip_prefix(". ")
        .or_else(|| number.strip_prefix(") "));
    match rest.filter(|_| number.len() < line.len()) {
        Some(rest) => rest.trim_start(),
        None => line,
    }
}

/// Returns whether a line is code, data or markup, and not prose.
pub(crate) fn is_code(line: &str) -> bool {
    const INSIDE: [&str; 16] = [
        "();", "){", ") {", "=>", "->", " == ", " != ", "::", "</", "/>", "\":", "&&", "||", "+=",
        "');", "\");",
    ];
    const BEGIN: [&str; 24] = [
        "import ",
        "def ",
        "class ",
        "return ",
        "#include",
        "$ ",
        ">>> ",
        "@",
        "fn ",
        "pub ",
        "const ",
        "var ",
        "assert ",
        "elif ",
        "else:",
        "try:",
        "except ",
        "//",
        "/*",
        "|",
        "<",
        "{",
        "}",
        "Traceback",
    ];
    let ends = line.ends_with([';', '{', '}', '\\']);
    let calls = ["self.", "print(", "assert("]
        .iter()
        .any(|call| line.contains(call));
    let from = line.starts_with("from ") && line.contains(" import ");
    let known = INSIDE.iter().any(|mark| line.contains(mark))
        || BEGIN.iter().any(|mark| line.starts_with(mark));
    let symbols = line
        .chars()
        .filter(|c| !c.is_alphanumeric() && !c.is_whitespace())
        .count();
    ends || calls || from || known || symbols * 4 > line.chars().count() && line.len() > 12
}

/// Returns whether a word is a single letter, such as an initial of a name.
fn is_initial(word: &str) -> bool {
    word.len() == 1 && word.starts_with(char::is_alphabetic)
}

/// Returns the sentences of a paragraph.
fn split(paragraph: &str) -> Vec<&str> {
    let (mut out, mut from) = (Vec::new(), 0);
    let mut letters = paragraph.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if !matches!(letter, '.' | '!' | '?') {
            continue;
        }
        let mut end = at + letter.len_utf8();
        while let Some((at, mark)) = letters.peek().copied()
            && (".!?\"')*\u{201d}".contains(mark))
        {
            end = at + mark.len_utf8();
            letters.next();
        }
        let rest = paragraph.get(end..).unwrap_or_default();
        let begins = rest.trim_start().chars().next();
        let is_end =
            rest.starts_with(char::is_whitespace) && begins.is_some_and(|c| !c.is_lowercase());
        let before = paragraph.get(from..at).unwrap_or_default();
        let word = before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        let word = word.trim_start_matches(['(', '"']).to_lowercase();
        let is_short =
            letter == '.' && (SHORT.contains(&&*word) || is_initial(&word) && before.len() > 1);
        if is_end && !is_short {
            out.extend(paragraph.get(from..end));
            from = end;
        }
    }
    out.extend(paragraph.get(from..).filter(|rest| !rest.trim().is_empty()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        sentences(text).into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn a_text_has_its_sentences_without_its_code() {
        let text = "# Rules\nNever book\tover $3.50, e.g. Rye. Is it \"new\"? Yes it is!\n- Pay by card\n```\nmust.not();\n```\n\
            let x = a == b;\n2. Ask first. Dr. Ito knows\n";
        let expected = [
            "Never book over $3.50, e.g. Rye.",
            "Is it \"new\"?",
            "Yes it is!",
            "Pay by card",
            "Ask first.",
            "Dr. Ito knows",
        ];
        assert_eq!(texts(text), expected);
        assert!(sentences(text)[1].asks);
        let wrapped =
            "This line is a long one that goes on and on until its end and\nthen in the next.";
        assert_eq!(texts(wrapped), [wrapped.replace('\n', " ")]);
    }

    #[test]
    fn other_languages_are_told_from_english() {
        for text in [
            "Was ist Ihre Kundennummer?",
            "Ich habe die Aufgabe erledigt.",
            "La tarea es completa para el cliente.",
            "Quel est votre num\u{e9}ro de client ?",
            "\u{304a}\u{5ba2}\u{69d8}\u{756a}\u{53f7}\u{306f}\u{4f55}\u{3067}\u{3059}\u{304b}\u{ff1f}",
            "\u{4efb}\u{52a1}\u{5df2}\u{5b8c}\u{6210}\u{3002} OK",
        ] {
            assert!(!may_be_english(text), "{text}");
        }
        for text in [
            "Task complete.",
            "",
            "What is the price of Br\u{f6}tchen?",
            "grep -rn foo src",
            "41 12.5",
        ] {
            assert!(may_be_english(text), "{text}");
        }
    }

    #[test]
    fn phrases_are_whole_words() {
        let sentence = Sentence::of("You don\u{2019}t need (at most) THREE.");
        assert!(
            sentence.has(&["at most"]) && sentence.has(&["don't"]) && sentence.begins(&["you"])
        );
        assert!(!sentence.has(&["at mos", "hree"]));
        assert_eq!(
            topics("Booking the flights, booked flight"),
            topics("book a flight")
        );
    }
}
