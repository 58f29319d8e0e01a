//! Strategies that generate texts of frames and packets, for property tests.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const DELIMITERS: &str = r"@>:{}[]|$,~\";

/// Returns wire texts of valid frames: escapes, every kind of value, nesting to the limit of 5,
/// empty lists, repeated keys, with and without metadata.
pub fn frame_text() -> impl Strategy<Value = String> {
    (
        "[A-Za-z0-9_-]{1,12}",
        "[A-Za-z]{1,8}",
        "[A-Za-z0-9_]{1,12}",
        vec(entry(value()), 0..6),
        proptest::option::of(vec(entry(value()), 1..7)),
    )
        .prop_map(|(agent, intent, operation, payload, metadata)| {
            let metadata = metadata.map_or(String::new(), |pairs| format!("[{}]", pairs.join(",")));
            let payload = payload.join("|");
            format!("@{agent}>{intent}:{operation}{{{payload}}}{metadata}")
        })
}

/// Returns the bytes of valid frames with a few bytes changed, inserted, removed, doubled, or cut off. Most results
/// are not frames, but are similar to a frame.
pub fn mutated() -> impl Strategy<Value = Vec<u8>> {
    mutations(frame_text(), DELIMITERS.as_bytes())
}

/// Returns the texts of packets: values with every mark but `|`, text beyond ASCII, empty values,
/// repeated keys.
pub fn packet_text() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        4 => "[A-Za-z0-9_.,:=/@-]{0,16}",
        1 => r"[^|\pC\p{Zl}\p{Zp}]{0,8}",
        1 => r"[ \u{A0}\u{E000}\u{FFFD}\u{10FFFF}]{0,4}",
    ];
    let key = prop_oneof!["[a-c]", "[A-Za-z][A-Za-z0-9_]{0,9}"];
    let field = (key, value).prop_map(|(key, value)| format!("|{key}:{value}"));
    let word = || "[A-Za-z0-9_-]{1,10}";
    (word(), word(), vec(field, 1..8))
        .prop_map(|(task, dom, fields)| format!("{task}|{dom}{}", fields.concat()))
}

/// Returns the bytes of packets with a few bytes changed, as [`mutated`] does for frames.
pub fn mutated_packet() -> impl Strategy<Value = Vec<u8>> {
    mutations(packet_text(), b"||::\n\r\t _")
}

fn mutations(
    text: impl Strategy<Value = String>,
    marks: &'static [u8],
) -> impl Strategy<Value = Vec<u8>> {
    (text, vec((any::<Index>(), edit(marks)), 1..4)).prop_map(|(text, edits)| {
        edits
            .into_iter()
            .fold(text.into_bytes(), |bytes, (index, edit)| {
                let at = index.index(bytes.len() + 1);
                let (before, after) = bytes.split_at(at);
                let rest = after.get(1..).unwrap_or_default();
                match edit {
                    Edit::Insert(byte) => [before, &[byte], after].concat(),
                    Edit::Replace(byte) => [before, &[byte], rest].concat(),
                    Edit::Remove => [before, rest].concat(),
                    Edit::Double => [before, after, after].concat(),
                    Edit::Cut => before.to_vec(),
                }
            })
    })
}

/// Returns one value as it stands in a frame, nested up to 5 deep.
pub fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => scalar(),
        1 => Just("~".to_owned()),
        1 => r"\$[A-Za-z0-9_.]{1,12}",
    ];
    leaf.prop_recursive(5, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|elements| format!("[{}]", elements.join(","))),
            vec(entry(inner), 0..4).prop_map(|entries| format!("{{{}}}", entries.join(","))),
        ]
    })
}

/// Returns one scalar as it stands in a frame: literals, strings that look almost like literals, and other strings.
pub fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "-?[0-9]{1,20}",
        2 => r"-?[0-9]{1,6}\.[0-9]{1,8}",
        2 => select(vec![
            "true", "false", "True", "truex", "false1", "-", "-0", "007", "1.", ".5", "1.2.3",
            "1e3", "12%", "--1", "-true", "+1", "%", "\"", "#", "#1e3", "#40.7127753", "null",
            r"\\", r"true\:", r"1\,2", r"-\~",
        ])
        .prop_map(str::to_owned),
        4 => vec(character(), 1..20).prop_map(|parts| parts.concat()),
    ]
}

/// Returns one character of a string: safe, or a delimiter with its escape. The strategy does not filter out
/// characters: with millions of cases, a filter would reject too many, and the test would fail.
fn character() -> impl Strategy<Value = String> {
    let (delimiters, safe): (Vec<char>, Vec<char>) =
        ('!'..='~').partition(|c| DELIMITERS.contains(*c));
    prop_oneof![
        3 => select(safe).prop_map(String::from),
        1 => select(delimiters).prop_map(|c| format!("\\{c}")),
    ]
}

fn entry(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (key(), value).prop_map(|(key, value)| format!("{key}:{value}"))
}

/// Returns keys, many of them short, so that some repeat.
fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]", "[A-Za-z0-9_]{1,10}"]
}

#[derive(Debug, Clone)]
enum Edit {
    Insert(u8),
    Replace(u8),
    Remove,
    Double,
    Cut,
}

fn edit(marks: &'static [u8]) -> impl Strategy<Value = Edit> {
    let byte = move || {
        prop_oneof![
            4 => select(marks),
            2 => b' '..=b'~',
            1 => any::<u8>(),
        ]
    };
    prop_oneof![
        4 => byte().prop_map(Edit::Insert),
        4 => byte().prop_map(Edit::Replace),
        4 => Just(Edit::Remove),
        1 => Just(Edit::Double),
        1 => Just(Edit::Cut),
    ]
}
