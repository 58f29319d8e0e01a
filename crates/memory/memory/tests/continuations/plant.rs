//! Plants faults in recorded conversations that go on after a summary.

use accp_memory::Indicator;
use serde_json::{Value as Json, json};

use crate::continuations::continued::{Continued, Point};
use crate::continuations::phrases::{ASKS, DONE, RESTATES, half};
use crate::continuations::recorded::{acts, arguments, hash, words};

/// Numbers that look random, from a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn of(seed: &str) -> Self {
        Self(hash(seed))
    }

    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = hash(&self.0.to_string());
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        (!all.is_empty()).then(|| &all[self.roll(all.len())])
    }
}

/// A case: the place, and what the assistant says there.
pub(crate) struct Labelled {
    pub(crate) point: Point,
    pub(crate) message: Json,
    pub(crate) is_known: bool,
    /// The planted fault; `None` for a recorded message.
    pub(crate) planted: Option<Indicator>,
    /// The file and the id of the conversation, for people.
    pub(crate) from: String,
}

fn says(text: impl AsRef<str>) -> Json {
    json!({ "role": "assistant", "content": text.as_ref() })
}

/// Returns one case for each indicator for which a fault can be planted in the conversation.
pub(crate) fn planted(all: &[Continued<'_>], one: &Continued<'_>, round: usize) -> Vec<Labelled> {
    let is_known = one.recorded.is_known;
    let from = format!("{} {}", one.recorded.file, one.recorded.id);
    let mut out = Vec::new();
    for indicator in Indicator::ALL {
        let mut dice = Dice::of(&format!("{from} {round} {}", indicator.name()));
        let made = match indicator {
            Indicator::Clarification => clarification(one, &mut dice),
            Indicator::Done => done(one, &mut dice),
            Indicator::Unrelated => unrelated(all, one, &mut dice),
            Indicator::Contradiction => contradiction(one, &mut dice),
            Indicator::Constraint => constraint(one, &mut dice),
        };
        out.extend(made.map(|(point, message)| Labelled {
            point,
            message,
            is_known,
            planted: Some(indicator),
            from: from.clone(),
        }));
    }
    out
}

type Made = Option<(Point, Json)>;

/// Asks for an argument whose value a user or a tool has already said.
fn clarification(one: &Continued<'_>, dice: &mut Dice) -> Made {
    let all = &one.recorded.messages;
    let point = dice.pick(&one.points)?;
    let said = &all[..point.next];
    let answered = |value: &str| {
        said.iter()
            .any(|message| message["role"] != "assistant" && words(message).contains(value))
    };
    let mut asked: Vec<_> = said.iter().flat_map(arguments).collect();
    asked.retain(|(key, value)| key.len() > 3 && answered(value));
    let (key, _) = dice.pick(&asked)?;
    let phrase = dice.pick(half(&ASKS, one.recorded.is_known))?;
    Some((
        point.clone(),
        says(phrase.replace("{a}", &key.replace('_', " "))),
    ))
}

/// Says that all is done, while the recording goes on with work.
fn done(one: &Continued<'_>, dice: &mut Dice) -> Made {
    let works = |point: &&Point| one.recorded.messages[point.next..].iter().any(acts);
    let points: Vec<_> = one.points.iter().filter(works).collect();
    let phrase = dice.pick(half(&DONE, one.recorded.is_known))?;
    Some(((*dice.pick(&points)?).clone(), says(phrase)))
}

/// Does what the assistant does in another conversation, which is from another file but from the same half.
fn unrelated(all: &[Continued<'_>], one: &Continued<'_>, dice: &mut Dice) -> Made {
    let others = all.iter().filter(|other| {
        other.recorded.file != one.recorded.file && other.recorded.is_known == one.recorded.is_known
    });
    let actions = others.map(|other| {
        let said = other
            .points
            .iter()
            .map(|point| &other.recorded.messages[point.next]);
        said.filter(|message| acts(message)).collect::<Vec<_>>()
    });
    // Each conversation is picked with the same probability, however many actions it has.
    let actions: Vec<_> = actions.filter(|actions| !actions.is_empty()).collect();
    let actions = dice.pick(&actions)?;
    let action = *dice.pick(actions)?;
    Some((dice.pick(&one.points)?.clone(), action.clone()))
}

/// Contradicts a decision with another value: in the assistant's next message if this message has the value, or else in
/// a new message.
fn contradiction(one: &Continued<'_>, dice: &mut Dice) -> Made {
    let all = &one.recorded.messages;
    let point = dice.pick(&one.points)?;
    let decisions = point.left(&all[point.next]).decisions;
    let valued: Vec<_> = decisions
        .iter()
        .filter_map(|(_, text)| Some((text, value(text)?)))
        .collect();
    let (decision, value) = dice.pick(&valued)?;
    let other = other(value, all, dice)?;
    let own = |point: &&Point| {
        let text = words(&all[point.next]);
        text.contains(value) && text.len() < 1_500 && !text.contains('?')
    };
    if let Some(point) = one.points.iter().find(own) {
        let text = words(&all[point.next]).replace(value, &other);
        return Some((point.clone(), says(text)));
    }
    let phrase = dice.pick(half(&RESTATES, one.recorded.is_known))?;
    let text = phrase.replace("{d}", &decision.replace(value, &other));
    Some((point.clone(), says(text)))
}

/// Returns the word of a decision that is the chosen value: a word with a digit, or with marks or capitals inside.
fn value(text: &str) -> Option<&str> {
    let text = text.split(" because ").next()?;
    let words = text.split_whitespace().skip(1);
    let mut words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.find(|word| is_value(word))
}

fn is_value(word: &str) -> bool {
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    let inner = word.get(1..).unwrap_or_default();
    let is_name = inner.contains(|c: char| c.is_ascii_uppercase() || c == '_')
        && inner.contains(|c: char| c.is_ascii_lowercase());
    word.len() > 1 && (has_digit || is_name)
}

/// Returns another value of the same kind that stands in the conversation.
fn other(value: &str, all: &[Json], dice: &mut Dice) -> Option<String> {
    let kind = |word: &str| {
        (
            word.contains(|c: char| c.is_ascii_digit()),
            word.contains('_'),
            word.starts_with(char::is_uppercase),
        )
    };
    let words = all.iter().flat_map(|message| {
        words(message).split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
    });
    let words = words.map(|word| word.trim_matches('.'));
    let others: Vec<_> = words
        .filter(|word| {
            is_value(word)
                && *word != value
                && kind(word) == kind(value)
                && word.len().abs_diff(value.len()) <= 4
        })
        .collect();
    dice.pick(&others).map(|word| (*word).to_owned())
}

/// Leaves a constraint out of the summary. The assistant goes on as recorded.
fn constraint(one: &Continued<'_>, dice: &mut Dice) -> Made {
    let first = one.points.first()?;
    let message = &one.recorded.messages[first.next];
    let constraints = first.left(message).constraints;
    let stands = |text: &str| first.list.iter().any(|message| message.contains(text));
    let constraints: Vec<_> = constraints
        .into_iter()
        .filter(|(_, text)| stands(text))
        .collect();
    let (_, text) = dice.pick(&constraints)?;
    Some((one.without(text)?, message.clone()))
}
