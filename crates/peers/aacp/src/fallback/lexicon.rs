//! The words of English that the reading of instructions knows.

/// The polite phrases with which an instruction may begin. They do not say what to do.
const COURTESY: [&str; 12] = [
    "please",
    "kindly",
    "can you",
    "could you",
    "would you",
    "will you",
    "i need you to",
    "i want you to",
    "i would like you to",
    "we need you to",
    "we want you to",
    "we would like you to",
];

/// Words after which another part of a sentence begins.
const LINKS: &str = "\
    about above after against among and around as at because before behind below between but by \
    down during except for from if in inside into nor not of off on onto or out outside over per \
    since than that through till to toward towards under unless until up upon via when where which \
    while who with within without";

/// More words that are not keywords.
const SMALL: &str = "\
    a all an any are be been can could do does each every had has have his her i is it its may me \
    must my now our shall should so the their them then there these they this those us was we were \
    will would you your";

/// Nouns that may be added or missing in an instruction that only reads.
const NEUTRAL: &str = "data detail details info information";

/// Verbs that only read.
const READS: &str = "display fetch find get list load obtain read retrieve show view";

const MONTHS: &str = "\
    january february march april may june july august september october november december";

const NUMBERS: &str = "\
    zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 \
    twelve=12 thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 \
    twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100 \
    thousand=1000 million=1000000";

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Returns the number of words in the polite phrase at the beginning of an instruction.
pub(super) fn courtesy(words: &[&str]) -> Option<usize> {
    COURTESY.iter().find_map(|phrase| {
        let count = phrase.split(' ').count();
        let mut pairs = phrase.split(' ').zip(words);
        let is_same = pairs.all(|(part, word)| word.eq_ignore_ascii_case(part));
        (is_same && count <= words.len()).then_some(count)
    })
}

/// Returns whether a word in small letters begins another part of a sentence, as "of" does.
pub(super) fn is_link(word: &str) -> bool {
    has(LINKS, word)
}

/// Returns whether a word in small letters is a keyword.
pub(super) fn is_keyword(word: &str) -> bool {
    !has(LINKS, word) && !has(SMALL, word)
}

/// Returns whether a word in small letters may be added or missing in an instruction that only
/// reads.
pub(super) fn is_neutral(word: &str) -> bool {
    has(NEUTRAL, word)
}

/// Returns whether a verb in small letters only reads.
pub(super) fn is_read(verb: &str) -> bool {
    has(READS, verb)
}

/// Returns whether a word looks like a plural.
pub(super) fn is_plural(word: &str) -> bool {
    let is_other = ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    word.len() > 3 && word.ends_with('s') && !is_other
}

/// Returns the singular of a word. A word that is not a plural stays as it is.
pub(super) fn singular(word: &str) -> String {
    if !is_plural(word) {
        return word.to_owned();
    }
    if let Some(rest) = word.strip_suffix("ies") {
        return format!("{rest}y");
    }
    let hissing = ["sses", "shes", "ches", "xes", "zes"];
    let cut = if hissing.iter().any(|end| word.ends_with(end)) {
        2
    } else {
        1
    };
    word.get(..word.len() - cut).unwrap_or(word).to_owned()
}

/// Returns the number of a month from its name or its short form, in small letters.
pub(super) fn month(word: &str) -> Option<u8> {
    let is_it = |name: &str| name == word || word.len() == 3 && name.starts_with(word);
    let at = MONTHS.split_whitespace().position(is_it);
    let at = at.or((word == "sept").then_some(8))?;
    u8::try_from(at + 1).ok()
}

/// Returns the name of a month, in small letters.
pub(super) fn month_name(month: u8) -> Option<&'static str> {
    MONTHS
        .split_whitespace()
        .nth(usize::from(month).checked_sub(1)?)
}

/// Returns the number that a word in small letters names.
pub(super) fn number(word: &str) -> Option<&'static str> {
    let mut pairs = NUMBERS
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == word).map(|pair| pair.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plural_leads_to_its_singular() {
        for (word, one) in [
            ("employees", "employee"),
            ("salaries", "salary"),
            ("batches", "batch"),
            ("addresses", "address"),
            ("taxes", "tax"),
            ("expenses", "expense"),
            ("access", "access"),
            ("status", "status"),
            ("gas", "gas"),
            ("approved", "approved"),
        ] {
            assert_eq!(singular(word), one);
        }
    }

    #[test]
    fn every_list_holds_words_once_and_in_small_letters() {
        let mut all = Vec::new();
        for list in [LINKS, SMALL, NEUTRAL, READS] {
            all.extend(list.split_whitespace());
        }
        assert!(all.iter().all(|word| *word == word.to_lowercase()));
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
