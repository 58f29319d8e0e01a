//! The documents: their links, the table of contents of the book, and their code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::workspace::{self, Sources};

/// The text of each document, by its path from the top of the workspace.
type Documents = BTreeMap<PathBuf, String>;

/// Documents that are data: recorded conversations, and prompts and lists that commands have written.
const DATA: [&str; 3] = [
    "crates/memory/recordings/tests/samples",
    "docs/prompts.md",
    "docs/lists-as-sent.md",
];

/// Pages below `docs` that are not printed in the book: the table of contents itself, and prompts.
const NOT_PRINTED: [&str; 2] = ["SUMMARY.md", "prompts.md"];

/// A block of code between fences.
#[derive(Debug, PartialEq)]
struct Block<'d> {
    /// The line of the fence that opens it, from 1.
    line: usize,
    /// What follows the fence: `rust,ignore`.
    info: &'d str,
    /// The file that a comment above the block names: `<!-- from PATH -->`.
    from: Option<&'d str>,
    code: Vec<&'d str>,
}

/// Returns the blocks of a document, and its other lines with their numbers.
fn split(document: &str) -> (Vec<Block<'_>>, Vec<(usize, &str)>) {
    let (mut blocks, mut prose) = (Vec::<Block<'_>>::new(), Vec::new());
    let mut is_open = false;
    let mut before = "";
    for (line, text) in (1..).zip(document.lines()) {
        let bare = text.trim_start().trim_start_matches("> ");
        match (bare.strip_prefix("```"), is_open) {
            (Some(info), false) => {
                let from = before.trim().strip_prefix("<!-- from ");
                blocks.push(Block {
                    line,
                    info: info.trim(),
                    from: from.and_then(|from| from.strip_suffix(" -->")),
                    code: Vec::new(),
                });
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => {
                if let Some(block) = blocks.last_mut() {
                    block.code.push(text);
                }
            }
            (None, false) => prose.push((line, text)),
        }
        before = text;
    }
    (blocks, prose)
}

/// Returns a line without the parts in backticks.
fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    parts
        .filter(|(at, _)| at % 2 == 0)
        .map(|(_, part)| part)
        .collect()
}

/// Returns the names by which links find the headings of a document.
fn anchors(document: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in split(document).1 {
        let Some(title) = line.strip_prefix('#') else {
            continue;
        };
        let title = title.trim_start_matches('#').trim().to_lowercase();
        let letters = title.chars().filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c => c.is_alphanumeric().then_some(c),
        });
        let name: String = letters.collect();
        let free = (0..).map(|again| match again {
            0 => name.clone(),
            again => format!("{name}-{again}"),
        });
        found.extend(free.into_iter().find(|name| !found.contains(name)));
    }
    found
}

/// Returns the targets of the links of a document, each with its line.
fn links(document: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, text) in split(document).1 {
        let text = without_code(text);
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split([')', ' ']).next().unwrap_or_default();
            found.push((line, target.to_owned()));
        }
        // A line of the form `[name]: target` is a link, too.
        if let Some((_, target)) = text.strip_prefix('[').and_then(|t| t.split_once("]: ")) {
            found.push((line, target.trim().to_owned()));
        }
    }
    found.retain(|(_, target)| !target.contains("://") && !target.starts_with("mailto:"));
    found
}

/// Returns the path without `.` and `..` in it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the links that lead nowhere.
fn dead(documents: &Documents, is_there: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, document) in documents {
        let folder = path.parent().unwrap_or(Path::new(""));
        for (line, target) in links(document) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = match file {
                "" => path.clone(),
                file => plain(&folder.join(file)),
            };
            let at = format!("{}:{line}", path.display());
            if !is_there(&file) {
                findings.push(format!("{at}: there is no {}", file.display()));
            } else if let Some(other) = documents.get(&file)
                && !anchor.is_empty()
                && !anchors(other).contains(anchor)
            {
                findings.push(format!("{at}: {} has no heading #{anchor}", file.display()));
            }
        }
    }
    findings
}

/// Returns the pages that the table of contents lacks, and its lines without a page.
fn unlisted(documents: &Documents) -> Vec<String> {
    let summary = documents.get(Path::new("docs/SUMMARY.md"));
    let listed = summary.map(|summary| links(summary)).unwrap_or_default();
    let listed: BTreeSet<_> = listed
        .iter()
        .map(|(_, target)| Path::new("docs").join(target))
        .filter(|path| !is_data(path))
        .collect();
    let pages = documents.keys().filter(|path| path.starts_with("docs"));
    let printed = |path: &&PathBuf| {
        let mut not = NOT_PRINTED.iter();
        !not.any(|name| **path == Path::new("docs").join(name))
    };
    let pages: BTreeSet<_> = pages.filter(printed).cloned().collect();
    let wrong = pages.symmetric_difference(&listed);
    wrong.map(|path| path.display().to_string()).collect()
}

