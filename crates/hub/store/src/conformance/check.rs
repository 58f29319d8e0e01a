//! Functions that both suites share: they play scripts, and compare the store with the model after each step.

use std::fmt::Debug;

use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::model::Model;
use super::script::{self, KEYS, Script};
use crate::error::StoreError;
use crate::side::SideId;
use crate::store::Store;

/// Plays `cases` scripts. Stops at a script that shows a fault.
///
/// # Panics
/// When a script shows a fault. The message holds the shortest script found that shows it.
pub(super) fn play_all(cases: u32, play: impl Fn(Script) -> Result<(), TestCaseError>) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&script::script(), play);
    if let Err(error) = result {
        #[expect(clippy::panic, reason = "the test that runs the suite fails")]
        {
            panic!("{error}");
        }
    }
}

/// Checks that the store gives back the data of the model.
pub(super) fn compare(
    store: &mut (impl Store + ?Sized),
    model: &Model,
    (from, limit): (u64, usize),
) -> Result<(), TestCaseError> {
    same("list", &good(store.list())?, &model.list())?;
    let survey = good(store.survey())?.into_iter();
    let survey = good(survey.collect::<Result<Vec<_>, _>>())?;
    same("survey", &survey, &model.list())?;
    for session in script::sessions() {
        let mut sides = model.list();
        sides.retain(|summary| summary.side.session() == session);
        same("sides", &good(store.sides(session))?, &sides)?;
    }
    for side in &script::sides().collect::<Vec<_>>() {
        let summary = model.list().into_iter().find(|kept| kept.side == *side);
        same("summary", &good(store.summary(side))?, &summary)?;
        let stored = good(store.load(side))?;
        same("load", &stored, &model.load(side))?;
        same(
            "entries",
            &good(store.entries(side, 0, usize::MAX))?,
            &model.entries(side, 0),
        )?;
        let mut window = model.entries(side, from);
        window.truncate(limit);
        same(
            "some entries",
            &good(store.entries(side, from, limit))?,
            &window,
        )?;
        for position in [from, from + 1, u64::MAX] {
            let entry = good(store.entry(side, position))?;
            same("an entry", &entry, &model.entry(side, position))?;
        }
        same(
            "keys",
            &good(store.cold_keys(side))?,
            &model.cold_keys(side),
        )?;
        for key in KEYS {
            same(
                "cold",
                &good(store.cold(side, key))?,
                &model.cold(side, key),
            )?;
        }
        for asked in script::SEARCHES {
            search(store, model, side, asked)?;
        }
        good(store.verify(side))?;
    }
    Ok(())
}

/// Checks that a search finds all frames that have a word, and no others, and that each snippet is
/// a part of its frame.
fn search(
    store: &mut (impl Store + ?Sized),
    model: &Model,
    side: &SideId,
    asked: &str,
) -> Result<(), TestCaseError> {
    let all = good(store.search(side, asked, usize::MAX))?;
    let mut positions: Vec<u64> = all.iter().map(|found| found.position).collect();
    let best = good(store.search(side, asked, 2))?;
    same("the best", &best, &all[..all.len().min(2)].to_vec())?;
    positions.sort_unstable();
    let expected = model.search(side, asked);
    let at = expected.iter().map(|(position, _)| *position);
    same("search", &positions, &at.collect())?;
    for found in all {
        let says = expected.iter().find(|(at, _)| *at == found.position);
        let stands = |(_, says): &(u64, String)| says.contains(&found.snippet);
        same("shown", &says.is_some_and(stands), &true)?;
    }
    Ok(())
}

pub(super) fn same<T: PartialEq + Debug>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), TestCaseError> {
    if found == expected {
        return Ok(());
    }
    Err(fail(format!(
        "{what}: the store gives {found:#?}\nand should give {expected:#?}"
    )))
}

pub(super) fn good<T>(result: Result<T, StoreError>) -> Result<T, TestCaseError> {
    result.map_err(|error| fail(format!("{error:?}")))
}

pub(super) fn fail(text: String) -> TestCaseError {
    TestCaseError::fail(text)
}
