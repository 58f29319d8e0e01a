//! What the schemas earn, as a table and as JSON.

use std::fmt;

use serde_json::{Value as Json, json};

use crate::table::Table;
use accp_learn::{Earned, Learnt, Totals};

/// The table of a learnt registry, what earns most first.
pub(super) struct Report<'l>(pub(super) &'l Learnt);

impl Report<'_> {
    /// An object for each schema, then one for all of them.
    pub(super) fn to_json(&self) -> Vec<Json> {
        let Learnt {
            earned,
            totals,
            registry,
        } = self.0;
        let one = |earned: &Earned| {
            json!({
                "code": earned.code,
                "name": earned.name,
                "seen": earned.seen,
                "conversations": earned.conversations,
                "json": earned.json,
                "position": earned.position,
                "definitions": earned.definitions,
                "net": earned.net(),
            })
        };
        let mut list: Vec<Json> = earned.iter().map(one).collect();
        list.push(json!({
            "schemas": earned.len(),
            "conversations": totals.conversations,
            "json": totals.json,
            "position": totals.position,
            "definitions": totals.definitions,
            "tokenizer": registry.tokenizer,
        }));
        list
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Learnt {
            earned,
            totals,
            registry,
        } = self.0;
        let Totals {
            conversations,
            json,
            position,
            definitions,
        } = totals;
        if earned.is_empty() {
            writeln!(
                f,
                "no shape of arguments or results came back often enough to pay"
            )?;
        } else {
            let heading = [
                "code",
                "schema",
                "seen",
                "conversations",
                "as JSON",
                "by position",
                "definitions",
                "net",
            ];
            let mut table = Table::headed(heading);
            for earned in earned {
                let numbers = [
                    earned.seen,
                    earned.conversations,
                    earned.json,
                    earned.position,
                    earned.definitions,
                ];
                let [seen, conversations, json, position, definitions] =
                    numbers.map(|number| number.to_string());
                let (code, name) = (earned.code.clone(), earned.name.clone());
                let net = earned.net().to_string();
                table.row([
                    code,
                    name,
                    seen,
                    conversations,
                    json,
                    position,
                    definitions,
                    net,
                ]);
            }
            writeln!(f, "{table}\n")?;
        }
        let schemas = match earned.len() {
            1 => "1 schema".to_owned(),
            count => format!("{count} schemas"),
        };
        let counter = registry.tokenizer.as_deref().unwrap_or_default();
        write!(
            f,
            "{schemas} from {conversations} conversations, in tokens of {counter}: all arguments \
             and results are {json} as compact JSON, {position} by position and {definitions} for \
             definitions"
        )?;
        if *json > 0 {
            let share = (position + definitions) as f64 * 100.0 / *json as f64;
            write!(f, " ({share:.1} %)")?;
        }
        Ok(())
    }
}
