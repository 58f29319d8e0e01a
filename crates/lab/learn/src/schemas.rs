//! Schemas of a registry, made from the shapes that save tokens.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use accp_context::view::View;
use accp_frame::TokenCounter as _;
use accp_registry::lexical::is_key;
use accp_registry::{Registry, Type, abbreviate};
use accp_tokens::Bpe;
use serde_json::{Map, Value as Json, json};

use crate::corpus::Corpus;
use crate::cost::{self, Earned, Totals, totals};
use crate::declared::Kind;
use crate::learnt::{LearnError, Learnt};
use crate::names::{Taken, abbreviations};
use crate::needs::Needs;
use crate::places::Step;
use crate::titles;
use crate::traces::{Part, Root};
use crate::values::Declares;

/// The fewest records and conversations of a shape before a field that every record has counts
/// as required.
const ALWAYS: (usize, usize) = (20, 3);

/// Chooses the shapes that save `min_saving` tokens, and makes a registry of them.
pub(crate) fn chosen(
    corpus: &Corpus<'_>,
    needs: &Needs,
    min_saving: i64,
    counter: Bpe,
) -> Result<Learnt, LearnError> {
    let kept = needs.kept(corpus);
    let mut maker = Maker::new(corpus, needs, &kept, counter);
    let mut left_out: BTreeSet<usize> = BTreeSet::new();
    loop {
        maker.choose(&left_out);
        let registry = maker.registry(&[])?;
        let view = View::new(Arc::new(registry));
        let earned = maker.earned(&view);
        let is_poor =
            |shape: &usize| maker.codes[*shape].is_some() && earned[*shape].net() < min_saving;
        let mut out: BTreeSet<usize> = (0..earned.len()).filter(is_poor).collect();
        if out.is_empty() {
            out = maker.without_rust_names(view.registry())?;
        }
        if out.is_empty() {
            let totals = totals(corpus, &view, &counter);
            return maker.learnt(earned, totals);
        }
        // Without the shapes in `out`, the others may get better codes and save more tokens, so the
        // choice begins again.
        left_out.extend(out);
    }
}

/// Makes schemas of shapes.
struct Maker<'m> {
    corpus: &'m Corpus<'m>,
    needs: &'m Needs,
    kept: &'m [Option<BTreeSet<usize>>],
    counter: Bpe,
    /// The number of arguments and of results of each tool.
    events: BTreeMap<&'m Root, usize>,
    /// The code of each shape; `None` for a shape without a schema.
    codes: Vec<Option<String>>,
    names: Vec<String>,
}

impl<'m> Maker<'m> {
    fn new(
        corpus: &'m Corpus<'m>,
        needs: &'m Needs,
        kept: &'m [Option<BTreeSet<usize>>],
        counter: Bpe,
    ) -> Self {
        let shapes = corpus.index.shapes.list.len();
        let mut events = BTreeMap::new();
        for event in corpus
            .index
            .traces
            .conversations
            .iter()
            .flat_map(|one| &one.events)
        {
            *events.entry(&event.root).or_default() += 1;
        }
        Self {
            corpus,
            needs,
            kept,
            counter,
            events,
            codes: vec![None; shapes],
            names: vec![String::new(); shapes],
        }
    }

    /// Gives names and codes to the shapes that are not left out, the most frequent shapes first.
    fn choose(&mut self, left_out: &BTreeSet<usize>) {
        let corpus = self.corpus;
        let shapes = &corpus.index.shapes.list;
        let mut order: Vec<usize> = (0..shapes.len()).collect();
        order.retain(|shape| !left_out.contains(shape));
        order.sort_by_key(|shape| (Reverse(shapes[*shape].seen), &shapes[*shape].keys));
        let mut taken = Taken::standard();
        self.codes.fill(None);
        for shape in order {
            let name = taken.name(&titles::names(corpus, shape));
            self.codes[shape] = Some(taken.code(&name, &self.counter));
            self.names[shape] = name.join("_");
        }
    }

    /// Returns the savings of each shape.
    fn earned(&self, view: &View) -> Vec<Earned> {
        let mut earned = cost::earned(self.corpus, &self.codes, view, &self.counter);
        for (earned, name) in earned.iter_mut().zip(&self.names) {
            earned.name.clone_from(name);
        }
        earned
    }

    /// Returns the registry with the evidence in its docs.
    fn learnt(&self, earned: Vec<Earned>, totals: Totals) -> Result<Learnt, LearnError> {
        let registry = self.registry(&earned)?;
        let mut earned: Vec<Earned> = earned
            .into_iter()
            .zip(&self.codes)
            .filter_map(|(earned, code)| code.as_ref().map(|_| earned))
            .collect();
        earned.sort_by(|a, b| (b.net(), &a.name).cmp(&(a.net(), &b.name)));
        Ok(Learnt {
            registry,
            earned,
            totals,
        })
    }