/// Returns the lines at which rows of a table stand without a head. A blank line among rows ends their table.
fn headless(document: &str) -> Vec<usize> {
    let lines = split(document).1;
    let is_row = |line: &str| line.starts_with('|');
    let is_rule = |line: &str| is_row(line) && line.chars().all(|c| "|-: ".contains(c));
    let mut found = Vec::new();
    let mut before = "";
    for (at, &(line, text)) in lines.iter().enumerate() {
        let next = lines.get(at + 1).map_or("", |&(_, next)| next);
        if is_row(text) && !is_row(before) && !is_rule(next) {
            found.push(line);
        }
        before = text;
    }
    found
}

/// Returns the letters and digits of a text. rustfmt may change the other characters.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Returns what is wrong with the code of a document: a Rust block that no test compiles, or a block whose code is
/// not in the file that the block names.
fn untested(
    path: &Path,
    document: &str,
    is_doctest: bool,
    read: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut findings = Vec::new();
    for block in split(document).0 {
        let at = format!("{}:{}", path.display(), block.line);
        match block.from {
            Some(from) => match read(from) {
                None => findings.push(format!("{at}: there is no {from}")),
                Some(file) if !bare(&file).contains(&bare(&block.code.concat())) => {
                    findings.push(format!("{at}: {from} has not this code"));
                }
                Some(_) => {}
            },
            None if block.info.starts_with("rust")
                && !(is_doctest && ["rust", "rust,no_run"].contains(&block.info)) =>
            {
                findings.push(format!(
                    "{at}: no test compiles this; write `<!-- from PATH -->` above it, or make a doctest of the page"
                ));
            }
            None => {}
        }
    }
    findings
}

/// Returns the documents whose code runs as doctests, because the documentation of an item includes them.
fn doctests(sources: &Sources) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for (path, text) in sources {
        let folder = path.parent().unwrap_or(Path::new(""));
        for included in text.split("doc = include_str!(\"").skip(1) {
            let name = included.split('"').next().unwrap_or_default();
            found.insert(plain(&folder.join(name)));
        }
    }
    found
}

fn is_data(path: &Path) -> bool {
    DATA.iter().any(|data| path.starts_with(data))
}

/// Reads every document of the workspace.
fn documents(top: &Path) -> Documents {
    let mut all = workspace::files(top, "md").expect("the documents");
    all.retain(|path, _| !is_data(path));
    assert!(all.len() > 30, "few documents: {:?}", all.keys());
    all
}

