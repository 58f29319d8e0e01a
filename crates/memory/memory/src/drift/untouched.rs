//! Finds a request for a change after which the assistant has changed nothing.

use serde_json::Value as Json;

use super::case::Case;
use crate::message::Role;
use crate::parsed::{Parsed, ParsedCall};
use crate::prose::sentences;
use crate::words::in_name;

words! {
    "untouched.json";
    /// Verbs of requests for a change.
    changes,
    /// Words in the names of tools that only look.
    looking,
    /// Commands that only look.
    looks,
}

/// Returns the last request for a change, if no call and no command of the assistant since then changes anything.
pub(super) fn untouched(case: &Case<'_>) -> Option<(usize, String)> {
    let messages = case.archive;
    let at = messages.iter().rposition(asks)?;
    let (request, since) = (messages.get(at)?, messages.get(at + 1..)?);
    let mut own = since
        .iter()
        .filter(|message| message.role == Role::Assistant);
    let looks = own.all(|message| {
        message.calls.iter().all(only_looks)
            && message.text.split("```").skip(1).step_by(2).all(looks)
    });
    let what = "all that was done since it was asked for a change only looks".to_owned();
    looks.then_some((request.index, what))
}

/// Returns whether a user asks for a change.
fn asks(message: &Parsed) -> bool {
    let speaks = message.role == Role::User && message.results.is_empty();
    speaks
        && sentences(&message.text)
            .iter()
            .any(|one| one.has(&WORDS.changes))
}

/// Returns whether a call only looks: by its command, or by the name of its tool.
fn only_looks(call: &ParsedCall) -> bool {
    let command = call.arguments.get("command").and_then(Json::as_str);
    command.map_or_else(|| looks_by_name(call), looks)
}

/// Returns whether the name of the tool says that a call only looks.
pub(super) fn looks_by_name(call: &ParsedCall) -> bool {
    in_name(&call.tool, &WORDS.looking)
}

/// Returns whether the commands of a block only look.
fn looks(block: &str) -> bool {
    let language = ["bash\n", "sh\n", "shell\n"];
    let block = language
        .iter()
        .find_map(|name| block.strip_prefix(name))
        .unwrap_or(block);
    let lines = block.split(['\n', ';', '|', '&']);
    let mut commands = lines.map(str::trim).filter(|command| !command.is_empty());
    !block.contains('>') && commands.all(|command| WORDS.looks.iter().any(|look| is(command, look)))
}

/// Returns whether a command begins with this name.
fn is(command: &str, name: &str) -> bool {
    let rest = command.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::looks;

    #[test]
    fn commands_that_change_nothing_look() {
        for command in [
            "ls -la",
            "cd src && grep -rn foo . | head -3",
            "bash\ngit log\nsed -n 1,9p a.py\n",
        ] {
            assert!(looks(command), "{command}");
        }
        for command in [
            "sed -i s/a/b/ a.py",
            "cat a > b",
            "git commit -m x",
            "ls; rm a",
            "python -c 'x'",
            "lsof",
        ] {
            assert!(!looks(command), "{command}");
        }
    }
}
