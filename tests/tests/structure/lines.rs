//! The length of files and of crates.

use std::path::Path;

use super::workspace::{self, Sources};

/// The most lines of one file.
const FILE: usize = 500;

/// Generated files and folders. The first line of such a file names the command that makes it.
const GENERATED: [&str; 4] = [
    "accp-runtime/frame/src/profiles.rs",
    "accp-runtime/context/src/frames.rs",
    "accp-runtime/session/src/wire/frames.rs",
    "tests/goldens/",
];

/// A limit for the lines of several files together.
struct Budget {
    of: &'static str,
    /// Returns whether a file counts.
    counts: fn(&str) -> bool,
    goal: usize,
    /// The present limit, until the goal is reached. It goes down, and up only for work that sessions
    /// did not do before (docs/design/next.md).
    until_then: usize,
}

/// The part of the command that is about packets.
const PACKETS: &str = "crates/cli/src/commands/aacp";

/// The part of the command that is about shared folders.
const FOLDERS: &str = "crates/cli/src/commands/collab";

/// The part of the command that is about lists of messages.
const LISTS: &str = "crates/cli/src/commands/context";

const BUDGETS: [Budget; 5] = [
    Budget {
        // 770 more than before `accp agent` answered by the schemas of its session, long values went ahead of their
        // frames, and `accp encode` told all mistakes of a message; 380 more than before `accp agent` bounded what its
        // command prints and ended all that it had started, tokens came from files, and the log escaped what others
        // write; 640 more than before hubs could be enemies; 450 more than before
        // `accp grammar` took an ABNF of one's own, what is written for a provider was checked and mended, `accp new`, and types
        // of the user in generated files.
        of: "the command",
        counts: |file| {
            let apart = [PACKETS, FOLDERS, LISTS];
            let is_apart = apart.iter().any(|apart| file.starts_with(apart));
            file.starts_with("crates/cli/src/") && !is_apart
        },
        goal: 8_700,
        until_then: 12_070,
    },
    Budget {
        // 130 more than before it had a bridge and a profile, told each failure to programs too, and went on
        // where an entry or a packet is at fault.
        of: "the command for packets",
        counts: |file| file.starts_with(PACKETS),
        goal: 2_230,
        until_then: 0,
    },
    Budget {
        of: "the command for shared folders",
        counts: |file| file.starts_with(FOLDERS),
        goal: 1_250,
        until_then: 0,
    },
    Budget {
        // 60 more than before models had tools, and a summary could have views; 110 more than before a count could be
        // a substitute's, a message with a picture that left came back by itself, and a compression warned of what a provider
        // refuses.
        of: "the command for lists of messages",
        counts: |file| file.starts_with(LISTS),
        goal: 1_010,
        until_then: 1_120,
    },
    Budget {
        // 30 more than before a member asked again about frames that a lost log has dropped; 20 more than before a part
        // could come ahead of the first one; 250 more than before who reads frames had the
        // pieces of streams in order; 90 more than before who sends over
        // HTTP could have values that are too long for a frame; 510 more than before agents could live in the process
        // of their host, and who looks at a session wrote nothing.
        of: "sessions and their context",
        counts: is_of_sessions,
        goal: 10_000,
        until_then: 21_750,
    },
];

/// Returns whether a file belongs to sessions: the delivery, and the context that a session keeps.
/// That is all of accp-context except views, prices, policies and their messages.
fn is_of_sessions(file: &str) -> bool {
    if GENERATED.contains(&file) {
        return false;
    }
    let context = file.strip_prefix("accp-runtime/context/src/");
    let is_apart = |file: &str| {
        let first = file.split(['/', '.']).next().unwrap_or_default();
        first.starts_with("view") || matches!(first, "policies" | "policy" | "prices" | "recorded")
    };
    file.starts_with("accp-runtime/session/src/") || context.is_some_and(|file| !is_apart(file))
}

/// Returns the files that are too long.
fn too_long(sources: &Sources) -> Vec<String> {
    let mut said = Vec::new();
    for (path, text) in sources {
        let name = path.to_string_lossy();
        if GENERATED
            .iter()
            .any(|generated| name.starts_with(generated))
        {
            continue;
        }
        let lines = text.lines().count();
        if lines > FILE {
            said.push(format!("{name}: {lines} lines, at most {FILE}"));
        }
    }
    said
}

/// Returns the lines of the files that count, or an error if there are too many.
fn count(sources: &Sources, budget: &Budget) -> Result<usize, String> {
    let counts = |path: &Path| (budget.counts)(&path.to_string_lossy());
    let files = sources.iter().filter(|(path, _)| counts(path));
    let lines = files.map(|(_, text)| text.lines().count()).sum();
    let Budget {
        of,
        goal,
        until_then,
        ..
    } = budget;
    if lines > *goal.max(until_then) {
        return Err(format!(
            "{of}: {lines} lines, at most {until_then}; the goal is {goal}"
        ));
    }
    Ok(lines)
}

#[test]
fn no_file_is_too_long() {
    let sources = workspace::sources(&workspace::top()).unwrap();
    let said = too_long(&sources);
    assert!(said.is_empty(), "split, by its nouns: {said:#?}");
}

#[test]
fn budgets_hold() {
    let sources = workspace::sources(&workspace::top()).unwrap();
    for budget in &BUDGETS {
        let lines = count(&sources, budget).unwrap();
        println!("{}: {lines} lines, the goal is {}", budget.of, budget.goal);
        assert!(lines > 0, "{}: no file counts", budget.of);
    }
}

#[test]
fn a_file_over_its_lines_is_found() {
    let of = |path: &str, lines: usize| (path.into(), "x\n".repeat(lines));
    let sources = Sources::from([
        of("a/src/b.rs", 501),
        of("a/src/c.rs", 500),
        of("tests/goldens/long.rs", 900),
    ]);
    let said = ["a/src/b.rs: 501 lines, at most 500"];
    assert_eq!(too_long(&sources), said);
}

#[test]
fn a_budget_that_grows_is_found() {
    let budget = |goal, until_then| Budget {
        of: "a",
        counts: |file| file.starts_with("a/"),
        goal,
        until_then,
    };
    let sources = Sources::from([
        ("a/b.rs".into(), "x\n".repeat(30)),
        ("c/d.rs".into(), "x\n".repeat(30)),
    ]);
    assert_eq!(count(&sources, &budget(10, 30)), Ok(30));
    assert_eq!(count(&sources, &budget(30, 0)), Ok(30));
    let said = "a: 30 lines, at most 29; the goal is 10";
    assert_eq!(count(&sources, &budget(10, 29)), Err(said.into()));
}

#[test]
fn the_context_of_a_session_is_told_from_views() {
    for file in [
        "accp-runtime/session/src/host/accept.rs",
        "accp-runtime/context/src/hot.rs",
    ] {
        assert!(is_of_sessions(file), "{file}");
    }
    for file in [
        "view.rs",
        "view/write.rs",
        "views.rs",
        "prices.rs",
        "policy.rs",
        "policies/last.rs",
        "recorded.rs",
    ] {
        let file = format!("accp-runtime/context/src/{file}");
        assert!(!is_of_sessions(&file), "{file}");
    }
}