#[test]
fn links_lead_somewhere() {
    let top = workspace::top();
    let dead = dead(&documents(&top), |path| top.join(path).exists());
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn tables_have_a_head() {
    let mut findings = Vec::new();
    for (path, document) in &documents(&workspace::top()) {
        let lines = headless(document).into_iter();
        findings.extend(lines.map(|line| format!("{}:{line}", path.display())));
    }
    assert!(
        findings.is_empty(),
        "rows without a head, because a blank line ends a table: {findings:?}"
    );
}

#[test]
fn the_book_has_every_page() {
    let wrong = unlisted(&documents(&workspace::top()));
    assert!(
        wrong.is_empty(),
        "docs/SUMMARY.md and the pages differ: {wrong:#?}"
    );
}

#[test]
fn code_in_documents_is_tested() {
    let top = workspace::top();
    let doctests = doctests(&workspace::sources(&top).unwrap());
    let mut findings = Vec::new();
    for (path, document) in &documents(&top) {
        let is_doctest = doctests.contains(path);
        let read = |from: &str| std::fs::read_to_string(top.join(from)).ok();
        findings.extend(untested(path, document, is_doctest, read));
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn the_readme_is_short() {
    let readme = std::fs::read_to_string(workspace::top().join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(
        lines <= 160,
        "{lines} lines; move what is not first to a page"
    );
}

/// If a project has several programs, its command has to name the program to run.
#[test]
fn the_readme_has_a_command_for_each_further_program() {
    let readme = std::fs::read_to_string(workspace::top().join("README.md")).unwrap();
    let (blocks, _) = split(&readme);
    let shell = blocks.iter().filter(|block| block.info == "sh");
    let shell = shell.flat_map(|block| &block.code).copied();
    let shell = shell.collect::<Vec<_>>().join("\n");
    let files = blocks.iter().filter_map(|block| block.from);
    let programs = files.filter_map(|file| Some(file.split_once("/src/bin/")?.1));
    for program in programs {
        let name = program.trim_end_matches(".rs");
        for said in [
            format!("src/bin/{program}"),
            format!("cargo run --bin {name}"),
        ] {
            assert!(shell.contains(&said), "no command has `{said}`");
        }
    }
}

/// The first command of the README takes a minute because it builds so few crates.
#[test]
fn the_first_command_builds_little() {
    let top = workspace::top();
    let readme = std::fs::read_to_string(top.join("README.md")).unwrap();
    let first = readme.split("```sh\n").nth(1).unwrap_or_default();
    assert!(first.starts_with("cargo run -p demo "), "{first}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let edges = ["-p", "demo", "--edges", "normal,build", "--prefix", "none"];
    let mut tree = Command::new(cargo);
    let tree = tree
        .arg("tree")
        .args(edges)
        .arg("--locked")
        .current_dir(top);
    let tree = tree.output().unwrap();
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).unwrap();
    // `(*)` marks a package whose dependencies are listed above.
    let crates: BTreeSet<_> = tree.lines().map(|l| l.trim_end_matches(" (*)")).collect();
    assert!((10..=100).contains(&crates.len()), "{crates:#?}");
}

#[cfg(test)]
mod planted {
    use super::*;

    fn of(pages: &[(&str, &str)]) -> Documents {
        let pages = pages.iter();
        pages
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn a_dead_link_is_found_with_its_line() {
        let text = "# A *page's* `title`\n[a](../b.md#two) [b](#a-pages-title) `[c](d)`\n```\n[e](f)\n```\n\
                    [g](https://h)\n[i](../b.md#three) [j](k.md)\n[l]: m.md";
        let documents = of(&[("docs/a.md", text), ("b.md", "## Two")]);
        let findings = dead(&documents, |path| documents.contains_key(path));
        let expected = [
            "docs/a.md:7: b.md has no heading #three",
            "docs/a.md:7: there is no docs/k.md",
            "docs/a.md:8: there is no docs/m.md",
        ];
        assert_eq!(findings, expected);
    }

    #[test]
    fn rows_behind_a_blank_line_are_found() {
        let text = "| a | b |\n|---|--:|\n| c | d |\n\n| e | f |\n```\n| g |\n```\n| h |\n| :- |";
        assert_eq!(headless(text), [5]);
    }

    #[test]
    fn headings_that_are_alike_have_numbers() {
        let expected = ["same", "same-1", "same-2"].map(String::from);
        assert_eq!(
            anchors("# Same\n## Same\n# Same\n```\n# no\n```"),
            BTreeSet::from(expected)
        );
    }

    #[test]
    fn a_page_that_is_not_listed_is_found() {
        let summary = "- [A](a.md)\n- [C](c.md)";
        let documents = of(&[
            ("docs/SUMMARY.md", summary),
            ("docs/a.md", ""),
            ("docs/b.md", ""),
            ("docs/prompts.md", ""),
            ("d.md", ""),
        ]);
        assert_eq!(unlisted(&documents), ["docs/b.md", "docs/c.md"]);
    }

    #[test]
    fn a_doctest_is_found_from_the_file_that_includes_it() {
        let text = "#[doc = include_str!(\"../README.md\")]\ninclude_str!(\"other.md\")";
        let sources = Sources::from([("a/src/lib.rs".into(), text.to_owned())]);
        assert_eq!(doctests(&sources), BTreeSet::from(["a/README.md".into()]));
    }

    #[test]
    fn code_without_a_test_is_found() {
        let text = "```rust\na\n```\n<!-- from x.rs -->\n```rust,ignore\nfn  b( )\n```\n<!-- from x.rs -->\n```json\nc\n\
                    ```\n<!-- from y.rs -->\n```sh\n```\n```rust,ignore\n```";
        let read = |from: &str| (from == "x.rs").then(|| "fn b();".to_owned());
        let findings = untested(Path::new("a.md"), text, true, read);
        let starts = [
            "a.md:9: x.rs has not",
            "a.md:13: there is no y.rs",
            "a.md:15: no test compiles",
        ];
        assert_eq!(findings.len(), starts.len(), "{findings:#?}");
        for (findings, start) in findings.iter().zip(starts) {
            assert!(findings.starts_with(start), "{findings}");
        }
        assert_eq!(untested(Path::new("a.md"), text, false, read).len(), 4);
    }
}
