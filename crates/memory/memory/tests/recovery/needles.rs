//! A thousand planted needles are found by value and by question.

use std::collections::BTreeMap;

use accp_memory::disk::index::{Filter, Hit};

use crate::recovery::folder::Folder;
use crate::recovery::needle::{Needle, plant};

fn rank(needle: &Needle, hits: &[Hit]) -> Option<usize> {
    let is_it = |hit: &&Hit| {
        hit.file == needle.file
            && (hit.lines.0..=hit.lines.1).contains(&needle.line)
            && hit.text.contains(&needle.value)
    };
    hits.iter().find(is_it).map(|hit| hit.rank)
}

#[test]
fn a_thousand_needles_are_found() {
    let mut ranks: BTreeMap<_, Vec<[Option<usize>; 3]>> = BTreeMap::new();
    for seed in 0..5 {
        let folder = Folder::new();
        let needles = plant(&folder, seed, 3, 90, 200);
        let mut index = folder.index();
        let all = Filter::default();
        for needle in needles {
            let exact = index.exact(&needle.value, &all, 1).unwrap();
            let by_words = index.search(&needle.value, &all, 1).unwrap();
            let asked = index.search(&needle.question, &all, 10).unwrap();
            let found = [exact, by_words, asked].map(|hits| rank(&needle, &hits));
            ranks.entry(needle.kind).or_default().push(found);
        }
    }
    let all: Vec<_> = ranks.values().flatten().copied().collect();
    let share = |ranks: &[[Option<usize>; 3]], which: usize, most: usize| {
        let good = ranks
            .iter()
            .filter(|ranks| ranks[which].is_some_and(|rank| rank <= most));
        good.count() as f64 / ranks.len() as f64
    };
    for (kind, ranks) in &ranks {
        println!(
            "{kind:?}: {} needles, exact rank 1 {:.3}, value as words rank 1 {:.3}, question rank 1 {:.3}, 1 to 3 {:.3}",
            ranks.len(),
            share(ranks, 0, 1),
            share(ranks, 1, 1),
            share(ranks, 2, 1),
            share(ranks, 2, 3),
        );
    }
    println!(
        "all: {} needles, exact rank 1 {:.3}, value as words rank 1 {:.3}, question rank 1 {:.3}, 1 to 3 {:.3}",
        all.len(),
        share(&all, 0, 1),
        share(&all, 1, 1),
        share(&all, 2, 1),
        share(&all, 2, 3),
    );
    assert_eq!(all.len(), 1_000);
    assert!((share(&all, 0, 1) - 1.0).abs() < f64::EPSILON);
    assert!(share(&all, 1, 1) >= 0.99);
    assert!(share(&all, 2, 3) >= 0.95);
}
