//! Arbitrary registries, as JSON that a person could have written.

use std::collections::BTreeMap;
use std::fmt;

use accp_registry::{Registry, Type};
use accp_runtime::{Map, Value};
use accp_tests::messages;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value as Json, json};

/// A registry, and the values of its defaults.
#[derive(Clone)]
pub(crate) struct Described {
    pub(crate) registry: Registry,
    pub(crate) json: Json,
    /// The default values, by the code of the schema and the name of the field.
    defaults: BTreeMap<(String, String), Value<'static>>,
}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.json)
    }
}

/// Codes of schemas, of several kinds. Some look like a number or like a name of a field.
const CODES: [&str; 5] = ["AB", "x", "9", "_", "priority"];
/// Names of fields. Some have a standard abbreviation.
const NAMES: [&str; 12] = [
    "priority", "data", "status", "note", "a", "B_2", "items", "assignee", "total", "007", "true",
    "findings",
];
/// Short names that a schema may give to its fields, one for each name.
const SHORTS: [&str; 12] = [
    "h", "j", "0", "_9", "Kk", "z_", "m", "g", "u", "w1", "null", "y",
];
/// Intents of applications that a session accepts.
const INTENTS: [&str; 6] = ["req", "done", "fail", "wait", "esc", "qry"];
const OPERATIONS: [&str; 5] = ["plan", "open_it", "x", "9", "Zz"];
const ENVELOPE: [&str; 7] = ["mid", "seq", "ts", "cid", "aid", "sid", "ttl"];

#[derive(Debug, Clone)]
struct FieldShape {
    name: usize,
    short: bool,
    ty: Option<String>,
    role: u8,
    inline: bool,
}

const REQUIRED: u8 = 1;
const OPTIONAL: u8 = 2;
const DEFAULTED: u8 = 3;

/// Returns the texts of types. Some name a schema.
fn ty() -> impl Strategy<Value = String> {
    let word = select(Type::WORDS).prop_map(str::to_owned);
    let schema = select(&CODES[..]).prop_map(str::to_owned);
    let listed = select(
        &[
            "enum(a,b)",
            "enum(up=+,down=-,flat)",
            r#"enum(q=",n=#x,p=|,e=\,t=true,~)"#,
        ][..],
    );
    let listed = listed.prop_map(str::to_owned);
    let word_of_an_enum = "[!-+.-<>-~-]{1,3}";
    let words = btree_set(word_of_an_enum, 1..4)
        .prop_map(|words| format!("enum({})", Vec::from_iter(words).join(",")));
    let leaf = prop_oneof![6 => word, 3 => schema, 2 => listed, 1 => words];
    let wrap = select(
        &[
            ("", ""),
            ("", ""),
            ("[", "]"),
            ("{", "}"),
            ("[{", "}]"),
            ("[[", "]]"),
            ("{[", "]}"),
        ][..],
    );
    (leaf, wrap).prop_map(|(leaf, (open, close))| format!("{open}{leaf}{close}"))
}

fn field() -> impl Strategy<Value = FieldShape> {
    let ty = prop::option::weighted(0.9, ty());
    (
        0..NAMES.len(),
        any::<bool>(),
        ty,
        0..=DEFAULTED,
        any::<bool>(),
    )
        .prop_map(|(name, short, ty, role, inline)| FieldShape {
            name,
            short,
            ty,
            role,
            inline,
        })
}

/// Returns an entry of `frames`, with two sets of fields as bits: the fields that the frame requires, and the
/// fields that the entry lists for the frame, if it lists any.
fn entry() -> impl Strategy<Value = (Json, u16, Option<u16>)> {
    let envelope = prop_oneof![
        2 => Just(Vec::new()),
        1 => subsequence(&ENVELOPE[..], 1..4),
    ];
    (
        select(&INTENTS[..]),
        select(&OPERATIONS[..]),
        any::<u16>(),
        prop::option::of(any::<u16>()),
        envelope,
    )
        .prop_map(|(intent, operation, required, about, envelope)| {
            let json = json!({ "intent": intent, "operation": operation, "envelope": envelope });
            (json, required & required.rotate_left(5), about)
        })
}

