//! The words of English that the reading of instructions knows, and the stem of a word.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Words that say nothing about what is to be done.
const FILLERS: &str = "\
    a an and any are as at be been can could each every for has have here i in into is it \
    its kindly like may me my need now of on our please shall should so that the their them then \
    there these they this those to us want was we were which will with would you your all also \
    by from must";

/// Words that change what is asked for although they are short: two instructions that differ in one
/// of these never share a packet.
const QUALIFIERS: &str = "\
    above after again against annual ascending before below between both but current daily \
    descending double either except excluding fewer first former fully future greater half \
    higher highest hourly if including instead large largest last late latest least less lower \
    lowest max maximum min minimum monthly more most never new newest next no none nor not \
    nothing old oldest once only open or other over own partially past previous prior quarterly \
    recent second since small smallest third today tomorrow top twice under unless until till \
    weekly when while without yearly yesterday monday tuesday wednesday thursday friday saturday \
    sunday";

/// Verbs that are seldom nouns: such a word counts wherever it stands.
const VERBS: &str = "\
    accept acknowledge activate add allocate amend analyse analyze approve archive assess assign \
    attach block book build calculate cancel charge choose clear collect combine compare compile \
    complete compute confirm consolidate convert create credit deactivate debit decline decrease \
    delete deliver deny deploy disable dismiss disregard drop enable encrypt erase escalate \
    evaluate execute expire export extract fetch find forget forward freeze gather generate get \
    give grant hide hire hold identify ignore import include increase inform insert inspect \
    install invite keep launch load lock make merge migrate modify move notify obtain omit \
    overwrite pause pay prepare produce provide provision publish pull purge push put read \
    receive recover redirect refund register reject remind remove rename renew reopen replace \
    reset resolve restart restore restrict resume retrieve revert revoke save select send sell \
    share shred sign skip solve start stop store submit subscribe summarise summarize suspend \
    synchronise synchronize take tell terminate unblock unlock unsubscribe update upload \
    validate verify void wipe withdraw withhold write";

/// Words that are verbs only where an instruction begins: elsewhere they are mostly nouns.
const VERBS_AT_START: &str = "\
    access alert answer audit back backup bill call change check close copy count document \
    download draft email enter file filter fix flag format group highlight invoice issue label \
    link list log look mail map mark match message name note onboard offboard open order pass \
    pick plan post present print process purchase query raise rank rate record refresh release \
    report request return review route run scan schedule score search set show sort split sum \
    sync tag test track transfer use view";

/// Forms that no rule of spelling leads back to their verb.
const IRREGULAR: &str = "\
    built=build found=find gave=give given=give got=get gotten=get held=hold kept=keep made=make \
    paid=pay ran=run sent=send shown=show sold=sell taken=take told=tell took=take \
    withdrawn=withdraw written=write wrote=write chosen=choose hidden=hide frozen=freeze";

/// Nouns and adjectives that may come or go without a change of what is asked for.
const NEUTRAL: &str = "\
    complete cycle data database detail entire entry figure file format full information info item list \
    month output period record relevant respective result run set step system whole workflow";

const MONTHS: &str = "\
    january february march april may june july august september october november december";

const NUMBERS: &str = "\
    zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 \
    twelve=12 thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 \
    twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100 \
    thousand=1000 million=1000000";

/// The lists, ready for looking words up.
struct Lexicon {
    fillers: BTreeSet<&'static str>,
    qualifiers: BTreeSet<&'static str>,
    irregular: BTreeMap<&'static str, &'static str>,
    /// The stems of the verbs, and of the neutral words.
    verbs: BTreeSet<String>,
    verbs_at_start: BTreeSet<String>,
    neutral: BTreeSet<String>,
}

impl Lexicon {
    fn shared() -> &'static Self {
        static SHARED: OnceLock<Lexicon> = OnceLock::new();
        SHARED.get_or_init(|| {
            let irregular = pairs(IRREGULAR).collect();
            let stems = |verbs: &'static str| {
                let verbs = verbs.split_whitespace();
                verbs.map(regular).collect()
            };
            Self {
                fillers: FILLERS.split_whitespace().collect(),
                qualifiers: QUALIFIERS.split_whitespace().collect(),
                irregular,
                verbs: stems(VERBS),
                verbs_at_start: stems(VERBS_AT_START),
                neutral: stems(NEUTRAL),
            }
        })
    }
}

