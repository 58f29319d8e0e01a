//! What a request has cost, and what the other list would have cost.

use crate::prices::Prices;
use crate::usage::Usage;

/// What a request has cost, and what it would have cost with the other list, in tokens of plain input.
///
/// The bill of the list that was sent is the provider's own count at its prices. The other bill differs by the tokens that only
/// one of the lists has, at the prices that this request has paid: those in messages that an earlier request had are billed as
/// the beginning was (read from the cache if it was), and those in new messages as the end was.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bill {
    /// What the list that was sent has cost.
    pub cost: f64,
    /// What the list as the client gave it costs.
    pub plain: f64,
    /// What the list with cheaper forms costs.
    pub changed: f64,
}

/// The tokens that only the plain list has, by our own count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Removed {
    /// In messages that an earlier request had.
    pub(crate) old: u64,
    /// In new messages.
    pub(crate) new: u64,
    /// Whether the list that was sent is the one without them.
    pub(crate) is_sent: bool,
    /// All tokens of the list that was sent.
    pub(crate) sent: u64,
}

impl Bill {
    pub(crate) fn of(usage: &Usage, prices: &Prices, removed: Removed) -> Self {
        let [input, written, read] = [usage.input, usage.written, usage.read].map(|n| n as f64);
        let cost = input
            + written * prices.write
            + read * prices.read
            + usage.output as f64 * prices.output;
        // The provider counts other tokens than we do, so its count gives the measure.
        let scale = if removed.sent == 0 {
            1.0
        } else {
            usage.prompt() as f64 / removed.sent as f64
        };
        let of_end = if usage.written > 0 { prices.write } else { 1.0 };
        let of_beginning = if usage.read > 0 { prices.read } else { of_end };
        let difference = scale * (removed.old as f64 * of_beginning + removed.new as f64 * of_end);
        if removed.is_sent {
            Self {
                cost,
                plain: cost + difference,
                changed: cost,
            }
        } else {
            Self {
                cost,
                plain: cost,
                changed: cost - difference,
            }
        }
    }
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
            read: 1_000,
            output: 20,
        };
        let removed = Removed {
            old: 200,
            new: 50,
            is_sent: true,
            sent: 555,
        };
        let bill = Bill::of(&usage, prices, removed);
        // 10 + 125 + 100 + 100, and twice as many tokens by the provider's count: 2 * (200 * 0.1 + 50 * 1.25).
        assert_eq!((bill.cost, bill.plain, bill.changed), (335.0, 500.0, 335.0));
        let shadow = Bill::of(
            &usage,
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
        let none = Bill::of(&Usage::default(), prices, Removed::default());
        assert_eq!(none, Bill::default());
    }
}