/// Returns a schema, which may be a union.
fn schema(is_any: bool) -> impl Strategy<Value = (Vec<FieldShape>, Json)> {
    let one = (vec(field(), 1..7), vec(entry(), 0..3)).prop_map(|(mut fields, entries)| {
        let mut seen = Vec::new();
        fields.retain(|field| {
            !seen.contains(&field.name) && {
                seen.push(field.name);
                true
            }
        });
        let names = |what: &dyn Fn(&FieldShape) -> bool| -> Vec<&str> {
            let chosen = fields.iter().filter(|field| what(field));
            chosen.map(|field| NAMES[field.name]).collect()
        };
        let has = |bits: u16, field: &FieldShape| bits & (1 << field.name) != 0;
        let mut frames: Vec<Json> = Vec::new();
        for (mut entry, required, about) in entries {
            let is_there = |other: &Json| {
                other["intent"] == entry["intent"] && other["operation"] == entry["operation"]
            };
            if frames.iter().any(is_there) {
                continue;
            }
            entry["required"] = json!(names(&|field| has(required, field)));
            if let Some(about) = about {
                entry["fields"] = json!(names(&|field| has(about, field)));
            }
            frames.push(entry);
        }
        let types = fields
            .iter()
            .filter_map(|field| Some((NAMES[field.name], field.ty.clone()?)));
        let short = fields.iter().filter(|field| field.short);
        let short = short.map(|field| (NAMES[field.name], SHORTS[field.name]));
        let json = json!({
            "fields": names(&|field| field.role != OPTIONAL),
            "optional": names(&|field| field.role == OPTIONAL),
            "required": names(&|field| field.role == REQUIRED),
            "inline": names(&|field| field.inline),
            "types": types.collect::<BTreeMap<_, _>>(),
            "abbreviations": short.collect::<BTreeMap<_, _>>(),
            "frames": frames,
        });
        (fields, json)
    });
    let variants = prop::option::weighted(0.4, vec(variant(), 1..4));
    (one, variants).prop_map(move |((mut fields, mut json), variants)| {
        if let Some(variants) = variants.filter(|_| is_any) {
            json = union(&mut fields, &json, &variants);
        }
        (fields, json)
    })
}

/// Returns the name of a variant, with two sets of fields as bits: those that the variant has, and those that it
/// requires.
fn variant() -> impl Strategy<Value = (&'static str, u16, u16)> {
    let name = select(&["card", "true", "007", "B_2", "x"][..]);
    (name, any::<u16>(), any::<u16>())
}

/// Makes a union of a schema: its first field is the tag.
fn union(fields: &mut [FieldShape], json: &Json, variants: &[(&str, u16, u16)]) -> Json {
    let (tag, others) = fields.split_first_mut().expect("a schema has a field");
    (tag.role, tag.inline, tag.ty) = (0, false, None);
    for field in others.iter_mut().filter(|field| field.role != DEFAULTED) {
        field.role = 0;
    }
    let mut taken = Vec::new();
    let names = |wanted: &dyn Fn(&FieldShape) -> bool| -> Vec<&str> {
        let wanted = others.iter().filter(|field| wanted(field));
        wanted.map(|field| NAMES[field.name]).collect()
    };
    let mut list = Vec::new();
    for (name, about, required) in variants {
        if taken.contains(name) {
            continue;
        }
        taken.push(*name);
        // The first variant has all fields, so that each field is in a variant.
        let about = if list.is_empty() {
            u16::MAX
        } else {
            about & about.rotate_left(3)
        };
        let has = |bits: u16, field: &FieldShape| bits & (1 << field.name) != 0;
        list.push(json!({
            "name": name,
            "fields": names(&|field| has(about, field)),
            "required": names(&|field| has(about & required & required.rotate_left(5), field)),
        }));
    }
    let mut json = json.clone();
    let tag = NAMES[tag.name];
    let all: Vec<&str> = [tag].into_iter().chain(names(&|_| true)).collect();
    json["fields"] = json!(all);
    json["union"] = tag.into();
    json["variants"] = list.into();
    json["types"].as_object_mut().unwrap().remove(tag);
    json["inline"] = json!(names(&|field| field.inline));
    for key in ["optional", "required", "frames"] {
        json.as_object_mut().unwrap().remove(key);
    }
    json
}