fn pairs(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let pairs = list.split_whitespace();
    pairs.filter_map(|pair| pair.split_once('='))
}

/// Returns whether a word, in small letters, says nothing about what is to be done.
pub(super) fn is_filler(word: &str) -> bool {
    Lexicon::shared().fillers.contains(word)
}

/// Returns whether a word, in small letters, changes what is asked for.
pub(super) fn is_qualifier(word: &str) -> bool {
    Lexicon::shared().qualifiers.contains(word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// Returns whether a stem is that of a verb, at the start of an instruction or anywhere.
pub(super) fn is_verb(stem: &str, at_start: bool) -> bool {
    let lexicon = Lexicon::shared();
    lexicon.verbs.contains(stem) || at_start && lexicon.verbs_at_start.contains(stem)
}

/// Returns whether a stem may come or go without a change of what is asked for.
pub(super) fn is_neutral(stem: &str) -> bool {
    Lexicon::shared().neutral.contains(stem)
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
    pairs(NUMBERS)
        .find(|(name, _)| *name == word)
        .map(|pair| pair.1)
}

/// Returns the common part of the forms of a word: "retrieve", "retrieves" and "retrieving" have one
/// stem. Stems are for comparing; they need not be words.
pub(super) fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let word = word
        .strip_suffix("'s")
        .or(word.strip_suffix("’s"))
        .unwrap_or(&word);
    regular(Lexicon::shared().irregular.get(word).unwrap_or(&word))
}

/// Returns the stem of a word in small letters that follows the rules of spelling.
fn regular(word: &str) -> String {
    if word.chars().count() < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    if let Some(rest) = word.strip_suffix("ies").or(word.strip_suffix("ied")) {
        stem = format!("{rest}y");
    } else if word.ends_with('s')
        && !word.ends_with("ss")
        && !word.ends_with("us")
        && !word.ends_with("is")
    {
        let hissing = ["sses", "shes", "ches", "xes", "zes"];
        let cut = if hissing.iter().any(|end| word.ends_with(end)) {
            2
        } else {
            1
        };
        stem.truncate(word.len() - cut);
    } else {
        let has_vowel =
            |rest: &&str| rest.contains(['a', 'e', 'i', 'o', 'u', 'y']) && rest.len() > 2;
        let rest = word.strip_suffix("ing").or(word.strip_suffix("ed"));
        if let Some(rest) = rest.filter(has_vowel) {
            rest.clone_into(&mut stem);
            let last = stem.bytes().last();
            let is_double = stem.bytes().rev().nth(1) == last;
            if is_double && !matches!(last, Some(b'l' | b's' | b'z')) {
                stem.pop();
            }
        }
    }
    let cut = stem.strip_suffix('e').filter(|rest| rest.len() > 2);
    cut.unwrap_or(&stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_word_have_one_stem() {
        for forms in [
            &["retrieve", "Retrieves", "retrieved", "retrieving"][..],
            &["employee", "employees", "employee's"],
            &["calculate", "calculated", "calculating", "calculates"],
            &["copy", "copies", "copied", "copying"],
            &["send", "sent", "sends", "sending"],
            &["stop", "stopped", "stopping"],
            &["salary", "salaries"],
            &["process", "processes", "processed", "processing"],
            &["batch", "batches"],
            &["expense", "expenses"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
        for (one, other) in [
            ("retrieve", "delete"),
            ("status", "state"),
            ("employee", "employer"),
        ] {
            assert_ne!(stem(one), stem(other));
        }
    }

    #[test]
    fn every_list_holds_words_once_and_in_small_letters() {
        for list in [FILLERS, QUALIFIERS, VERBS, VERBS_AT_START, NEUTRAL] {
            let mut words: Vec<&str> = list.split_whitespace().collect();
            assert!(words.iter().all(|word| *word == word.to_lowercase()));
            words.sort_unstable();
            for pair in words.windows(2) {
                assert_ne!(pair[0], pair[1]);
            }
        }
        let lexicon = Lexicon::shared();
        assert!(lexicon.fillers.is_disjoint(&lexicon.qualifiers));
        assert!(lexicon.verbs.is_disjoint(&lexicon.verbs_at_start));
        assert!(
            lexicon
                .fillers
                .iter()
                .all(|word| !is_verb(&stem(word), false))
        );
    }
}
