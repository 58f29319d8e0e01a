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

/// A schema of a cycle, and its field that leads to the next schema.
type Step<'r> = (&'r Schema, &'r Field);

/// Returns the codes of the schemas that have a finite value. Each need is looked at once.
fn finite<'r>(all: &BTreeMap<&'r str, (&'r Schema, Needs<'r>)>) -> BTreeSet<&'r str> {
    // For each variant: its schema, and how many of its records are not known to be finite.
    let mut variants: Vec<(&str, usize)> = Vec::new();
    // For each code: the variants that must contain its record.
    let mut users: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (code, (_, needs)) in all {
        for needs in needs {
            for (_, needed) in needs {
                users.entry(*needed).or_default().push(variants.len());
            }
            variants.push((*code, needs.len()));
        }
    }
    let ends = variants.iter().filter(|(_, open)| *open == 0);
    let mut next: Vec<&str> = ends.map(|(code, _)| *code).collect();
    let mut finite = BTreeSet::new();
    while let Some(code) = next.pop() {
        if !finite.insert(code) {
            continue;
        }
        for at in users.remove(code).unwrap_or_default() {
            if let Some((user, open)) = variants.get_mut(at) {
                *open = open.saturating_sub(1);
                if *open == 0 {
                    next.push(*user);
                }
            }
        }
    }
    finite
}

/// Returns the schemas without a finite value, because each record would have to contain a record of the same schema.
/// Each cycle is one mistake. It is reported at the schema of the cycle whose name comes first.
pub(crate) fn endless(registry: &Registry) -> Vec<(String, Problem)> {
    let schemas = registry.schemas();
    let all: BTreeMap<&str, (&Schema, Needs<'_>)> = schemas
        .map(|schema| (schema.code.as_str(), (schema, needs(schema))))
        .collect();
    let finite = finite(&all);
    // Each schema leads to one other schema, so no schema has to be passed twice.
    let mut passed = BTreeSet::new();
    let mut cycles: BTreeMap<&str, Vec<Step<'_>>> = BTreeMap::new();
    for schema in registry.schemas() {
        let mut path: Vec<Step<'_>> = Vec::new();
        let mut code = schema.code.as_str();
        while !finite.contains(code) && passed.insert(code) {
            let Some((schema, needs)) = all.get(code) else {
                break;
            };
            let mut needs = needs.iter().flatten();
            let Some((field, next)) = needs.find(|(_, next)| !finite.contains(next)) else {
                break;
            };
            path.push((*schema, *field));
            code = *next;
        }
        // A schema that only leads to a cycle is not part of it.
        let Some(start) = path.iter().position(|(schema, _)| schema.code == code) else {
            continue;
        };
        let mut cycle = path.split_off(start);
        let first = cycle.iter().enumerate();
        let first = first.min_by_key(|(_, (schema, _))| schema.name.as_str());
        let (at, name) = first.map_or((0, ""), |(at, (schema, _))| (at, schema.name.as_str()));
        cycle.rotate_left(at);
        cycles.insert(name, cycle);
    }
    cycles.values().filter_map(|cycle| problem(cycle)).collect()
}

/// Returns the name of the first schema of a cycle, and what is wrong with it.
fn problem(cycle: &[Step<'_>]) -> Option<(String, Problem)> {
    let (schema, field) = *cycle.first()?;
    let steps = cycle
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
    Some((schema.name.clone(), problem.cure(cure)))
}
