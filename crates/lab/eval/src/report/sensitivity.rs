//! The order of policies by net cost, at other prices and windows than the report's.

use std::cmp::Ordering::Equal;

use serde_json::{Value as Json, json};

use super::{Corpus, Row};
use crate::net::{Cost, Costs, Net, SETTINGS};

/// Policies whose net costs differ by less than this have the same place.
const SAME: f64 = 0.0005;

impl Corpus {
    /// Returns a table with its heading: the net cost of each policy at the prices of the report, and at other
    /// settings. These settings change the size of windows, the price of output, or the shortest beginning that a
    /// provider keeps. The policies are in the order of net cost. A number in brackets is the place of the policy,
    /// where it differs from the place at the prices of the report.
    pub fn sensitivity(&self) -> Vec<[String; 2 + SETTINGS.len()]> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.net().is_some()).collect();
        rows.sort_by(|one, other| one.net().partial_cmp(&other.net()).unwrap_or(Equal));
        let mut table = vec![std::array::from_fn(|column| match column {
            0 => "policy".to_owned(),
            1 => "net".to_owned(),
            column => SETTINGS[column - 2].0.to_owned(),
        })];
        table.extend(rows.into_iter().map(|row| {
            let (net, usual) = self.placed(row, |net| net.costs.usual);
            let cell = |at: fn(&Costs) -> Cost| {
                let (net, place) = self.placed(row, |net| at(&net.costs));
                if place == usual {
                    format!("{net:.3}")
                } else {
                    format!("{net:.3} ({place})")
                }
            };
            std::array::from_fn(|column| match column {
                0 => row.policy.clone(),
                1 => format!("{net:.3} ({usual})"),
                column => cell(SETTINGS[column - 2].1),
            })
        }));
        table
    }

    /// Returns the net cost of a policy at the prices that `at` chooses, and its place among the policies,
    /// from 1.
    fn placed(&self, row: &Row, at: impl Fn(&Net) -> Cost) -> (f64, usize) {
        let net = |row: &Row| row.shares(&at).1;
        let own = net(row).unwrap_or(f64::NAN);
        let others = self.rows.iter().filter_map(net);
        (own, 1 + others.filter(|other| *other < own - SAME).count())
    }

    /// Returns the places and net costs of a policy as JSON.
    pub(super) fn sensitivity_of(&self, row: &Row) -> Json {
        let settings = SETTINGS.iter().map(|(name, at)| {
            let (cost, net, real) = row.shares(|net| at(&net.costs));
            let (_, place) = self.placed(row, |net| at(&net.costs));
            let figures = json!({ "net": net, "net_real": real, "cost": cost, "place": place });
            ((*name).to_owned(), figures)
        });
        Json::Object(settings.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_said_where_it_changes() {
        let policies = ["json", "a", "b", "c"].map(|name| (name, ""));
        let mut corpus = Corpus::new("test", policies.into_iter());
        // With `window 1600`, `b` comes after `a`, and `a` and `c` share a place.
        let nets = [(100.0, 100.0), (80.0, 80.0), (70.0, 90.0), (80.0, 80.0)];
        for (row, (usual, long)) in corpus.rows.iter_mut().zip(nets) {
            let costs = &mut row.measure.net.costs;
            let cost = |net| Cost {
                net,
                ..Cost::default()
            };
            *costs = Costs {
                usual: cost(usual),
                uncached: cost(usual),
                no_minimum: cost(usual),
                windows: [cost(usual), cost(long)],
                outputs: [cost(usual); 2],
                profiles: [cost(usual); 4],
            };
            row.base.net.costs = Costs {
                usual: cost(100.0),
                uncached: cost(100.0),
                no_minimum: cost(100.0),
                windows: [cost(100.0); 2],
                outputs: [cost(100.0); 2],
                profiles: [cost(100.0); 4],
            };
        }
        let table = corpus.sensitivity();
        let table: Vec<String> = table.iter().map(|row| row[..4].join(", ")).collect();
        let expected = [
            "policy, net, window 400, window 1600",
            "b, 0.700 (1), 0.700, 0.900 (3)",
            "a, 0.800 (2), 0.800, 0.800 (1)",
            "c, 0.800 (2), 0.800, 0.800 (1)",
            "json, 1.000 (4), 1.000, 1.000",
        ];
        assert_eq!(table, expected);
        let json = corpus.sensitivity_of(&corpus.rows[2]);
        assert_eq!(
            (&json["window 1600"]["place"], &json["output 2"]["place"]),
            (&json!(3), &json!(1))
        );
    }
}
