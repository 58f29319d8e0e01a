//! Finds and replaces values in a frame that use an extension of the draft: the mark `"` before a text, the `#`
//! before a float, and the form `{_:[[k,v]]}` of a map whose keys cannot be keys of a frame. A peer that knows only
//! the draft would read such values wrongly.

use std::ops::Range;
use std::sync::Arc;

use accp_frame::{__internal::full_name, Frame, Limits, Registry, Value};
use accp_registry::{Type, lexical};

use crate::reference::read_value;
use crate::wire::scan::Scanned;

/// Returns the frame at this position of the log for a peer that knows only the draft. A reference to the place in
/// the log, as in `zip:$cold.p57.zip`, replaces each value with an extension. The peer asks the host for that
/// value.
pub(crate) fn referred(
    text: &Arc<str>,
    position: u64,
    registry: &Registry,
    limits: Limits,
) -> Arc<str> {
    let (mut whole, mut end) = (String::new(), 0);
    if !text.contains(['"', '#']) && !text.contains("{_:") {
        return Arc::clone(text);
    }
    for param in params(text, registry) {
        for (range, path) in param.marked() {
            whole.push_str(text.get(end..range.start).unwrap_or_default());
            whole.push_str("$cold.p");
            whole.push_str(&position.to_string());
            whole.push('.');
            whole.push_str(&path);
            end = range.end;
        }
    }
    whole.push_str(text.get(end..).unwrap_or_default());
    // If the frame has no room for the references, it stays as it is.
    match Scanned::new(&whole, limits) {
        Ok(_) if end > 0 => whole.into(),
        _ => Arc::clone(text),
    }
}

/// Returns a value of cold state as it may stand in the frame of a peer that knows only the draft, in the place
/// of the reference at this byte; `None` if it has an extension.
pub(crate) fn in_place(text: &str, at: usize, value: &str, registry: &Registry) -> Option<String> {
    let mut params = params(text, registry).into_iter();
    let param = params.find(|param| param.at == at);
    if param.is_some_and(|param| param.ty == Some(Type::Text))
        && let Ok(Value::String(text)) = read_value(value.as_bytes())
    {
        // The type determines how the text is written, so the text needs no mark.
        let mut written = String::with_capacity(value.len());
        lexical::write_text(&mut written, &text);
        return Some(written);
    }
    is_of_the_draft(value).then(|| value.to_owned())
}

/// Returns whether a value has no extension.
pub(crate) fn is_of_the_draft(value: &str) -> bool {
    marks(value, 0, String::new()).is_empty()
}

/// A param of a frame.
struct Param {
    /// The full name.
    name: String,
    value: String,
    /// The place of the value.
    at: usize,
    ty: Option<Type>,
}

/// Returns the params of a frame, except the one that names its schema.
fn params(text: &str, registry: &Registry) -> Vec<Param> {
    let (Ok(frame), Ok(scanned)) = (Frame::parse(text), Scanned::of_entry(text)) else {
        return Vec::new();
    };
    let schema = scanned.schema_in(registry);
    let mut end = scanned.start;
    let params = frame.payload.iter().map(|param| {
        let (key, value) = (&*param.key, param.value.as_str());
        let at = end + key.len() + 1;
        end = at + value.len() + 1;
        let field = schema.and_then(|schema| schema.field(key));
        let (name, ty) = match field {
            Some((_, field)) => (field.name.clone(), Some(field.ty.clone())),
            None => (full_name(key, schema).to_owned(), None),
        };
        let value = value.to_owned();
        Param {
            name,
            value,
            at,
            ty,
        }
    });
    params.filter(|param| param.name != "schema").collect()
}

impl Param {
    /// Returns the places of values with an extension, and the path to each.
    fn marked(self) -> Vec<(Range<usize>, String)> {
        let Self {
            name,
            value,
            at,
            ty,
        } = self;
        if ty.as_ref().is_some_and(is_text) {
            return Vec::new();
        }
        let whole = at..at + value.len();
        let marked = marks(&value, at, name.clone());
        if matches!(ty, Some(Type::Schema(_))) && !marked.is_empty() {
            // The keys inside this value have short names of another schema, which the path does
            // not use. So one reference replaces the whole value.
            return vec![(whole, name)];
        }
        marked
    }
}

/// Returns whether all strings of the type are in the text form, where a `"` is a character like others.
fn is_text(ty: &Type) -> bool {
    match ty {
        Type::Text => true,
        Type::List(of) | Type::Map(of) => is_text(of),
        _ => false,
    }
}

/// Returns the places in a value that have an extension, counted from `from`, and the path to each.
fn marks(value: &str, from: usize, path: String) -> Vec<(Range<usize>, String)> {
    let mut walk = Walk {
        text: value.as_bytes(),
        at: 0,
        marked: Vec::new(),
    };
    walk.value(path);
    let marked = walk.marked.into_iter();
    marked
        .map(|(range, path)| (from + range.start..from + range.end, path))
        .collect()
}

