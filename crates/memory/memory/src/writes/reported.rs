//! Finds out whether the result of a call says that the call succeeded or failed.

use serde_json::{Map, Value as Json};

use crate::parsed::ParsedResult;
use crate::words::in_name;

words! {
    "reported.json";
    /// Members of a JSON result that are true when the call succeeded.
    success,
    /// Members with an error. Null, an empty text or 0 means that there was no error.
    errors,
    /// Members with the code of a process.
    codes,
    /// Members with a state.
    states,
    /// Members with words or with a result inside.
    inside,
    /// Phrases of failure.
    failures,
    /// Words of failure, with their inflections.
    failing,
    /// Words of success.
    done,
    /// Results that are nothing but a word of success.
    bare,
    /// Words before a word of success that cancel it, because they make it a plan, a question or a time.
    planned,
    /// Words that turn a word of failure into its opposite, when they stand before it.
    none,
    /// Words in the names of tools that give the content of files.
    reading,
}

/// Marks after which a result repeats the file. The text after such a mark is not the tool's own.
const ECHOES: [&str; 6] = [
    "cat -n",
    "```",
    "<content>",
    "\n@@ ",
    "diff --git",
    "a snippet of",
];

/// Returns whether a result says that its call succeeded or failed; `None` if it says neither.
///
/// A result that says both counts as a failure, because success is never assumed.
pub(crate) fn reported(result: &ParsedResult) -> Option<bool> {
    if result.failed {
        return Some(false);
    }
    match serde_json::from_str(result.text.trim()) {
        Ok(Json::Object(map)) => of_map(&map, 3),
        Ok(Json::Bool(is_success)) => Some(is_success),
        Ok(Json::String(text)) => of_text(&text),
        _ => of_text(&result.text),
    }
}

/// Returns whether a result shows by its structure that its call failed: by the list's own mark for failed calls, by an
/// error at the top of a JSON object, or by the exit code of a command on the first or the last line. Words inside the
/// result show nothing, because the call may have read them somewhere.
pub(crate) fn has_failed(result: &ParsedResult) -> bool {
    let reads = |tool: &String| in_name(tool, &WORDS.reading);
    if result.failed || result.tool.as_ref().is_some_and(reads) {
        return result.failed;
    }
    let text = result.text.trim();
    match serde_json::from_str(text) {
        Ok(Json::Object(map)) => has_error(&map),
        Ok(_) => false,
        Err(_) => {
            let mut lines = text.lines();
            let ends = [lines.next(), lines.next_back()];
            let mut codes = ends.into_iter().flatten().filter_map(exit_code);
            codes.any(|code| code != 0)
        }
    }
}

fn has_error(map: &Map<String, Json>) -> bool {
    let denies = |key: &str| map.get(key) == Some(&Json::Bool(false));
    let errs = |key: &str| map.get(key).and_then(of_error) == Some(false);
    let mut codes = WORDS.codes.iter().filter_map(|key| map.get(*key)?.as_i64());
    WORDS.success.iter().copied().any(denies)
        || ["error", "is_error", "isError"].into_iter().any(errs)
        || codes.any(|code| code != 0)
}

/// Returns the exit code of a command, if a line says nothing else: `exit code: 1`, `[Command exited with code 2]`,
/// `<returncode>1</returncode>`.
fn exit_code(line: &str) -> Option<i64> {
    let line = line.to_ascii_lowercase();
    let line = line.split(" (").next()?;
    let words: Vec<&str> = line
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .collect();
    let at = words.iter().position(|word| word.parse::<i64>().is_ok())?;
    let code = words.get(at)?.parse().ok()?;
    let (label, behind) = (words.get(..at)?, words.get(at + 1..)?);
    let is_label = label.len() <= 6
        && matches!(
            label,
            [.., "exitcode" | "exit-code" | "returncode"]
                | [.., "exit" | "return", "code" | "status"]
                | [.., "exited", "with"]
                | [.., "exited", "with", "code" | "status"]
        );
    // A closing tag may follow the code.
    (is_label && (behind.is_empty() || behind == label)).then_some(code)
}

fn of_map(map: &Map<String, Json>, depth: usize) -> Option<bool> {
    let one = |keys: &[&str], read: &dyn Fn(&Json) -> Option<bool>| {
        let outcomes = keys.iter().filter_map(|key| map.get(*key)).filter_map(read);
        outcomes.min()
    };
    let inside = |value: &Json| match value {
        Json::Object(map) => of_map(map, depth.checked_sub(1)?),
        Json::String(text) => of_text(text),
        _ => None,
    };
    let all = [
        one(&WORDS.success, &|value| value.as_bool()),
        one(&WORDS.errors, &of_error),
        one(&WORDS.codes, &|value| Some(value.as_i64()? == 0)),
        one(&WORDS.states, &of_state),
        one(&WORDS.inside, &inside),
    ];
    // `false` sorts before `true`, so one failure outweighs all successes.
    all.into_iter().flatten().min()
}

fn of_error(value: &Json) -> Option<bool> {
    let is_none = match value {
        Json::Null => true,
        Json::Bool(is_error) => !is_error,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => ["", "none", "null", "no"].contains(&&*text.to_lowercase()),
        Json::Array(items) => items.is_empty(),
        Json::Object(map) => map.is_empty(),
    };
    // The absence of an error does not show that something was done, so it gives no verdict.
    (!is_none).then_some(false)
}

