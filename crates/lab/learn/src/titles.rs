//! Names and docs of shapes, made from the places of their records.

use std::cmp::Reverse;

use crate::corpus::Corpus;
use crate::cost::Earned;
use crate::names::{VERBS, singular, subject, words};
use crate::places::Step;
use crate::traces::Part;

/// Returns possible names of a shape, best first: the words that the names of all its places
/// share, then the name of the place with most records, alone and after the subject of its tool.
pub(crate) fn names(corpus: &Corpus<'_>, shape: usize) -> Vec<Vec<String>> {
    let of = &corpus.index.shapes.list[shape];
    let mut places: Vec<(&usize, &usize)> = of.places.iter().collect();
    places.sort_by_key(|(place, seen)| (Reverse(**seen), **place));
    let all: Vec<Vec<String>> = places
        .iter()
        .map(|(place, _)| place_name(corpus, **place))
        .collect();
    let Some(main) = all.first() else {
        return Vec::new();
    };
    let in_all = |word: &&String| all.iter().all(|name| name.contains(word));
    let common: Vec<String> = main.iter().filter(in_all).cloned().collect();
    let says = common.iter().any(|word| !VERBS.contains(&word.as_str()));
    let root = corpus.index.places.root_of(*places[0].0);
    let part = match root.part {
        Part::Arguments => "arguments",
        Part::Result => "result",
    };
    let mut names: Vec<Vec<String>> = says.then_some(common).into_iter().collect();
    let mut around = subject(&root.tool);
    singular(&mut around);
    if around.last() == main.first() {
        around.pop();
    }
    names.extend([main.clone(), [around, main.clone()].concat()]);
    names.push([words(&root.tool), vec![part.to_owned()]].concat());
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the doc of a schema: the places of its records, and the evidence.
pub(crate) fn doc(corpus: &Corpus<'_>, shape: usize, earned: &Earned) -> String {
    let of = &corpus.index.shapes.list[shape];
    let mut places: Vec<(&usize, &usize)> = of.places.iter().collect();
    places.sort_by_key(|(place, seen)| (Reverse(**seen), **place));
    let mut told: Vec<String> = places
        .iter()
        .map(|(place, _)| phrase(corpus, **place))
        .collect();
    told.dedup();
    let more = match told.len() {
        0..=3 => String::new(),
        count => format!(" and {} more", count - 3),
    };
    told.truncate(3);
    let told = told.join(", ");
    format!(
        "The {told}{more}. Seen {} in {}; by position it saves {} of {} tokens, its definitions \
         paid.",
        times(of.seen),
        match of.conversations.len() {
            1 => "1 conversation".to_owned(),
            count => format!("{count} conversations"),
        },
        earned.net(),
        earned.json,
    )
}

/// Describes a place, such as `flights in the result of search`.
fn phrase(corpus: &Corpus<'_>, place: usize) -> String {
    let node = corpus.index.places.get(place);
    match (&node.step, node.parent) {
        (Step::Root(root), _) => match root.part {
            Part::Arguments => format!("arguments of {}", root.tool),
            Part::Result => format!("result of {}", root.tool),
        },
        (Step::Key(key), Some(_)) => {
            let root = corpus.index.places.root_of(place);
            let part = match root.part {
                Part::Arguments => "arguments",
                Part::Result => "result",
            };
            format!("{key} in the {part} of {}", root.tool)
        }
        (_, Some(parent)) => phrase(corpus, parent),
        (_, None) => String::new(),
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Returns the words for the values of a place.
fn place_name(corpus: &Corpus<'_>, mut place: usize) -> Vec<String> {
    let mut is_one_of_many = false;
    loop {
        let node = corpus.index.places.get(place);
        let mut name = match &node.step {
            Step::Key(key) => words(key),
            Step::Root(root) if root.part == Part::Arguments => words(&root.tool),
            Step::Root(root) => subject(&root.tool),
            Step::Item | Step::Entry => Vec::new(),
        };
        match node.parent {
            Some(parent) if name.is_empty() => {
                is_one_of_many |= matches!(node.step, Step::Item | Step::Entry);
                place = parent;
            }
            _ => {
                if is_one_of_many {
                    singular(&mut name);
                }
                return name;
            }
        }
    }
}
