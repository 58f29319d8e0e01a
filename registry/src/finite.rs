//! Finds schemas whose values never end, because each record would have to contain another record.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::model::{Field, FrameSpec, Registry, Schema};
use crate::problem::Problem;
use crate::protocol::NO_HEAD;
use crate::types::Type;

/// A required field that holds a record, and the code of the record's schema.
type Need<'r> = (&'r Field, &'r str);

/// The records that a record must contain: a list for each variant of a union.
type Needs<'r> = Vec<Vec<Need<'r>>>;

/// Returns the records that a record of this schema must contain.
fn needs(schema: &Schema) -> Needs<'_> {
    let records = schema.fields.iter().filter_map(|field| match &field.ty {
        // A list or a map may be empty.
        Type::Schema(code) => Some((field, code.as_str())),
        _ => None,
    });
    if schema.variants.is_empty() {
        let required = records.filter(|(field, _)| schema.requires(field, NO_HEAD));
        return vec![required.collect()];
    }
    let records: Vec<Need<'_>> = records.collect();
    let of = |variant: &FrameSpec| {
        let required = records.iter().filter(|(field, _)| variant.requires(field));
        required.copied().collect()
    };
    schema.variants.iter().map(of).collect()
}

/// Returns the schemas without a finite value, because each record would have to contain a record of the same schema.
/// Each cycle is one mistake. It is reported at the schema of the cycle whose name comes first.
pub(crate) fn endless(registry: &Registry) -> Vec<(String, Problem)> {
    let schemas = registry.schemas();
    let all: BTreeMap<&str, Needs<'_>> = schemas
        .map(|schema| (schema.code.as_str(), needs(schema)))
        .collect();
    let mut finite = BTreeSet::new();
    let mut open: Vec<(&str, &Needs<'_>)> = all.iter().map(|(code, all)| (*code, all)).collect();
    loop {
        let before = open.len();
        open.retain(|(code, all)| {
            let mut variants = all.iter();
            let ends = variants.any(|needs| needs.iter().all(|(_, code)| finite.contains(code)));
            if ends {
                finite.insert(*code);
            }
            !ends
        });
        if open.len() == before {
            break;
        }
    }
    let mut problems = Vec::new();
    let mut reported: BTreeSet<String> = BTreeSet::new();
    for schema in registry.schemas() {
        if reported.contains(&schema.code) {
            continue;
        }
        let mut path: Vec<(&Schema, &Field)> = Vec::new();
        let mut passed = BTreeSet::new();
        let mut next = Some(schema);
        while let Some(schema) = next.filter(|schema| !finite.contains(schema.code.as_str())) {
            let needs = all.get(schema.code.as_str()).into_iter();
            let mut needs = needs.flatten().flatten();
            let Some((field, code)) = needs.find(|(_, code)| !finite.contains(code)) else {
                break;
            };
            if !passed.insert(schema.code.as_str()) {
                break;
            }
            path.push((schema, *field));
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
