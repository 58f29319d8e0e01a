//! Marks, which replace lines that are not in the list. A reader understands them without any other explanation.

/// The most words and characters of a line that a mark quotes.
const WORDS: usize = 5;
const CHARACTERS: usize = 40;

/// The name of the tool that reads what a mark names.
pub(super) const TOOL: &str = "memory_read";

/// The name of a message that has left is this word and the index of the message. Results have names without it.
pub(super) const MESSAGE: &str = "message ";

/// Lines of a result or of a message, by its name and their numbers from 1, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines<'n> {
    pub(super) result: &'n str,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Lines<'_> {
    fn named(&self) -> String {
        let Self { result, from, to } = self;
        let kind = if result.starts_with(MESSAGE) {
            ""
        } else {
            "result "
        };
        if from == to {
            format!("line {from} of {kind}{result}")
        } else {
            format!("lines {from}-{to} of {kind}{result}")
        }
    }

    /// Returns the mark for lines that left: `memory_read` shows them.
    pub(super) fn left_out(&self) -> String {
        let Self { result, from, to } = self;
        let result = serde_json::Value::from(*result);
        format!(
            "[{} left out; {TOOL}({result}, {from}, {to}) shows them]",
            self.named()
        )
    }

    /// Returns the mark for lines that stand in an earlier result: it quotes the first and the last of them.
    pub(super) fn again(&self, lines: &[&str]) -> String {
        let quoted = |line: Option<&&str>| line.map_or(String::new(), |line| beginning(line));
        let (first, last) = (quoted(lines.first()), quoted(lines.last()));
        format!("[{} again, from \"{first}\" to \"{last}\"]", self.named())
    }
}

/// Returns the first words of a line.
fn beginning(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().take(WORDS).collect();
    let words: String = words.join(" ").chars().take(CHARACTERS).collect();
    words.trim_end().to_owned()
}

/// A mark that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) result: String,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The words that follow the name of a result, one for each kind of mark.
const LEFT_OUT: &str = " left out; ";
const AGAIN: &str = " again, from \"";

/// Returns whether a mark refers to lines that stand in another result.
pub(super) fn is_again(mark: &str) -> bool {
    mark.contains(AGAIN) && !mark.contains(LEFT_OUT)
}

/// Reads a line that is a mark.
pub(super) fn read(line: &str) -> Option<Named> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (numbers, rest) = match inner.strip_prefix("lines ") {
        Some(rest) => rest.split_once(" of result ")?,
        None => inner.strip_prefix("line ")?.split_once(" of result ")?,
    };
    let (from, to) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let ends = [LEFT_OUT, AGAIN];
    let (result, _) = ends.iter().find_map(|end| rest.split_once(end))?;
    Some(Named {
        result: result.to_owned(),
        from: from.parse().ok()?,
        to: to.parse().ok()?,
    })
}

/// Returns the results that the form of a result refers to: by a mark, or by name in its JSON.
pub(super) fn referred(text: &str) -> Vec<String> {
    let marks = text.split('\n').filter_map(read).map(|mark| mark.result);
    let named = text.split('"').filter_map(|string| {
        let place = string.strip_prefix("as ")?;
        let (_, name) = place.rsplit_once("result ")?;
        Some(name.strip_suffix(", but").unwrap_or(name).to_owned())
    });
    marks.chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_what_is_missing_and_how_to_get_it() {
        let lines = Lines {
            result: "call_7",
            from: 12,
            to: 30,
        };
        let left = lines.left_out();
        assert_eq!(
            left,
            "[lines 12-30 of result call_7 left out; memory_read(\"call_7\", 12, 30) shows them]"
        );
        let again = lines.again(&[
            "    def union(self):",
            "",
            "        return self.x + other.x + 1 + 2 + 3",
        ]);
        assert_eq!(
            again,
            "[lines 12-30 of result call_7 again, from \"def union(self):\" to \"return self.x + other.x +\"]"
        );
        let expected = Named {
            result: "call_7".into(),
            from: 12,
            to: 30,
        };
        assert_eq!(read(&left), Some(expected.clone()));
        assert_eq!(read(&again), Some(expected));
        assert_eq!(read("[lines are few]"), None);
        let json =
            r#"{"columns":"as in rows of result c1","rows":[["as"]],"as result 4, but":{"x":1}}"#;
        assert_eq!(referred(&format!("{again}\n{json}")), ["call_7", "c1", "4"]);
        let one = Lines { to: 12, ..lines };
        assert_eq!(read(&one.left_out()).map(|mark| mark.to), Some(12));
    }
}
