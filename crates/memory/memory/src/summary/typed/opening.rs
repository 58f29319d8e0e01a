//! The beginnings and ends of texts by which programs frame them: a tag, a bracket, a label, a prompt.

/// A label has at most this many characters.
const LABEL: usize = 40;
/// A label has at most this many words.
const WORDS: usize = 4;

/// The tag or the label with which a text begins.
pub(super) struct Mark {
    /// The tag without its attributes, or the label with its colon. All numbers are `0`, so that marks with other
    /// numbers are equal.
    pub(super) name: String,
    pub(super) is_tag: bool,
    /// Whether nothing follows a label on its line.
    pub(super) is_alone: bool,
}

/// Returns the mark with which a text begins.
pub(super) fn mark(text: &str) -> Option<Mark> {
    let line = first_line(text)?;
    if let Some(name) = tag(line) {
        return Some(Mark {
            name: format!("<{}", without_numbers(name)),
            is_tag: true,
            is_alone: false,
        });
    }
    let label = label(line)?;
    Some(Mark {
        name: without_numbers(label) + ":",
        is_tag: false,
        is_alone: line.len() == label.len() + 1,
    })
}

/// Returns the first line of a text if it is a status and text follows it. A status has a number, such as the exit code
/// of a command: in an element, in brackets, or right behind a label.
pub(super) fn status(text: &str) -> Option<&str> {
    let line = first_line(text)?;
    let is_element = || {
        let end = tag(line).map(|name| format!("</{name}>"));
        end.is_some_and(|end| line.ends_with(&end))
    };
    let is_bracket = line.starts_with('[') && line.ends_with(']');
    let is_number = |c: char| c.is_ascii_digit();
    let is_labelled = || {
        let behind = label(line).and_then(|label| line.get(label.len() + 1..));
        behind.is_some_and(|behind| behind.trim_start().starts_with(is_number))
    };
    let is_status = line.contains(is_number) && (is_bracket || is_element() || is_labelled());
    (is_status && goes_on(text, line)).then_some(line)
}

/// Returns the mark with which a text ends, if its last two lines are a label in brackets and the prompt of a shell.
/// All numbers become `0`, so that marks with other numbers are equal.
pub(super) fn closing(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (prompt, before) = (lines.next_back()?, lines.next_back()?);
    let is_prompt = prompt.ends_with(['$', '#']) && !prompt.contains(char::is_whitespace);
    let inside = before.strip_prefix('(')?.strip_suffix(')')?;
    let label = label(inside).filter(|_| is_prompt)?;
    Some(without_numbers(&format!("({label}: {prompt}")))
}

/// Returns the first line of a text that is not blank.
pub(super) fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// Returns whether text follows the first line.
pub(super) fn goes_on(text: &str, first_line: &str) -> bool {
    text.trim().len() > first_line.len()
}

/// Returns the name of the tag that a line begins with.
pub(super) fn tag(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('<')?;
    let end = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
    let (name, rest) = inside.split_at_checked(end)?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let ends = rest.starts_with(['>', ' ', '/']);
    (begins && ends && rest.contains('>')).then_some(name)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Returns the words before the colon that a line begins with.
fn label(line: &str) -> Option<&str> {
    let (label, rest) = line.split_once(':')?;
    let is_mark = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let is_short = label.chars().count() <= LABEL && label.split_whitespace().count() <= WORDS;
    let is_words = label.starts_with(char::is_alphabetic) && !label.contains(['.', '?', '!', ',']);
    (is_mark && is_short && is_words).then_some(label)
}

/// Returns the labels of lines.
pub(super) fn labels(text: &str) -> impl Iterator<Item = String> {
    text.lines()
        .filter_map(|line| label(line.trim()))
        .map(without_numbers)
}

/// Returns a text in which each number is `0`.
pub(super) fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_number = false;
    for c in text.chars() {
        let was_number = std::mem::replace(&mut is_number, c.is_ascii_digit());
        if !is_number {
            out.push(c);
        } else if !was_number {
            out.push('0');
        }
    }
    out
}
