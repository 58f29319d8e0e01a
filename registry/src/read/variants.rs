//! Reading the tag and the variants of a union.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::{Named, Reader};
use crate::json::child;
use crate::model::{FrameSpec, Schema};
use crate::problem::Problem;
use crate::types::{EnumValue, Type};

/// The keys of an entry of `variants`.
pub(super) const KEYS: &[&str] = &["name", "fields", "required", "doc"];

impl Reader<'_> {
    /// Reads `union` and `variants`. The tag is an enumeration of the names of the variants, and every record has it.
    pub(super) fn union(
        &mut self,
        at: &str,
        object: &Map<String, Value>,
        fields: &mut [Named],
        schema: &mut Schema,
    ) {
        let (union, variants) = (object.get("union"), object.get("variants"));
        if union.is_none() && variants.is_none() {
            return;
        }
        let place = child(at, "union");
        let Some(tag) = self.string(&place, union) else {
            if union.is_none() {
                let problem = Problem::new(child(at, "variants"), "only a union has variants");
                self.report(
                    problem.cure("add \"union\": \"kind\", the field that names the variant"),
                );
            }
            return;
        };
        let Some(index) = self.index(&place, &tag, fields) else {
            return;
        };
        self.alone(at, object, &fields[index], &tag);
        let list = self.variants(&child(at, "variants"), variants, fields, &tag);
        if list.is_empty() {
            let problem = Problem::new(&place, "this union has no variants");
            self.report(
                problem.cure(
                    "add \"variants\": [{ \"name\": \"a_name\", \"fields\": [\"a_field\"] }]",
                ),
            );
            return;
        }
        for named in fields.iter() {
            let name = &named.field.name;
            if !list.iter().any(|variant| variant.is_about(name)) {
                let problem = Problem::new(&named.at, format!("no variant has the field `{name}`"));
                self.report(problem.cure("name it in the `fields` of a variant, or remove it"));
            }
        }
        let field = &mut fields[index].field;
        field.required = true;
        field.ty = Type::Enum(
            list.iter()
                .flat_map(|variant| &variant.head)
                .map(|name| EnumValue {
                    name: name.clone(),
                    symbol: None,
                })
                .collect(),
        );
        schema.union = Some(tag);
        schema.variants = list;
    }

    /// Reports keys and attributes that a union cannot have.
    fn alone(&mut self, at: &str, object: &Map<String, Value>, tag: &Named, name: &str) {
        if !self.protocol.nests() {
            let noun = self.protocol.noun;
            let message = format!("a union nests, but the values of a {noun} cannot nest");
            self.report(
                Problem::new(child(at, "union"), message).cure("make frames of the variants"),
            );
        }
        let cures = [
            (
                "frames",
                "a union is nested: give a field of a frame its code as the type",
            ),
            (
                "required",
                "name the field in the `required` of the variants that need it",
            ),
            (
                "optional",
                "name the field in `fields`: a variant requires what its `required` names",
            ),
        ];
        for (key, cure) in cures {
            if object.contains_key(key) {
                let message = format!("a union has no `{key}`");
                self.report(Problem::new(child(at, key), message).cure(cure));
            }
        }
        for key in ["types", "defaults"] {
            let given = object.get(key).and_then(|given| given.get(name));
            if given.is_some() {
                let message = format!(
                    "`{name}` is the tag of the union, so it has the names of the variants alone"
                );
                let problem = Problem::new(child(&child(at, key), name), message);
                self.report(problem.cure("remove this entry"));
            }
        }
        if tag.field.inline {
            let message = format!("`{name}` is the tag of the union, and never long");
            self.report(Problem::new(child(at, "inline"), message).cure("remove it here"));
        }
    }

    fn variants(
        &mut self,
        at: &str,
        json: Option<&Value>,
        fields: &[Named],
        tag: &str,
    ) -> Vec<FrameSpec> {
        let mut variants: Vec<FrameSpec> = Vec::new();
        for (index, json) in self.array(at, json).iter().enumerate() {
            let at = child(at, index);
            let Some(object) = self.object(&at, Some(json)) else {
                continue;
            };
            self.known_keys(&at, object, KEYS);
            let Some(name) = self.string(&child(&at, "name"), object.get("name")) else {
                if !object.contains_key("name") {
                    let problem = Problem::new(&at, "the variant has no `name`");
                    self.report(problem.cure("add \"name\": \"a_name\""));
                }
                continue;
            };
            self.name(&child(&at, "name"), "name of a variant", &name);
            let mut variant = FrameSpec::new(&[&name]);
            variant.doc = self.string(&child(&at, "doc"), object.get("doc"));
            variant.required = self.of_variant(&at, "required", object, fields, tag);
            let mut own = self.of_variant(&at, "fields", object, fields, tag);
            let more = variant.required.iter().filter(|name| !own.contains(name));
            let more: Vec<String> = more.cloned().collect();
            own.extend(more);
            own.insert(0, tag.into());
            variant.fields = Some(own);
            if variants.iter().any(|other| other.head == variant.head) {
                let problem = Problem::new(&at, format!("the variant `{name}` stands twice"));
                self.report(problem.cure("make one entry of the two"));
                continue;
            }
            variants.push(variant);
        }
        variants
    }

    /// Reads a list of fields of a variant. The tag belongs to all variants, so no list names it.
    fn of_variant(
        &mut self,
        at: &str,
        key: &str,
        object: &Map<String, Value>,
        fields: &[Named],
        tag: &str,
    ) -> Vec<String> {
        let listed = self.field_names(&child(at, key), object.get(key), fields);
        let mut names = Vec::new();
        for (at, index) in listed {
            let name = &fields[index].field.name;
            if name == tag {
                let problem = Problem::new(at, format!("every variant has the tag `{name}`"));
                self.report(problem.cure("remove it here"));
            } else {
                names.push(name.clone());
            }
        }
        names
    }
}
