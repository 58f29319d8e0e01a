//! Puts changed texts into a request, and leaves all other bytes as they are.

use std::ops::Range;

use serde_json::Value as Json;

use crate::bare::MARK;

/// Returns the text of a message with the strings of `other` in the places of its own strings; `None` if the two
/// differ in more than strings. Marks for caches are not compared, and stay in the text.
pub(crate) fn with_strings(text: &str, other: &Json) -> Option<String> {
    let mut changes = Vec::new();
    let mut scan = Scan { text, at: 0 };
    scan.value(Some(other), &mut changes)?;
    scan.blank();
    if scan.at != text.len() {
        return None;
    }
    Some(replaced(text, &changes))
}

/// Returns the text with the new texts in their places. The places are in ascending order.
pub(crate) fn replaced(text: &str, changes: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (place, new) in changes {
        out.push_str(text.get(at..place.start).unwrap_or_default());
        out.push_str(new);
        at = place.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Returns the places of the items of an array in the text of an object. `key` is the key of the array.
pub(crate) fn items_of(text: &str, key: &str) -> Option<Vec<Range<usize>>> {
    let place = member_of(text, key)?;
    let items = array_items(text.get(place.clone())?)?;
    let moved = |item: Range<usize>| item.start + place.start..item.end + place.start;
    Some(items.into_iter().map(moved).collect())
}

/// Returns the place of a member's value in the text of an object.
pub(crate) fn member_of(text: &str, key: &str) -> Option<Range<usize>> {
    let mut scan = Scan { text, at: 0 };
    let mut found = None;
    scan.object(|scan, name| {
        let from = scan.at;
        scan.skip()?;
        if name == key {
            found = Some(from..scan.at);
        }
        Some(())
    })?;
    found
}

/// Returns the places of the items in the text of an array; `None` if the text is not an array.
pub(crate) fn array_items(text: &str) -> Option<Vec<Range<usize>>> {
    let mut scan = Scan { text, at: 0 };
    let mut items = Vec::new();
    scan.array(|scan| {
        let from = scan.at;
        scan.skip()?;
        items.push(from..scan.at);
        Some(())
    })?;
    Some(items)
}

/// Returns the text of an object with more items at the end of an array in it; the array is made if there is none.
pub(crate) fn with_items(text: &str, key: &str, more: &[String]) -> Option<String> {
    let more = more.join(",");
    let place = member_of(text, key);
    let array = place.clone().and_then(|place| text.get(place));
    let change = match (place, array.and_then(array_items)) {
        (Some(place), Some(items)) => match items.last() {
            Some(last) => {
                let end = place.start + last.end;
                (end..end, format!(",{more}"))
            }
            None => (place, format!("[{more}]")),
        },
        (Some(place), None) if array == Some("null") => (place, format!("[{more}]")),
        (Some(_), None) => return None,
        (None, _) => {
            let begin = text.find('{')? + 1;
            let is_empty = text.get(begin..)?.trim_start().starts_with('}');
            let comma = if is_empty { "" } else { "," };
            let key = Json::from(key);
            (begin..begin, format!("{key}:[{more}]{comma}"))
        }
    };
    Some(replaced(text, &[change]))
}

/// Reads JSON text that is known to be valid, and knows its position in the text.
struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl Scan<'_> {
    /// Compares a value with another one, and notes where their strings differ.
    fn value(
        &mut self,
        other: Option<&Json>,
        changes: &mut Vec<(Range<usize>, String)>,
    ) -> Option<()> {
        let Some(other) = other else {
            return self.skip();
        };
        match (self.next()?, other) {
            (b'{', Json::Object(map)) => {
                let mut left = map.iter();
                self.object(|scan, name| {
                    if name == MARK {
                        return scan.skip();
                    }
                    let (key, value) = left.next()?;
                    (key == name).then_some(())?;
                    scan.value(Some(value), changes)
                })?;
                left.next().is_none().then_some(())
            }
            (b'[', Json::Array(items)) => {
                let mut left = items.iter();
                self.array(|scan| scan.value(Some(left.next()?), changes))?;
                left.next().is_none().then_some(())
            }
            (b'"', Json::String(new)) => {
                let from = self.at;
                if self.string()? != *new {
                    changes.push((from..self.at, Json::from(&**new).to_string()));
                }
                Some(())
            }
            // A text is equal to a list of one block with this text.
            (b'[', Json::String(new)) => {
                let block = serde_json::json!([{ "type": "text", "text": new }]);
                self.value(Some(&block), changes)
            }
            (b'{' | b'[' | b'"', _) => None,
            _ => {
                let from = self.at;
                self.skip()?;
                let same: Json = serde_json::from_str(self.text.get(from..self.at)?).ok()?;
                (same == *other).then_some(())
            }
        }
    }

    fn blank(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
        self.at += blanks.count();
    }

    /// Returns the next byte that is not a blank. The position stays before this byte.
    fn next(&mut self) -> Option<u8> {
        self.blank();
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// Reads an object. `member` gets the name of each member, and reads its value.
    fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        if self.eat(b'}').is_some() {
            return Some(());
        }
        loop {
            self.blank();
            let name = self.string()?;
            self.eat(b':')?;
            self.blank();
            member(self, &name)?;
            if self.eat(b',').is_none() {
                return self.eat(b'}');
            }
        }
    }

    /// Reads an array. `item` reads each value.
    fn array(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.eat(b'[')?;
        if self.eat(b']').is_some() {
            return Some(());
        }
        loop {
            self.blank();
            item(self)?;
            if self.eat(b',').is_none() {
                return self.eat(b']');
            }
        }
    }

    /// Reads a string.
    fn string(&mut self) -> Option<String> {
        let from = self.at;
        self.skip_string()?;
        serde_json::from_str(self.text.get(from..self.at)?).ok()
    }

    fn skip_string(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        (bytes.get(self.at) == Some(&b'"')).then_some(())?;
        let mut at = self.at + 1;
        loop {
            match bytes.get(at)? {
                b'\\' => at += 2,
                b'"' => break,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(())
    }

    /// Passes over a value.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.next()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' => {
                    (depth > 0).then(|| self.at += 1)?;
                    continue;
                }
                _ => {
                    let rest = self.text.as_bytes().get(self.at..)?;
                    let is_end = |byte: &u8| {
                        matches!(byte, b',' | b']' | b'}' | b':') || byte.is_ascii_whitespace()
                    };
                    let length = rest.iter().position(is_end).unwrap_or(rest.len());
                    self.at += length.max(1);
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_strings_that_differ_change() {
        let text = r#"{ "role":"tool" ,"n": 1.50, "content" : [ {"text":"\u0041 \"b\"", "cache_control":{"type":"x"} } ] }"#;
        let other = json!({"role": "tool", "n": 1.5, "content": [{"text": "c\n"}]});
        assert_eq!(
            with_strings(text, &other).as_deref(),
            Some(
                r#"{ "role":"tool" ,"n": 1.50, "content" : [ {"text":"c\n", "cache_control":{"type":"x"} } ] }"#
            )
        );
        let block = r#"{"content":[ {"type":"text","text":"a","cache_control":null} ]}"#;
        let new = with_strings(block, &json!({"content": "b"}));
        assert_eq!(new.unwrap(), block.replace(r#""a""#, r#""b""#));
        let same = json!({"role": "tool", "n": 1.5, "content": [{"text": "A \"b\""}]});
        assert_eq!(with_strings(text, &same).as_deref(), Some(text));
        for other in [
            json!({"role": "tool", "n": 2, "content": [{"text": "c"}]}),
            json!({"role": "tool", "n": 1.5, "content": "c"}),
            json!({"role": "tool", "n": 1.5}),
            json!({"role": "tool", "n": 1.5, "content": [{"text": "c"}], "more": 1}),
            json!({"role": "tool", "n": 1.5, "content": [{"text": "c"}, 1]}),
        ] {
            assert_eq!(with_strings(text, &other), None, "{other}");
        }
    }

    #[test]
    fn items_are_found_where_they_stand() {
        let text = r#"{"model":"m\"[", "x":{"messages":[9]}, "messages" : [ {"a":[1,{}]} , "b]" ,3],"z":null}"#;
        let items = items_of(text, "messages").unwrap();
        let items: Vec<_> = items.into_iter().map(|item| &text[item]).collect();
        assert_eq!(items, [r#"{"a":[1,{}]}"#, r#""b]""#, "3"]);
        assert_eq!(items_of(text, "model"), None);
        assert_eq!(items_of("{}", "messages"), None);
        assert_eq!(items_of(r#"{"messages":[]}"#, "messages"), Some(Vec::new()));
    }

    #[test]
    fn items_are_added_at_the_end_of_an_array() {
        let more = ["1".to_owned(), "{}".to_owned()];
        for (text, expected) in [
            (r#"{ "a": [ 0 ] }"#, Some(r#"{ "a": [ 0,1,{} ] }"#)),
            (r#"{"a":[]}"#, Some(r#"{"a":[1,{}]}"#)),
            (r#"{"a":null}"#, Some(r#"{"a":[1,{}]}"#)),
            (r#"{"b":[0]}"#, Some(r#"{"a":[1,{}],"b":[0]}"#)),
            ("{ }", Some(r#"{"a":[1,{}] }"#)),
            (r#"{"a":"x"}"#, None),
        ] {
            let added = with_items(text, "a", &more);
            assert_eq!(added.as_deref(), expected, "{text}");
        }
    }
}
