//! Checks that snapshots agree with themselves: each count for a bound of docs/limits.md equals the number of the
//! things that it counts.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::node::Result;

/// Returns the values of the map or the list at a path of a JSON value.
fn under<'j>(json: &'j Json, path: &str) -> impl Iterator<Item = &'j Json> {
    let found = json.pointer(path);
    let of_map = found.and_then(Json::as_object);
    let of_list = found.and_then(Json::as_array);
    let of_map = of_map.into_iter().flat_map(|map| map.values());
    of_map.chain(of_list.into_iter().flatten())
}

fn number(json: &Json) -> u64 {
    json.as_u64().unwrap_or_default()
}

/// Checks the counts of a snapshot.
pub(super) fn judge_counts(fold: &Json) -> Result {
    let chains = || under(fold, "/state/chains/open");
    let known: u64 = under(fold, "/state/chains/known").map(number).sum();
    let frames = chains().map(|chain| under(chain, "/frames").count());
    let frames = frames.sum::<usize>() as u64;
    if known != frames {
        return Err(format!(
            "{known} frames of chains count, and {frames} are there"
        ));
    }
    let taken: u64 = under(fold, "/state/chains/taken").map(number).sum();
    let asked = chains().flat_map(|chain| under(chain, "/asked"));
    let chosen = asked.filter(|asked| asked.get("chosen").is_some_and(|one| !one.is_null()));
    let chosen = chosen.count() as u64;
    if taken != chosen {
        return Err(format!("{taken} requests count as taken, and {chosen} are"));
    }
    judge_transactions(fold)
}

/// Checks the count of each member's transactions and of its requests that wait for an answer.
fn judge_transactions(fold: &Json) -> Result {
    let mut there: BTreeMap<String, u64> = BTreeMap::new();
    let mut add = |member: &Json, count: u64| {
        *there.entry(member.to_string()).or_default() += count;
    };
    for known in under(fold, "/judge/transactions/known") {
        let waiting = under(known, "/phase/Open/1").count() as u64;
        add(&known["sender"], 1 + waiting);
    }
    for owed in under(fold, "/judge/transactions/owed") {
        for asker in owed.as_array().into_iter().flatten() {
            add(&asker["member"], 1);
        }
    }
    let made = fold.pointer("/judge/transactions/made");
    for (member, count) in made.and_then(Json::as_object).into_iter().flatten() {
        let (count, there) = (number(count), there.get(member).copied());
        if count != there.unwrap_or_default() {
            return Err(format!(
                "{count} transactions of {member} count, and {there:?} are there"
            ));
        }
    }
    Ok(())
}