    /// Returns the default of a field: a value that nearly all records have. A field that a later
    /// call needs has no default, because a value that is left out cannot be looked up.
    fn default(&self, shape: usize, field: usize) -> Option<Json> {
        let is_kept = self.kept[shape]
            .as_ref()
            .is_some_and(|kept| kept.contains(&field));
        if is_kept || self.needs.is_used((shape, field)) || self.is_call(shape) {
            return None;
        }
        let ty = self.ty(shape, field);
        let default =
            self.corpus.fields[shape][field].dominant(self.corpus.index.shapes.list[shape].seen)?;
        match (&ty, &default) {
            (Type::String | Type::Enum(_), Json::String(_))
            | (Type::Integer, Json::Number(_))
            | (Type::Boolean, Json::Bool(_)) => Some(default),
            _ => None,
        }
    }

    /// Returns whether records of this shape are the arguments of a tool.
    fn is_call(&self, shape: usize) -> bool {
        let mut places = self.corpus.index.shapes.list[shape].places.keys();
        places.any(|place| {
            let step = &self.corpus.index.places.get(*place).step;
            matches!(step, Step::Root(root) if root.part == Part::Arguments)
        })
    }

    /// Returns the declarations of the tools for a field: the place, the declaration, and whether
    /// the tool requires the field.
    fn declared(
        &self,
        shape: usize,
        field: usize,
    ) -> impl Iterator<Item = (usize, &'m crate::declared::Declared, bool)> {
        let shape = &self.corpus.index.shapes.list[shape];
        let key = &shape.keys[field];
        shape.places.keys().filter_map(move |place| {
            match &self.corpus.index.places.get(*place).declared.as_ref()?.kind {
                Kind::Object { fields, required } => {
                    let (_, declared) = fields.iter().find(|(name, _)| name == key)?;
                    Some((*place, declared, required.contains(key)))
                }
                _ => None,
            }
        })
    }

    fn ty(&self, shape: usize, field: usize) -> Type {
        let values = &self.corpus.fields[shape][field];
        let code = |shape: usize| self.codes[shape].clone();
        let code_at = |place: usize| {
            let sets = &self.corpus.index.places.sets;
            let set = sets.iter().position(|set| set.declared.contains(&place))?;
            code(self.corpus.index.shapes.of_set(set)?)
        };
        let declares = Declares {
            index: &self.corpus.index,
            code_at,
        };
        let key = &self.corpus.index.shapes.list[shape].keys[field];
        let mut ty = values.ty(&code);
        for (place, declared, _) in self.declared(shape, field) {
            let below = self.corpus.index.places.key(place, key);
            ty = declares.join(ty, values, declared, below);
        }
        ty
    }

    /// Makes the registry, with the evidence in the docs where it is known.
    fn registry(&self, earned: &[Earned]) -> Result<Registry, LearnError> {
        let mut schemas = Map::new();
        for (shape, code) in self.codes.iter().enumerate() {
            if let Some(code) = code {
                let schema = self.schema(shape, code, earned.get(shape));
                schemas.insert(self.names[shape].clone(), schema);
            }
        }
        let document = json!({
            "version": 1,
            "tokenizer": self.counter.name(),
            "schemas": schemas,
        });
        Registry::from_json(&document.to_string()).map_err(LearnError::Unsound)
    }

    fn schema(&self, shape: usize, code: &str, earned: Option<&Earned>) -> Json {
        let of = &self.corpus.index.shapes.list[shape];
        let shorts = abbreviations(&of.keys, &self.counter);
        let (mut fields, mut optional, mut required) = (Vec::new(), Vec::new(), Vec::new());
        let (mut types, mut defaults) = (Map::new(), Map::new());
        let (mut abbreviated, mut docs) = (Map::new(), Map::new());
        for (field, key) in of.keys.iter().enumerate() {
            let values = &self.corpus.fields[shape][field];
            let is_rare = values.seen * 2 < of.seen;
            if is_rare { &mut optional } else { &mut fields }.push(key);
            types.insert(key.clone(), json!(self.ty(shape, field).to_string()));
            let declared: Vec<bool> = self.declared(shape, field).map(|(_, _, is)| is).collect();
            let by_tool = declared.iter().all(|required| *required) && !declared.is_empty();
            let is_always = values.seen == of.seen && values.nulls == 0;
            let is_proven = of.seen >= ALWAYS.0 && of.conversations.len() >= ALWAYS.1;
            if let Some(default) = self.default(shape, field) {
                defaults.insert(key.clone(), default);
            } else if is_always && (by_tool || (declared.is_empty() && is_proven)) {
                required.push(key);
            }
            if shorts[field] != abbreviate(key).unwrap_or(key) {
                abbreviated.insert(key.clone(), json!(shorts[field]));
            }
            if let Some(doc) = self
                .declared(shape, field)
                .find_map(|(_, field, _)| field.doc.clone())
            {
                docs.insert(key.clone(), json!(doc));
            }
        }
        let mut schema = json!({
            "code": code,
            "doc": earned.map_or_else(String::new, |earned| titles::doc(self.corpus, shape, earned)),
            "fields": fields,
            "optional": optional,
            "types": types,
            "defaults": defaults,
            "abbreviations": abbreviated,
            "required": required,
            "docs": docs,
            "frames": self.frames(shape, &required),
        });
        if let Some(kept) = &self.kept[shape] {
            schema["keep"] = kept.iter().map(|field| of.keys[*field].as_str()).collect();
        }
        schema
    }