/// Returns any registry whose defaults are of the types of their fields.
pub(crate) fn registry() -> impl Strategy<Value = Described> {
    // One schema at least has frames.
    (schema(false), vec(schema(true), CODES.len() - 1))
        .prop_map(|(first, others)| std::iter::once(first).chain(others).collect::<Vec<_>>())
        .prop_filter_map("records without end", |schemas| {
            let mut document = json!({ "schemas": {} });
            for ((_, schema), code) in schemas.iter().zip(CODES) {
                document["schemas"][format!("schema_{code}")] = schema.clone();
                document["schemas"][format!("schema_{code}")]["code"] = code.into();
            }
            match Registry::from_json(&document.to_string()) {
                Ok(registry) => Some((schemas, document, registry)),
                Err(problems) => {
                    let text = problems.to_string();
                    assert!(text.contains("without end"), "{document}\n{problems}");
                    None
                }
            }
        })
        .prop_flat_map(|(schemas, document, registry)| {
            let mut defaults = Vec::new();
            for ((fields, _), code) in schemas.iter().zip(CODES) {
                for field in fields.iter().filter(|field| field.role == DEFAULTED) {
                    let name = NAMES[field.name];
                    let (_, field) = registry.schema(code).unwrap().field(name).unwrap();
                    let value = messages::value(&registry, &field.ty, 2);
                    defaults.push((Just((code, name)), value));
                }
            }
            (Just(document), defaults)
        })
        .prop_map(|(document, defaults)| described(document, defaults))
}

/// Adds the defaults that the registry accepts. It accepts no default that is a reference, or that
/// contains itself.
fn described(
    document: Json,
    candidates: Vec<((&'static str, &'static str), Value<'static>)>,
) -> Described {
    let mut described = Described {
        registry: Registry::from_json(&document.to_string()).unwrap(),
        json: document,
        defaults: BTreeMap::new(),
    };
    for ((code, name), value) in candidates {
        let default = value.to_json();
        // JSON cannot represent a decimal that a float cannot represent, so such a value cannot be
        // a default.
        if messages::holds_reference(&value) || Value::from_json(&default) != value {
            continue;
        }
        let mut json = described.json.clone();
        json["schemas"][format!("schema_{code}")]["defaults"][name] = default;
        if let Ok(registry) = Registry::from_json(&json.to_string()) {
            (described.registry, described.json) = (registry, json);
            described
                .defaults
                .insert((code.to_owned(), name.to_owned()), value);
        }
    }
    described
}

impl Described {
    /// Returns the payload as a reader has it: with the defaults of this frame, and of all records
    /// in it.
    pub(crate) fn completed(
        &self,
        payload: &Map<'static>,
        code: &str,
        head: &[&str],
    ) -> Map<'static> {
        let schema = self.registry.schema(code).unwrap();
        let mut whole: Map<'static> = Map::new();
        for (name, value) in payload.iter() {
            let ty = schema.field(name).map(|(_, field)| &field.ty);
            let value = ty.map_or_else(|| value.clone(), |ty| self.complete(value, ty));
            whole.insert(name.to_owned(), value);
        }
        for (index, field) in schema.fields.iter().enumerate() {
            if whole.get(&field.name).is_none() && schema.has_default(index, head) {
                let key = (code.to_owned(), field.name.clone());
                let default = self.complete(&self.defaults[&key], &field.ty);
                whole.insert(field.name.clone(), default);
            }
        }
        whole
    }

    fn complete(&self, value: &Value<'static>, ty: &Type) -> Value<'static> {
        match (value, ty) {
            (Value::Array(items), Type::List(ty)) => {
                let items = items.iter().map(|item| self.complete(item, ty));
                Value::Array(items.collect())
            }
            (Value::Map(map), Type::Map(ty)) => {
                let complete = |(key, item): (&str, &Value<'static>)| {
                    (key.to_owned(), self.complete(item, ty))
                };
                Value::Map(map.iter().map(complete).collect())
            }
            (Value::Map(map), Type::Schema(code)) => {
                let head = messages::variant_of(map, self.registry.schema(code).unwrap());
                let head: Vec<&str> = head.iter().map(String::as_str).collect();
                Value::Map(self.completed(map, code, &head))
            }
            _ => value.clone(),
        }
    }
}
