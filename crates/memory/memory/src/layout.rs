//! Removes layout of results that has no meaning.

/// The fewest numbered lines that follow one another.
const NUMBERED: usize = 3;

/// Removes the spaces before line numbers, if the numbers count up.
pub(crate) fn without_padding(lines: &mut [&str]) {
    let mut from = 0;
    while from < lines.len() {
        let numbers = lines[from..].iter().map_while(|line| number(line));
        let first = number(lines[from]);
        let run = numbers
            .zip(first.into_iter().flat_map(|first| first..))
            .take_while(|(number, expected)| number == expected)
            .count();
        if run >= NUMBERED {
            for line in &mut lines[from..from + run] {
                *line = line.trim_start_matches(' ');
            }
        }
        from += run.max(1);
    }
}

/// Returns the number of a line as `cat -n` and `grep -n` write it.
fn number(line: &str) -> Option<usize> {
    let line = line.trim_start_matches(' ');
    let end = line.find(|character: char| !character.is_ascii_digit())?;
    let number = line[..end].parse().ok()?;
    line[end..]
        .starts_with(['\t', ':', '|', '→'])
        .then_some(number)
}
