//! Writing a registry back as a document.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use crate::model::{Field, FrameSpec, Registry, Schema};
use crate::protocol::Protocol;

impl Registry {
    /// Returns the registry as a document of the same format, with types and abbreviations written
    /// out. Reading the document gives an equal registry.
    pub fn to_json(&self) -> Value {
        let mut document = json!({ "version": self.version });
        if let Some(tokenizer) = &self.tokenizer {
            document["tokenizer"] = json!(tokenizer);
        }
        let schemas = self.schemas.iter();
        document["schemas"] = schemas
            .map(|schema| (schema.name.clone(), schema.to_json(self.protocol)))
            .collect();
        document
    }
}

impl Schema {
    /// Returns the schema as an entry of a registry document, without its name.
    fn to_json(&self, protocol: &Protocol) -> Value {
        let mut out = self.shape(protocol);
        put(&mut out, "doc", self.doc.as_ref().map(|doc| json!(doc)));
        put_map(&mut out, "defaults", &self.fields, |f| f.default.clone());
        put_map(&mut out, "aliases", &self.fields, |f| {
            (!f.aliases.is_empty()).then(|| json!(f.aliases))
        });
        put_map(&mut out, "docs", &self.fields, |f| {
            f.doc.as_ref().map(|doc| json!(doc))
        });
        put_frames(&mut out, protocol, &self.frames);
        put_variants(&mut out, self, &self.variants);
        put(&mut out, "keep", self.keep.as_ref().map(|keep| json!(keep)));
        put(&mut out, "rules", self.rules.to_json());
        Value::Object(out)
    }

    /// Returns the part that the hash covers: the schema without docs, aliases, `keep`, `rules` and `to`,
    /// each default as its wire text.
    #[cfg(feature = "hash")]
    pub(crate) fn to_canonical(&self, protocol: &Protocol) -> Value {
        let mut out = self.shape(protocol);
        put_map(&mut out, "defaults", &self.fields, |f| {
            f.default_wire.as_ref().map(|wire| json!(wire))
        });
        let (mut frames, mut variants) = (self.frames.clone(), self.variants.clone());
        frames.sort_by(|a, b| a.head.cmp(&b.head));
        variants.sort_by(|a, b| a.head.cmp(&b.head));
        for frame in frames.iter_mut().chain(&mut variants) {
            (frame.doc, frame.to) = (None, None);
            frame.required.sort();
            frame.envelope.sort();
            frame.fields.iter_mut().for_each(|list| list.sort());
        }
        put_frames(&mut out, protocol, &frames);
        put_variants(&mut out, self, &variants);
        Value::Object(out)
    }

    /// Returns the members that are the same in `to_json` and `to_canonical`.
    fn shape(&self, protocol: &Protocol) -> Map<String, Value> {
        let mut out = Map::new();
        out.insert("code".into(), json!(self.code));
        out.insert("version".into(), json!(self.version));
        let is_tag = |field: &Field| self.union.as_ref() == Some(&field.name);
        let names = |wanted: &dyn Fn(&Field) -> bool| -> Value {
            let fields = self.fields.iter().filter(|field| wanted(field));
            fields.map(|field| json!(field.name)).collect()
        };
        out.insert("fields".into(), names(&|field| !field.optional));
        for (key, list) in [
            ("optional", names(&|field| field.optional)),
            ("required", names(&|field| field.required && !is_tag(field))),
            ("inline", names(&|field| field.inline)),
        ] {
            put(&mut out, key, (list != json!([])).then_some(list));
        }
        put_map(&mut out, "types", &self.fields, |f| {
            (!is_tag(f)).then(|| Value::String(alloc::format!("{}", f.ty)))
        });
        put_map(&mut out, "abbreviations", &self.fields, |f| {
            let implied = protocol.abbreviate(&f.name).unwrap_or(&f.name);
            (f.short != f.name || f.short != implied).then(|| json!(f.short))
        });
        out
    }
}

impl FrameSpec {
    fn to_json(&self, protocol: &Protocol) -> Value {
        let mut out = Map::new();
        for (part, word) in protocol.head.iter().zip(&self.head) {
            out.insert(part.name.into(), json!(word));
        }
        for (key, list) in [("required", &self.required), ("envelope", &self.envelope)] {
            put(&mut out, key, (!list.is_empty()).then(|| json!(list)));
        }
        put(
            &mut out,
            "fields",
            self.fields.as_ref().map(|list| json!(list)),
        );
        put(&mut out, "to", self.to.as_ref().map(|to| json!(to)));
        put(&mut out, "doc", self.doc.as_ref().map(|doc| json!(doc)));
        Value::Object(out)
    }
}

fn put_frames(out: &mut Map<String, Value>, protocol: &Protocol, frames: &[FrameSpec]) {
    let frames = frames.iter().map(|frame| frame.to_json(protocol));
    let frames: Vec<Value> = frames.collect();
    put(out, "frames", (!frames.is_empty()).then(|| frames.into()));
}

fn put_variants(out: &mut Map<String, Value>, schema: &Schema, variants: &[FrameSpec]) {
    let Some(tag) = &schema.union else {
        return;
    };
    let variants = variants.iter().map(|variant| {
        let mut entry = Map::new();
        let name = variant.head.first();
        put(&mut entry, "name", name.map(|name| json!(name)));
        let fields = variant.fields.iter().flatten();
        let fields: Vec<&String> = fields.filter(|name| *name != tag).collect();
        put(
            &mut entry,
            "fields",
            (!fields.is_empty()).then(|| json!(fields)),
        );
        let required = &variant.required;
        put(
            &mut entry,
            "required",
            (!required.is_empty()).then(|| json!(required)),
        );
        put(
            &mut entry,
            "doc",
            variant.doc.as_ref().map(|doc| json!(doc)),
        );
        Value::Object(entry)
    });
    let variants = variants.collect();
    put(out, "union", Some(json!(tag)));
    put(out, "variants", Some(variants));
}

fn put(out: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        out.insert(key.to_owned(), value);
    }
}

/// Puts an object under `key`. The object has the value that `of` gives for each field. An empty object is left out.
fn put_map(
    out: &mut Map<String, Value>,
    key: &str,
    fields: &[Field],
    of: impl Fn(&Field) -> Option<Value>,
) {
    let entries = fields.iter().filter_map(|f| Some((f.name.clone(), of(f)?)));
    let entries: Map<String, Value> = entries.collect();
    put(
        out,
        key,
        (!entries.is_empty()).then_some(Value::Object(entries)),
    );
}
