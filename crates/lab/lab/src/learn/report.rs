//! The savings of learnt schemas, as a table.

use std::fmt;

use accp_console::table::Table;
use accp_learn::{Learnt, Totals};

/// The table of a learnt registry, the schemas with the largest saving first.
pub(crate) struct Report<'l>(pub(super) &'l Learnt);

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