fn of_state(value: &Json) -> Option<bool> {
    match value {
        Json::Number(number) => match number.as_u64()? {
            200..=299 => Some(true),
            400..=599 => Some(false),
            _ => None,
        },
        Json::String(text) => of_text(text),
        Json::Bool(is_success) => Some(*is_success),
        _ => None,
    }
}

fn of_text(text: &str) -> Option<bool> {
    let text = text.replace('\u{2019}', "'").to_lowercase();
    let codes = exit_codes(&text);
    if codes.iter().any(|code| *code != 0) || text.contains("traceback (most recent call last)") {
        return Some(false);
    }
    let echo = ECHOES.iter().filter_map(|mark| text.find(mark)).min();
    let words = text.get(..echo.unwrap_or(text.len())).unwrap_or(&text);
    if fails(words) || incomplete(words) {
        return Some(false);
    }
    let is_done = WORDS
        .bare
        .contains(&words.trim().trim_matches(['.', '!', '"']))
        || parts(words).any(done)
        || codes.contains(&0);
    is_done.then_some(true)
}

/// Returns the parts of a text that end with a mark of a sentence or a line.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '!', '?', ';'])
        .flat_map(|line| line.split_inclusive(". "))
}

/// Returns the words of a text, without the paths and names of files in it.
fn words_of(text: &str) -> Vec<&str> {
    let words = text.split(|letter: char| letter.is_whitespace() || ",;()[]\"".contains(letter));
    let words = words.filter(|word| !word.contains('/') && !is_file(word));
    let words = words.flat_map(|word| word.split(|c: char| !c.is_alphanumeric() && c != '\''));
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns whether a word is the name of a file, such as `error.rs`.
fn is_file(word: &str) -> bool {
    let word = word.trim_matches(['\'', '`', ':', '.', '!', '?']);
    let end = word.rsplit_once('.').map(|(_, end)| end);
    end.is_some_and(|end| !end.is_empty() && end.chars().all(char::is_alphanumeric))
        || word.contains('_')
}

fn fails(text: &str) -> bool {
    WORDS.failures.iter().any(|phrase| text.contains(phrase))
        || parts(text).any(|part| {
            let words = words_of(part);
            let failing = (0..words.len()).filter(|at| WORDS.failing.contains(&words[*at]));
            failing.into_iter().any(|at| !is_denied(&words, at))
        })
}

/// Returns whether a word of failure says that there was none: `no errors`, `0 failed`, `errors: 0`.
fn is_denied(words: &[&str], at: usize) -> bool {
    let is_none = |word: &&str| WORDS.none.contains(word) || *word == "0";
    let before = words.get(at.saturating_sub(2)..at).unwrap_or_default();
    let after = words.get(at + 1);
    before.iter().any(is_none)
        || after.is_some_and(|word| ["0", "none", "null", "free"].contains(word))
}

/// Returns whether a text counts something that was not done, or not all of it: `0 files updated`, `2 of 3`.
fn incomplete(text: &str) -> bool {
    parts(text).any(|part| {
        let words: Vec<_> = part.split(|c: char| !c.is_alphanumeric()).collect();
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let number = |at: usize| {
            words
                .get(at)
                .and_then(|word: &&str| word.parse::<u64>().ok())
        };
        (0..words.len()).any(|at| {
            let some = number(at);
            let of = words.get(at + 1) == Some(&"of") || words.get(at + 1) == Some(&"out");
            let all = number(at + 2).or_else(|| number(at + 3));
            let less = of && some.zip(all).is_some_and(|(some, all)| some < all);
            let near = words.get(at.saturating_sub(2)..(at + 4).min(words.len()));
            let acts = near.is_some_and(|near| near.iter().any(|word| WORDS.done.contains(word)));
            let fails =
                near.is_some_and(|near| near.iter().any(|word| WORDS.failing.contains(word)));
            less || some == Some(0) && acts && !fails
        })
    })
}

/// Returns whether a sentence says that something was done.
fn done(part: &str) -> bool {
    if part.trim_end().ends_with('?') {
        return false;
    }
    let words = words_of(part);
    (0..words.len()).any(|at| {
        let before = words.get(at.saturating_sub(3)..at).unwrap_or_default();
        WORDS.done.contains(&words[at]) && !before.iter().any(|word| WORDS.planned.contains(word))
    })
}

/// Returns the codes of processes that a text tells: `exit code: 1`, `exited with 2`, `exit status 0`.
fn exit_codes(text: &str) -> Vec<i64> {
    let words: Vec<_> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .collect();
    let mut codes = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if !["exit", "exited", "exitcode", "returncode", "returned"].contains(word) {
            continue;
        }
        let rest = words.get(at + 1..).unwrap_or_default().iter().take(4);
        for word in rest {
            match word.parse() {
                Ok(code) => {
                    codes.push(code);
                    break;
                }
                Err(_) if ["non-zero", "nonzero"].contains(word) => codes.push(1),
                Err(_) if ["code", "status", "with", "exit", "a", "was"].contains(word) => {}
                Err(_) => break,
            }
        }
    }
    codes
}
