//! Removes spaces before the line numbers in results, if they only align the numbers.

/// Spaces are removed only before at least this many consecutive line numbers.
const NUMBERED: usize = 3;

/// Removes the spaces before line numbers, if the numbers count up and end in the same column.
pub(crate) fn without_padding(lines: &mut [&str]) {
    let mut from = 0;
    while from < lines.len() {
        let run = run(&lines[from..]);
        if run.iter().any(Number::is_padded) && is_padding(&run) {
            for line in &mut lines[from..from + run.len()] {
                *line = line.trim_start_matches(' ');
            }
        }
        from += run.len().max(1);
    }
}

/// The number of a line.
struct Number {
    value: usize,
    /// The column behind the number.
    end: usize,
    /// How many digits it has.
    digits: usize,
    separator: char,
}

impl Number {
    /// Reads the number of a line as `cat -n` and editors write it.
    fn of(line: &str) -> Option<Self> {
        let inner = line.trim_start_matches(' ');
        let digits = inner.find(|character: char| !character.is_ascii_digit())?;
        let separator = inner[digits..].chars().next()?;
        let value = inner[..digits].parse().ok()?;
        matches!(separator, '\t' | ':' | '|' | '→').then_some(Self {
            value,
            end: line.len() - inner.len() + digits,
            digits,
            separator,
        })
    }

    const fn is_padded(&self) -> bool {
        self.end > self.digits
    }
}

/// Returns the numbers of the first lines, as long as they count up and end in the same column.
fn run(lines: &[&str]) -> Vec<Number> {
    let mut numbers: Vec<Number> = Vec::new();
    for number in lines.iter().map_while(|line| Number::of(line)) {
        let follows = numbers.last().is_none_or(|last| {
            let is_alike = (last.end, last.separator) == (number.end, number.separator);
            last.value.checked_add(1) == Some(number.value) && is_alike
        });
        if !follows {
            break;
        }
        numbers.push(number);
    }
    numbers
}

/// Returns whether the spaces before numbers only align them. Data may have numbers before `:` and `|`, too. So before
/// these signs, one number must have more digits than another, which shows that the spaces align them.
fn is_padding(run: &[Number]) -> bool {
    let [first, .., last] = run else { return false };
    let is_of_lines = matches!(first.separator, '\t' | '→');
    run.len() >= NUMBERED && (is_of_lines || first.digits < last.digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::without_padding;

    fn plain(text: &str) -> String {
        let mut lines: Vec<&str> = text.split('\n').collect();
        without_padding(&mut lines);
        lines.join("\n")
    }

    proptest! {
        #[test]
        fn keys_that_are_numbers_keep_their_indentation(indent in 0..9_usize, from in 0..120_usize, count in 1..140_usize) {
            let lines = (from..from + count).map(|key| format!("{}{key}: on", " ".repeat(indent)));
            let text = lines.collect::<Vec<_>>().join("\n");
            prop_assert_eq!(plain(&text), text);
        }

        #[test]
        fn numbers_of_lines_lose_their_padding(from in 0..120_usize, count in 3..140_usize, separator in "[\t→]") {
            let lines = |width: usize| (from..from + count).map(move |at| format!("{at:>width$}"));
            let text = |width: usize| {
                let lines = lines(width).map(|number| format!("{number}{separator}  x"));
                lines.collect::<Vec<_>>().join("\n")
            };
            prop_assert_eq!(plain(&text(6)), text(0));
        }
    }

    #[test]
    fn aligned_numbers_before_a_colon_lose_their_padding() {
        assert_eq!(plain(" 8: a\n 9: b\n10: c"), "8: a\n9: b\n10: c");
        assert_eq!(plain("  7: a\n  8: b\n  9: c"), "  7: a\n  8: b\n  9: c");
    }
}
