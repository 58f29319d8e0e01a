//! A request for a change, after which nothing was changed.

use accp_registry::words;
use serde_json::Value as Json;

use super::case::Case;
use crate::message::Role;
use crate::parsed::{Parsed, ParsedCall};
use crate::prose::sentences;

/// Verbs of requests for a change.
const CHANGES: [&str; 36] = [
    "add",
    "book",
    "build",
    "buy",
    "cancel",
    "change",
    "configure",
    "convert",
    "correct",
    "create",
    "delete",
    "deploy",
    "downgrade",
    "edit",
    "exchange",
    "fix",
    "generate",
    "implement",
    "install",
    "migrate",
    "modify",
    "move",
    "order",
    "pay",
    "refactor",
    "refund",
    "remove",
    "rename",
    "repair",
    "replace",
    "reserve",
    "resolve",
    "schedule",
    "send",
    "update",
    "write",
];
/// Words in the names of tools that only look.
pub(super) const LOOKING: [&str; 9] = [
    "get", "list", "search", "find", "read", "view", "show", "open", "cat",
];
/// Commands that only look.
const LOOKS: [&str; 22] = [
    "cat",
    "cd",
    "file",
    "find",
    "git diff",
    "git grep",
    "git log",
    "git show",
    "git status",
    "grep",
    "head",
    "less",
    "ls",
    "nl",
    "pwd",
    "rg",
    "sed -n",
    "stat",
    "tail",
    "tree",
    "wc",
    "which",
];

/// Returns the last request for a change, if all that the assistant did since only looks.
pub(super) fn untouched(case: &Case<'_>) -> Option<(usize, String)> {
    let said = case.archive;
    let at = said.iter().rposition(asks)?;
    let (request, since) = (said.get(at)?, said.get(at + 1..)?);
    let mut own = since.iter().filter(|said| said.role == Role::Assistant);
    let looks = own.all(|said| {
        said.calls.iter().all(only_looks) && said.text.split("```").skip(1).step_by(2).all(looks)
    });
    let what = "all that was done since it was asked for a change only looks".to_owned();
    looks.then_some((request.index, what))
}

/// Returns whether a user asks for a change.
fn asks(said: &Parsed) -> bool {
    let speaks = said.role == Role::User && said.results.is_empty();
    speaks && sentences(&said.text).iter().any(|one| one.has(&CHANGES))
}

/// Returns whether a call only looks: by its command, or by the name of its tool.
pub(super) fn only_looks(call: &ParsedCall) -> bool {
    let by_name = || words(&call.tool).any(|word| LOOKING.contains(&&*word.to_ascii_lowercase()));
    let command = call.arguments.get("command").and_then(Json::as_str);
    command.map_or_else(by_name, looks)
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
    !block.contains('>') && commands.all(|command| LOOKS.iter().any(|look| is(command, look)))
}

/// Returns whether a command has this name.
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
