//! A row of the report as JSON.

use accp_memory::policy::Kind;
use serde_json::{Value as Json, json};

use super::{Corpus, Report, Row};
use crate::interval::FEWEST;
use crate::measure::Measure;
use crate::net::{Cost, Net};
use crate::policies::OURS;
use crate::profile::SHOWN;
use crate::share::Recall;

pub(super) fn row(report: &Report, corpus: &Corpus, row: &Row) -> Json {
    let mut json = figures(row);
    let further = further(report, row);
    json["corpus"] = corpus.name.as_str().into();
    json["sensitivity"] = corpus.sensitivity_of(row);
    let lists = lists(report, row);
    for more in [further, lists] {
        if let (Some(json), Json::Object(more)) = (json.as_object_mut(), more) {
            json.extend(more);
        }
    }
    json
}

/// Returns net cost and related figures.
fn figures(row: &Row) -> Json {
    let net = &row.measure.net;
    let lists = row.measure.refused.wanted > 0;
    let ((p95, peak), (p95_windows, peak_windows)) = (net.sizes(false), net.sizes(true));
    let at = |of: fn(&Net) -> Cost| {
        let (cost, net, real) = row.shares(of);
        json!({ "net": net, "net_real": real, "cost": cost })
    };
    let mut json = json!({
        "corpus": null,
        "policy": row.policy,
        "default": row.policy == OURS,
        "net": row.net(),
        "net_real": row.net_real(),
        "worst": row.worst(),
        "dearer": row.dearer(),
        "steps": row.measure.changes.found,
        "refused": lists.then_some(row.measure.refused.found),
        "profiles": profiles(row),
        "lost": net.lost.share(),
        "task": net.remembered.task.share(),
        "later": net.remembered.later.share(),
        "did": net.remembered.did.share(),
        "decided": net.remembered.decided.share(),
        "misquoted": net.misquoted.share(),
        "tokens": row.measure.spent.total(),
        "p95": p95,
        "peak": peak,
        "cost": row.cost(),
        "p95_with_windows": p95_windows,
        "peak_with_windows": peak_windows,
        "seen": net.seen.share(),
        "hits": net.hits.share(),
        "needs": net.hits.wanted,
        "without_cache": at(|net| net.costs.uncached),
        "no_minimum": at(|net| net.costs.no_minimum),
    });
    if let Some((low, high)) = row.interval() {
        json["net_interval"] = json!([low, high]);
    } else if row.held.len() < FEWEST {
        let held = row.held.iter().map(|held| {
            json!({
                "conversation": held.conversation,
                "net": held.net(),
            })
        });
        json["net_each"] = held.collect();
    }
    json
}

/// Returns net cost at the prices of the shown profiles.
fn profiles(row: &Row) -> Json {
    let profiles = SHOWN.iter().enumerate().map(|(at, name)| {
        let [net, worst, dearer] = row.at_profile(at);
        let (cost, _, real) = row.shares(|net| net.costs.profiles[at]);
        let figures =
            json!({ "net": net, "net_real": real, "cost": cost, "worst": worst, "dearer": dearer });
        ((*name).to_owned(), figures)
    });
    Json::Object(profiles.collect())
}

/// Returns the figures of prompts as lists inside the window; null without a window.
fn lists(report: &Report, row: &Row) -> Json {
    let Some(window) = report.window else {
        return Json::Null;
    };
    let lists = &row.measure.lists;
    let is_list = lists.refused.wanted > 0;
    json!({
        "window": window,
        "over_window": lists.over.found,
        "lists": lists.refused.wanted,
        "invalid_lists": is_list.then_some(lists.refused.found),
        "intent": lists.intent.share(),
        "recovered": row.measure.bytes.share(),
    })
}

/// Returns tokens by kind, and the other figures of `--all`.
fn further(report: &Report, row: &Row) -> Json {
    let Measure {
        spent,
        net: _,
        results,
        bytes,
        changes: _,
        refused: _,
        lists: _,
        time,
        conversations,
        prompts,
    } = &row.measure;
    let split = spent.split(report.prices);
    let recall = |recall: &Recall| {
        json!({
            "wanted": recall.wanted, "found": recall.found, "share": recall.share(),
        })
    };
    let kinds = Kind::ALL.iter().map(|kind| {
        let at = *kind as usize;
        let counts = json!({ "tokens": spent.tokens[at], "cached": spent.cached[at] });
        (kind.name().to_owned(), counts)
    });
    json!({
        "doc": row.doc,
        "conversations": conversations,
        "prompts": prompts,
        "tokens_share": row.tokens(),
        "without_system": spent.without_system(),
        "without_system_share": row.without_system(),
        "cost_total": spent.cost(report.prices),
        "cost_split": {
            "system": split.system,
            "tools": split.tools,
            "primer": split.primer,
            "new": split.new,
            "again": split.again,
        },
        "kinds": Json::Object(kinds.collect()),
        "results": results.share(),
        "shown_results": results.shown,
        "bytes": recall(bytes),
        "milliseconds": time.as_secs_f64() * 1000.0,
        "prices": {
            "input": report.prices.input,
            "uncached": report.prices.uncached,
            "cached": report.prices.cached,
            "output": report.prices.output,
            "minimum": report.prices.minimum,
            "window": report.prices.window,
        },
        "encoding": report.encoding,
    })
}
