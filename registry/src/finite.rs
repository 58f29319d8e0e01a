//! Finds schemas whose values never end, because each record would have to contain another record.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::model::{Field, Registry, Schema};
use crate::problem::Problem;
use crate::protocol::NO_HEAD;
use crate::types::Type;

/// A required field that holds a record, and the code of the record's schema.
type Need<'r> = (&'r Field, &'r str);

/// Returns the records that a record must contain: a list for each variant of a union.
fn needs(schema: &Schema) -> Vec<Vec<Need<'_>>> {
    fn of<'r, S: AsRef<str>>(schema: &'r Schema, head: &[S]) -> Vec<Need<'r>> {
        let fields = schema.fields.iter();
        let fields = fields.filter(|field| schema.requires(field, head));
        let records = fields.filter_map(|field| match &field.ty {
            // A list or a map may be empty.
            Type::Schema(code) => Some((field, code.as_str())),
            _ => None,
        });
        records.collect()
    }
    if schema.variants.is_empty() {
        return vec![of(schema, NO_HEAD)];
    }
    let variants = schema.variants.iter();
    variants.map(|variant| of(schema, &variant.head)).collect()
}

/// Returns the schemas without a finite value, because each record would have to contain a record of the same schema.
/// Each cycle is one mistake. It is reported at the schema of the cycle whose name comes first.
pub(crate) fn endless(registry: &Registry) -> Vec<(String, Problem)> {
    let mut finite = BTreeSet::new();
    loop {
        let before = finite.len();
        for schema in registry.schemas() {
            let ends = |needs: &Vec<Need<'_>>| needs.iter().all(|(_, code)| finite.contains(code));
            if needs(schema).iter().any(ends) {
                finite.insert(schema.code.as_str());
            }
        }
        if finite.len() == before {
            break;
        }
    }
    let mut problems = Vec::new();
    let mut reported = BTreeSet::new();
    for schema in registry.schemas() {
        let mut path: Vec<(&Schema, &Field)> = Vec::new();
        let mut next = Some(schema);
        while let Some(schema) = next.filter(|schema| !finite.contains(schema.code.as_str())) {
            let mut all = needs(schema).into_iter().flatten();
            let Some((field, code)) = all.find(|(_, code)| !finite.contains(code)) else {
                break;
            };
            if path.iter().any(|(known, _)| known.code == schema.code) {
                break;
            }
            path.push((schema, field));
            next = registry.schema(code);
        }
        // A schema that only leads to a cycle is not part of it.
        let in_cycle = next.is_some_and(|last| last.code == schema.code);
        let mut codes = path.iter().map(|(schema, _)| schema.code.clone());
        let Some((_, field)) = path.first().filter(|_| in_cycle) else {
            continue;
        };
        if !codes.all(|code| reported.insert(code)) {
            continue;
        }
        let steps = path
            .iter()
            .map(|(schema, field)| format!("{}.{}", schema.name, field.name));
        let steps: Vec<String> = steps.chain([schema.name.clone()]).collect();
        let list = if schema.union.is_some() {
            "variants"
        } else {
            "required"
        };
        let problem = Problem::new(
            format!("/schemas/{}/{list}", schema.name),
            format!(
                "a `{}` requires `{}`, and so holds a `{}` without end: {}",
                schema.name,
                field.name,
                schema.code,
                steps.join(" > ")
            ),
        );
        let cure = format!("take `{}` out of `required`, or make it a list", field.name);
        problems.push((schema.name.clone(), problem.cure(cure)));
    }
    problems
}
