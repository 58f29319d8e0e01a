//! Removes old states of progress bars. A program writes each state of a bar over the previous one, in the same line.

use std::borrow::Cow;

/// The fewest equal signs in a row that are a bar.
const BAR: usize = 3;
/// The most letters of a unit, such as `MiB/s`.
const UNIT: usize = 5;

/// Returns a line without the states of a progress bar that the next state was written over. All other text stays,
/// because some files and programs end their lines with a carriage return.
pub(super) fn last_written(line: &str) -> Cow<'_, str> {
    if !line.contains('\r') {
        return line.into();
    }
    let states: Vec<(&str, Option<String>)> = line
        .split('\r')
        .map(|state| (state, words(state)))
        .collect();
    // From the last state to the first. The next state is the next one that is not blank.
    let mut next: Option<&Option<String>> = None;
    let mut stays: Vec<&str> = Vec::new();
    for (state, words) in states.iter().rev() {
        let is_over = words.is_some() && next == Some(words);
        if !is_over {
            stays.push(state);
        }
        if !state.trim().is_empty() {
            next = Some(words);
        }
    }
    stays.reverse();
    stays.join("\r").into()
}

/// Returns the words of a state of a progress bar, without its amounts and rates. `None` if the text has neither a
/// percentage nor a bar, so it is not such a state.
fn words(state: &str) -> Option<String> {
    let between = |c: char| c.is_whitespace() || is_symbol(c);
    let parts = state.split(between).filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    if !has_bar(state)
        && !parts
            .iter()
            .any(|part| is_amount(part) && part.ends_with('%'))
    {
        return None;
    }
    let is_rate = |part: &&str| part.contains('/') && part.starts_with(char::is_alphabetic);
    let words = parts.iter().enumerate().filter(|(at, part)| {
        let is_number = part.chars().all(|c| c.is_ascii_digit());
        let has_unit = parts.get(at + 1).is_some_and(is_rate);
        !(is_number && has_unit || !is_number && is_amount(part))
    });
    let words: Vec<&str> = words.map(|(_, part)| *part).collect();
    Some(words.join(" "))
}

/// Returns whether a bar may have this character, or may stand between such characters.
fn is_symbol(c: char) -> bool {
    !c.is_alphanumeric() && !matches!(c, '%' | '.' | '/' | ':' | '_' | '-')
}

fn has_bar(state: &str) -> bool {
    let is_part = |c: &char| !c.is_alphanumeric() && !c.is_whitespace();
    let characters: Vec<char> = state.chars().collect();
    let mut runs = characters.windows(BAR);
    runs.any(|run| run.first().is_some_and(is_part) && run.iter().all(|c| Some(c) == run.first()))
}

/// Returns whether a word is a share, a count, a time or a size: `45%`, `3/7`, `00:12`, `1.5MB`, `2s`. The name of a thing
/// does not begin with a digit, or has more than a unit behind it.
fn is_amount(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let is_part = |part: &str| part.matches('.').count() <= 1 && !part.contains(['_', '-']);
    word.starts_with(|c: char| c.is_ascii_digit())
        && letters <= UNIT
        && word.split(['/', ':', '%']).all(is_part)
}

#[cfg(test)]
mod tests {
    use super::last_written;

    #[test]
    fn only_the_last_state_of_a_bar_stays() {
        let bars = [
            " 45%|████▌     | 45/100 [00:01<00:01, 40.1it/s]",
            " 46%|████▌     | 46/100 [00:02<00:01, 9.1it/s]",
        ];
        assert_eq!(last_written(&bars.join("\r")), bars[1]);
        let bars = [
            "Receiving objects:   9% (9/100)",
            "Receiving objects:  12% (12/100), 1.5MiB | 800 KiB/s",
        ];
        let bars = [
            bars[0],
            "Receiving objects:  10% (10/100)",
            "      ",
            bars[1],
            "[===>   ] done",
        ];
        assert_eq!(last_written(&bars.join("\r")), bars[1..].join("\r"));
        assert_eq!(last_written("[#### ]\r[#####]\r"), "[#####]\r");
    }

    #[test]
    fn states_with_other_words_stay() {
        for rows in [
            "1,part1,2.5\r2,part2,3.5",
            "9% part 1 bad\r9% part 2 bad",
            "9% 10.0.0.1 bad\r9% 10.0.0.2 bad",
            "ab---1\rab---2",
        ] {
            assert_eq!(last_written(rows), rows);
        }
    }
}