/// A walk through a value that keeps to the grammar.
struct Walk<'t> {
    text: &'t [u8],
    at: usize,
    marked: Vec<(Range<usize>, String)>,
}

impl Walk<'_> {
    fn value(&mut self, path: String) {
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let is_marked = match rest.first() {
            Some(b'{') if rest.starts_with(b"{_:") => {
                let before = self.marked.len();
                self.members(&path);
                self.marked.truncate(before);
                true
            }
            Some(b'[' | b'{') => {
                self.members(&path);
                false
            }
            first => {
                while let Some(byte) = self.text.get(self.at)
                    && !matches!(byte, b',' | b']' | b'}')
                {
                    self.at += if *byte == b'\\' { 2 } else { 1 };
                }
                matches!(first, Some(b'"' | b'#'))
            }
        };
        if is_marked {
            self.marked.push((start..self.at, path));
        }
    }

    /// Walks through a list or a map.
    fn members(&mut self, path: &str) {
        let is_map = self.text.get(self.at) == Some(&b'{');
        self.at += 1;
        for index in 0.. {
            match self.text.get(self.at) {
                Some(b']' | b'}') => {
                    self.at += 1;
                    return;
                }
                Some(b',') => self.at += 1,
                Some(_) => {}
                None => return,
            }
            let name = if is_map {
                let start = self.at;
                let rest = &self.text[start..];
                let length = rest.iter().position(|byte| *byte == b':');
                let length = length.unwrap_or(rest.len());
                self.at += length + 1;
                String::from_utf8_lossy(&rest[..length]).into_owned()
            } else {
                index.to_string()
            };
            self.value(format!("{path}.{name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(params: &str) -> String {
        let registry = Registry::from_json(
            r#"{ "schemas": { "note": { "code": "N", "fields": ["text", "zip", "list", "inner"],
                "types": { "text": "text", "zip": "string", "list": "[text]", "inner": "N" } } } }"#,
        );
        let head = "@a>req:note{";
        let text: Arc<str> = format!("{head}{params}}}[mid:m1,seq:1]").into();
        let shown = referred(&text, 57, &registry.unwrap(), Limits::NONE);
        let shown = shown
            .strip_prefix(head)
            .and_then(|shown| shown.strip_suffix("}[mid:m1,seq:1]"));
        shown.unwrap().to_owned()
    }

    #[test]
    fn what_is_ours_is_a_reference_to_its_place() {
        insta::assert_snapshot!(shown(r#"q:"hello_world|n:7"#), @"q:$cold.p57.query|n:7");
        insta::assert_snapshot!(shown(r#"a:[x,"a_b,#1.12345678,{k:"7}]|b:x"#), @"a:[x,$cold.p57.a.1,$cold.p57.a.2,{k:$cold.p57.a.3.k}]|b:x");
        insta::assert_snapshot!(shown(r#"a:{_:[[first-name,"b_c]]}|b:[]|c:{}"#), @"a:$cold.p57.a|b:[]|c:{}");
        // A field that the registry declares as text needs no mark, so a `"` is part of its value.
        insta::assert_snapshot!(shown(r#"text:"hi"|zip:"94107|list:["a,b]|schema:N"#), @r#"text:"hi"|zip:$cold.p57.zip|list:["a,b]|schema:N"#);
        insta::assert_snapshot!(shown(r#"inner:{zip:"94107}|schema:N"#), @"inner:$cold.p57.inner|schema:N");
        let draft = r"a:x|b:[1,2.5,{k:~}]|c:\[\\\],@b,$cold.k101_1|d:true";
        assert_eq!(shown(draft), draft);
    }

    #[test]
    fn a_text_stands_in_the_place_of_its_reference() {
        let registry = Registry::from_json(
            r#"{ "schemas": { "note": { "code": "N", "fields": ["text"], "types": { "text": "text" } } } }"#,
        );
        let registry = registry.unwrap();
        let put = |text: &str, value: &str| {
            let at = text.find('$').unwrap();
            in_place(text, at, value, &registry)
        };
        let typed = "@a>req:note{b:1|text:$cold.k101_1|schema:N}[mid:m1,seq:1]";
        assert_eq!(
            put(typed, r#""hello_world"#).as_deref(),
            Some("hello_world")
        );
        assert_eq!(put(typed, "snake_case").as_deref(), Some("snake__case"));
        assert_eq!(put(typed, r#"""#).as_deref(), Some("%"));
        let untyped = "@a>req:note{b:1|text:$cold.k101_1}[mid:m1,seq:1]";
        assert_eq!(put(untyped, r#""hello_world"#), None);
        assert_eq!(put(untyped, "snake_case").as_deref(), Some("snake_case"));
    }
}
