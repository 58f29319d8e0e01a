//! Measures the judges of drift on recorded conversations that go on after a summary: how many planted faults the
//! judges find, and how many signs they see in the recorded messages.
//!
//! The variable `ACCP_CORPUS` names a folder with recordings. Without it, the project's examples are used.
//! `SHOW_DRIFT` prints the missed faults and the false signs, for the half of the conversations that judges are
//! developed with.

mod continued;
mod phrases;
mod plant;
mod recorded;

use std::cell::RefCell;
use std::collections::BTreeMap;

use accp_memory::{Case, Indicator, Judge, LEXICAL, Sign};
use continued::Continued;
use plant::{Dice, Labelled, planted};

/// The most cases of each kind in each half of the conversations.
const MOST: usize = 40;

/// Judges that see signs of everything, of nothing, or at random.
#[derive(Clone, Copy)]
enum Dumb {
    Always,
    Never,
    Coin,
}

impl Judge for Dumb {
    fn judge(&self, case: &Case<'_>) -> Vec<Sign> {
        let mut dice = Dice::of(&format!(
            "{} {}",
            case.message().text,
            case.conversation().len()
        ));
        let mut signs = Vec::new();
        for indicator in Indicator::ALL {
            let is_sign = match self {
                Self::Always => true,
                Self::Never => false,
                Self::Coin => dice.roll(2) == 0,
            };
            if is_sign {
                signs.push(Sign::new(indicator, "a guess", vec![0]));
            }
        }
        signs
    }
}

/// How many planted faults of an indicator judges found, and how many false signs they gave.
#[derive(Debug, Default, Clone, Copy)]
struct Score {
    planted: u32,
    found: u32,
    innocent: u32,
    wrong: u32,
}

impl Score {
    /// Returns precision and recall as people read them; `-` where there is nothing to divide by.
    fn figures(self) -> [String; 2] {
        let seen = self.found + self.wrong;
        [seen, self.planted].map(|all| match all {
            0 => "-".to_owned(),
            all => format!("{:.2}", share(self.found, all)),
        })
    }
}

fn share(part: u32, all: u32) -> f64 {
    f64::from(part) / f64::from(all.max(1))
}

