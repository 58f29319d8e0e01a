//! The bill of a request: what the list that was sent has cost, and what the other list would have cost.

use crate::prices::Prices;
use crate::usage::Usage;

/// What a request has cost, and what it would have cost with the other list, in tokens of plain input. The two lists
/// are the plain list of the client, and the list with cheaper forms. The gateway has sent one of the two.
///
/// The bill of the list that was sent is the provider's own count at its prices. This bill includes all turns in
/// which the model has read what had left its list. The bill of the other list differs by the tokens that only one of
/// the lists has, at the prices that this request has paid. Tokens in messages that an earlier request had cost as
/// much as the beginning of the list: the price of a read, if the beginning was read from the cache. Tokens in new
/// messages cost as much as the end of the list. If this request changes messages that were sent before, the other
/// list would have been read from the cache. With the other list, the request would have had only its last turn.
///
/// If a later turn fails, the turns before it have brought the client nothing. Then the plain list costs as much as
/// the original request, if the gateway has sent the original, and otherwise nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bill {
    /// What the list that was sent has cost.
    pub cost: f64,
    /// What the list as the client gave it costs.
    pub plain: f64,
    /// What the list with cheaper forms costs.
    pub changed: f64,
}

/// The tokens that only the plain list has, by the gateway's own count. Negative if the other list is longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Removed {
    /// The number of these tokens in messages that an earlier request had.
    pub(crate) old: i64,
    /// The number of these tokens in new messages.
    pub(crate) new: i64,
    /// Whether the list without these tokens was sent, and not the plain list.
    pub(crate) is_sent: bool,
    /// All tokens of the list that was sent.
    pub(crate) sent: u64,
    /// Set if the request changes something that a cache has. The first number is the tokens of the list that was not
    /// sent. The second number is how many of these tokens the request before this one had.
    pub(crate) step: Option<(u64, u64)>,
}

impl Bill {
    /// Makes the bill of a request from the counts of its turns. The first turn is the one that is compared with the
    /// other list.
    pub(crate) fn of(turns: &[Usage], prices: &Prices, removed: Removed) -> Self {
        let cost = turns.iter().map(|usage| cost_of(usage, prices)).sum();
        let Some((first, last)) = turns.first().zip(turns.last()) else {
            return Self::default();
        };
        // The provider and the gateway count tokens differently, so the gateway's counts are scaled to those of the
        // provider.
        let scale = if removed.sent == 0 {
            1.0
        } else {
            first.prompt() as f64 / removed.sent as f64
        };
        let of_end = if first.written > 0 { prices.write } else { 1.0 };
        let of_beginning = if first.read > 0 { prices.read } else { of_end };
        let difference = scale * (removed.old as f64 * of_beginning + removed.new as f64 * of_end);
        let input = cost_of(first, prices) - first.output as f64 * prices.output;
        let other = match removed.step {
            Some((tokens, before)) => {
                let of_before = if removed.is_sent {
                    prices.read
                } else {
                    of_beginning
                };
                let new = tokens.saturating_sub(before);
                scale * (before as f64 * of_before + new as f64 * of_end)
            }
            None if removed.is_sent => input + difference,
            None => input - difference,
        };
        let other = other + last.output as f64 * prices.output;
        let [plain, changed] = if removed.is_sent {
            [other, cost]
        } else {
            [cost, other]
        };
        Self {
            cost,
            plain,
            changed,
        }
    }

    /// Makes the bill of a request whose turns have brought the client no answer. `original` is the count of the
    /// original request, if the gateway has sent the original and got an answer. The plain list would have cost this
    /// count alone. Without such an answer, the client has to ask again, and the plain list costs nothing until then.
    pub(crate) fn of_failed(turns: &[Usage], original: Option<&Usage>, prices: &Prices) -> Self {
        let cost = turns.iter().map(|usage| cost_of(usage, prices)).sum();
        Self {
            cost,
            plain: original.map_or(0.0, |usage| cost_of(usage, prices)),
            changed: cost,
        }
    }
}

/// Returns what a turn has cost.
fn cost_of(usage: &Usage, prices: &Prices) -> f64 {
    let write = usage.written as f64 * prices.write + usage.hourly as f64 * prices.hourly();
    usage.input as f64
        + write
        + usage.read as f64 * prices.read
        + usage.output as f64 * prices.output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_is_worked_out_by_hand() {
        let prices = Prices::of(crate::Provider::Anthropic, "claude-x");
        let usage = Usage {
            input: 10,
            written: 100,
            hourly: 0,
            read: 1_000,
            output: 20,
        };
        let removed = Removed {
            old: 200,
            new: 50,
            is_sent: true,
            sent: 555,
            step: None,
        };
        let bill = Bill::of(&[usage], prices, removed);
        // The cost is 10 + 125 + 100 + 100. The provider counts twice as many tokens as the gateway, so the plain
        // list costs 2 * (200 * 0.1 + 50 * 1.25) more.
        assert_eq!((bill.cost, bill.plain, bill.changed), (335.0, 500.0, 335.0));
        let shadow = Bill::of(
            &[usage],
            prices,
            Removed {
                is_sent: false,
                ..removed
            },
        );
        assert_eq!(
            (shadow.cost, shadow.plain, shadow.changed),
            (335.0, 335.0, 170.0)
        );
        let none = Bill::of(&[Usage::default()], prices, Removed::default());
        assert_eq!(none, Bill::default());
        // A second turn adds its cost. The plain list would have had only the output of the last turn.
        let second = Usage {
            output: 40,
            ..usage
        };
        let both = Bill::of(&[usage, second], prices, removed);
        assert_eq!((both.cost, both.plain), (335.0 + 435.0, 500.0 + 100.0));
        // The provider counts 1,110 tokens where the gateway counts 555. By the gateway's count, the plain list would
        // have had 300 tokens in the cache, and 40 new ones.
        let step = Removed {
            step: Some((340, 300)),
            ..removed
        };
        let step = Bill::of(&[usage], prices, step);
        assert!((step.plain - (600.0 * 0.1 + 80.0 * 1.25 + 100.0)).abs() < 1e-9);
        // Tokens that a cache keeps for an hour cost twice the price of plain input when they are written.
        let hour = Usage {
            written: 0,
            hourly: 100,
            ..usage
        };
        let hour = Bill::of(&[hour], prices, removed);
        assert!((hour.cost - 410.0).abs() < 1e-9);
    }
}
