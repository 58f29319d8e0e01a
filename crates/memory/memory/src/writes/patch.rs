//! Finds the files that a patch names, and the text of a file that a patch adds.

/// The marks of the files in a patch.
const MARKS: [&str; 4] = [
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// Returns the files of a patch, in its order.
pub(super) fn paths(patch: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut before = "";
    for line in patch.lines() {
        let marked = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
        let named = marked.or_else(|| unified(before, line));
        if let Some(path) = named.map(str::trim).filter(|path| !path.is_empty())
            && !found.iter().any(|known| known == path)
        {
            found.push(path.to_owned());
        }
        before = line;
    }
    found
}

/// Returns the file that the two head lines of a unified diff name. A deleted file has its name in the first line.
fn unified<'p>(old: &'p str, new: &'p str) -> Option<&'p str> {
    let (old, new) = (old.strip_prefix("--- ")?, new.strip_prefix("+++ ")?);
    let name = if new.trim() == "/dev/null" { old } else { new };
    // A time may follow the name, after a tab.
    let name = name.split('\t').next()?;
    let inside = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    Some(inside.unwrap_or(name))
}

/// Returns the content of the file that a patch adds, if the patch does nothing else.
pub(super) fn added(patch: &str) -> Option<String> {
    let mut lines = patch.trim().lines();
    let mut content = String::new();
    if lines.next()? != "*** Begin Patch" || !lines.next()?.starts_with("*** Add File: ") {
        return None;
    }
    for line in lines {
        match line.strip_prefix('+') {
            Some(line) => {
                content.push_str(line);
                content.push('\n');
            }
            None => return (line == "*** End Patch").then_some(content),
        }
    }
    None
}