    /// Returns the tools whose arguments or results mostly have this shape and can be frames of
    /// their own.
    fn carriers(&self, shape: usize) -> impl Iterator<Item = (&'m Root, usize)> {
        let places = self.corpus.index.shapes.list[shape].places.iter();
        places.filter_map(move |(place, seen)| {
            let Step::Root(root) = &self.corpus.index.places.get(*place).step else {
                return None;
            };
            let mut standard = Registry::shared().schemas();
            let is_standard =
                standard.any(|schema| schema.frame(&[intent(root), &*root.tool]).is_some());
            let is_main = match self.events.get(root) {
                Some(all) => seen * 2 > *all,
                // The tool was declared and never called, so no call shows another main place.
                None => true,
            };
            (is_key(&root.tool) && !is_standard && is_main).then_some((root, *place))
        })
    }

    /// Returns the frames that carry this shape.
    fn frames(&self, shape: usize, always: &[&String]) -> Vec<Json> {
        let of = &self.corpus.index.shapes.list[shape];
        let frames = self.carriers(shape).map(|(root, place)| {
            let mut frame = json!({ "intent": intent(root), "operation": root.tool });
            let declared = self.corpus.index.places.get(place).declared.as_ref();
            if let Some(Kind::Object { required, .. }) = declared.map(|declared| &declared.kind) {
                let is_required = |name: &&String| {
                    required.contains(*name)
                        && !always.contains(name)
                        && self.is_never_null(shape, name)
                };
                let required: Vec<&String> = of.keys.iter().filter(is_required).collect();
                if !required.is_empty() {
                    frame["required"] = json!(required);
                }
            }
            let about = self.keys_at(place, shape);
            if about.len() < of.keys.len() {
                frame["fields"] = json!(about);
            }
            let tool = self.corpus.index.traces.tools.get(&root.tool);
            if let Some(doc) = tool.and_then(|tool| tool.doc.as_ref()) {
                frame["doc"] = json!(match root.part {
                    Part::Arguments => doc.clone(),
                    Part::Result => format!("Answers: {doc}"),
                });
            }
            frame
        });
        frames.collect()
    }

    fn is_never_null(&self, shape: usize, key: &str) -> bool {
        let field = self.corpus.index.field(shape, key);
        field.is_some_and(|field| self.corpus.fields[shape][field].nulls == 0)
    }

    /// Returns the keys that records of a shape have in one place, in the order of the fields.
    fn keys_at(&self, place: usize, shape: usize) -> Vec<&String> {
        let sets = self.corpus.index.places.sets.iter().enumerate();
        let sets = sets.filter(|(at, set)| {
            self.corpus.index.shapes.of_set(*at) == Some(shape)
                && (set.places.contains_key(&place) || set.declared.contains(&place))
        });
        let keys: BTreeSet<&String> = sets.flat_map(|(_, set)| &set.keys).collect();
        let fields = self.corpus.index.shapes.list[shape].keys.iter();
        fields.filter(|key| keys.contains(key)).collect()
    }

    /// Returns the shapes that cannot become Rust types, because their Rust names would equal
    /// other names.
    fn without_rust_names(&self, registry: &Registry) -> Result<BTreeSet<usize>, LearnError> {
        let options = accp_build::Options {
            registry: Some("registry.json".to_owned()),
            ..accp_build::Options::default()
        };
        let faults = match accp_build::generate(registry, &options) {
            Ok(_) => return Ok(BTreeSet::new()),
            Err(accp_build::Error::Names(faults)) => faults,
            Err(other) => return Err(LearnError::Types(other.to_string())),
        };
        let by_name: BTreeMap<&str, usize> = self
            .names
            .iter()
            .enumerate()
            .map(|(shape, name)| (name.as_str(), shape))
            .collect();
        let names = faults
            .iter()
            .filter_map(|fault| fault.pointer.split('/').nth(2));
        Ok(names
            .filter_map(|name| by_name.get(name).copied())
            .collect())
    }
}

/// Returns the intent of the frames that carry the arguments or the result of a tool.
fn intent(root: &Root) -> &'static str {
    match root.part {
        Part::Arguments => "req",
        Part::Result => "done",
    }
}