/// Returns the cases with planted faults, and the cases of all recorded messages.
fn cases(all: &[Continued<'_>]) -> (Vec<Labelled>, Vec<Labelled>) {
    let mut faulty = Vec::new();
    let mut counts: BTreeMap<(bool, Indicator), usize> = BTreeMap::new();
    for round in 0..4 {
        for one in all {
            for case in planted(all, one, round) {
                let count = counts
                    .entry((case.is_known, case.planted.unwrap()))
                    .or_default();
                if *count < MOST {
                    *count += 1;
                    faulty.push(case);
                }
            }
        }
    }
    let mut recorded = Vec::new();
    for one in all {
        recorded.extend(one.points.iter().map(|point| Labelled {
            point: point.clone(),
            message: one.recorded.messages[point.next].clone(),
            is_known: one.recorded.is_known,
            planted: None,
            from: format!("{} {}", one.recorded.file, one.recorded.id),
        }));
    }
    (faulty, recorded)
}

/// All judges that are measured.
const PANEL: [(&str, &[&dyn Judge]); 4] = [
    ("by words", LEXICAL),
    ("always", &[&Dumb::Always]),
    ("never", &[&Dumb::Never]),
    ("coin", &[&Dumb::Coin]),
];

/// Keeps what each judge says of a case.
#[derive(Default)]
struct Panel(RefCell<[Vec<Sign>; 4]>);

impl Judge for Panel {
    fn judge(&self, case: &Case<'_>) -> Vec<Sign> {
        let signs =
            PANEL.map(|(_, judges)| judges.iter().flat_map(|judge| judge.judge(case)).collect());
        *self.0.borrow_mut() = signs;
        Vec::new()
    }
}

/// A case, and what each judge says of it.
struct Judged {
    case: Labelled,
    signs: [Vec<Sign>; 4],
}

impl Judged {
    fn of(case: Labelled) -> Self {
        let panel = Panel::default();
        case.point.show(&case.message, &panel);
        Self {
            case,
            signs: panel.0.into_inner(),
        }
    }

    fn has(&self, judge: usize, indicator: Indicator) -> bool {
        self.signs[judge]
            .iter()
            .any(|sign| sign.indicator() == indicator)
    }
}

/// Returns the score for each indicator. It has as many recorded cases, chosen at random, as planted ones.
fn scores(faulty: &[&Judged], recorded: &[&Judged], judge: usize) -> [Score; 5] {
    let mut dice = Dice::of("innocent");
    Indicator::ALL.map(|indicator| {
        let planted = faulty
            .iter()
            .filter(|one| one.case.planted == Some(indicator));
        let mut score = Score::default();
        let mut pool = recorded.to_vec();
        for one in planted {
            score.planted += 1;
            score.found += u32::from(one.has(judge, indicator));
            if !pool.is_empty() {
                let innocent = pool.swap_remove(dice.roll(pool.len()));
                score.innocent += 1;
                score.wrong += u32::from(innocent.has(judge, indicator));
            }
        }
        score
    })
}

/// Shows what the judge by words got wrong.
fn show(all: &[Judged]) {
    for Judged { case, signs } in all.iter().filter(|one| one.case.is_known) {
        let message: String = case.message.to_string().chars().take(700).collect();
        match case.planted {
            Some(planted) if signs[0].iter().any(|sign| sign.indicator() == planted) => {}
            Some(planted) => println!("MISSED {} in {}: {message}", planted.name(), case.from),
            None => signs[0]
                .iter()
                .for_each(|sign| println!("CRIED {} {sign:?}\n    {message}", case.from)),
        }
    }
}

/// Returns how much more often judges see signs where a fault was planted than where none was: 0 for a guess.
fn gain(scores: [Score; 5]) -> f64 {
    let sum = |part: fn(&Score) -> u32| scores.iter().map(part).sum();
    let seen = share(sum(|one| one.found), sum(|one| one.planted));
    seen - share(sum(|one| one.wrong), sum(|one| one.innocent))
}

/// Prints the figures of a half, and returns the gain of each judge of the panel.
fn report(half: &str, faulty: &[&Judged], recorded: &[&Judged]) -> [f64; 4] {
    let mut gains = [0.0; 4];
    for (judge, (name, _)) in PANEL.iter().enumerate() {
        let scores = scores(faulty, recorded, judge);
        gains[judge] = gain(scores);
        for (indicator, score) in Indicator::ALL.into_iter().zip(scores) {
            let [precision, recall] = score.figures();
            println!(
                "{half:>8} {name:>8} {:>13}: precision {precision} recall {recall} ({} of {} found, {} of {} cried)",
                indicator.name(),
                score.found,
                score.planted,
                score.wrong,
                score.innocent,
            );
        }
    }
    let cries = |indicator| recorded.iter().filter(|one| one.has(0, indicator)).count();
    let each = Indicator::ALL.map(|one| format!("{} {}", one.name(), cries(one)));
    println!(
        "{half:>8} signs in {} of {} recorded messages: {}",
        alarms(recorded),
        recorded.len(),
        each.join(", ")
    );
    gains
}

/// Returns the number of messages with a sign of the judges by words.
fn alarms(all: &[&Judged]) -> usize {
    all.iter().filter(|one| !one.signs[0].is_empty()).count()
}

#[test]
fn planted_faults_are_told_from_what_was_recorded() {
    let recordings = recorded::all();
    let all: Vec<_> = recordings.iter().filter_map(Continued::of).collect();
    let (faulty, recorded) = cases(&all);
    let [faulty, recorded] =
        [faulty, recorded].map(|cases| cases.into_iter().map(Judged::of).collect::<Vec<_>>());
    println!(
        "{} conversations, {} with a summary and {} messages after it; {} planted faults",
        recordings.len(),
        all.len(),
        recorded.len(),
        faulty.len()
    );
    if std::env::var_os("SHOW_DRIFT").is_some() {
        show(&faulty);
        show(&recorded);
    }
    for (half, is_known) in [("known", true), ("held out", false)] {
        let [faulty, recorded] = [&faulty, &recorded].map(|all| {
            let half = all.iter().filter(|one| one.case.is_known == is_known);
            half.collect::<Vec<_>>()
        });
        let [words, always, never, coin] = report(half, &faulty, &recorded);
        // A missing constraint counts again in each later message, so a few messages give no
        // reliable share.
        assert!(
            recorded.len() < 100 || alarms(&recorded) * 7 <= recorded.len(),
            "{half}"
        );
        assert_eq!(
            (always, never),
            (0.0, 0.0),
            "a judge that does not look gains nothing"
        );
        let least = if faulty.len() < 100 { 0.1 } else { 0.2 };
        assert!(faulty.is_empty() || words > least, "{half}: {words}");
        // With few cases, the judge that tosses a coin may score well by chance.
        assert!(
            faulty.len() < 100 || coin.abs() < 0.15 && words > coin,
            "{half}: {coin}"
        );
    }
}
