//! The names of a registry, chosen for another tokenizer.

use std::collections::BTreeMap;

use accp_frame::TokenCounter;
use accp_registry::{Problems, Registry, Type, abbreviate};
use serde_json::{Map, Value as Json, json};

use crate::names::{Taken, abbreviations, words};

/// A registry under new names.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The document of the registry.
    pub document: Json,
    /// The number of names that changed.
    pub changed: usize,
}

/// The registry is not sound under the new names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a default uses an abbreviation that would change; write its full name\n{0}")]
pub struct TuneError(#[from] Problems);

/// Chooses the codes and abbreviations of a registry again, for the tokenizer of `counter`. Each
/// new name costs the fewest tokens in its place; of equally cheap names the most readable is
/// taken.
///
/// # Errors
/// When the registry is not sound under the new names.
pub fn tune(registry: &Registry, counter: &impl TokenCounter) -> Result<Tuned, TuneError> {
    let standard = |code: &str| Registry::shared().schema(code).is_some();
    let mut taken = Taken::standard();
    let codes: BTreeMap<&str, String> = registry
        .schemas()
        .map(|schema| {
            // A schema that redefines a standard profile keeps the code of the profile.
            let code = if standard(&schema.code) {
                schema.code.clone()
            } else {
                taken.code(&words(&schema.name), counter)
            };
            (schema.code.as_str(), code)
        })
        .collect();
    let mut changed = codes.iter().filter(|(old, new)| *old != new).count();
    let mut document = registry.to_json();
    for schema in registry.schemas() {
        let names: Vec<String> = schema.fields.iter().map(|f| f.name.clone()).collect();
        let shorts = abbreviations(&names, counter);
        let (mut types, mut abbreviated) = (Map::new(), Map::new());
        for (field, short) in schema.fields.iter().zip(shorts) {
            let ty = renamed(&field.ty, &codes);
            // The type of the tag of a union follows from its variants.
            if schema.union.as_ref() != Some(&field.name) {
                types.insert(field.name.clone(), json!(ty.to_string()));
            }
            changed += usize::from(field.short != short);
            if short != abbreviate(&field.name).unwrap_or(&field.name) {
                abbreviated.insert(field.name.clone(), json!(short));
            }
        }
        let json = &mut document["schemas"][&schema.name];
        json["code"] = json!(codes.get(schema.code.as_str()));
        json["types"] = Json::Object(types);
        json["abbreviations"] = Json::Object(abbreviated);
    }
    document["tokenizer"] = json!(counter.name());
    Registry::from_json(&document.to_string())?;
    Ok(Tuned { document, changed })
}

/// Returns the type under the new codes.
fn renamed(ty: &Type, codes: &BTreeMap<&str, String>) -> Type {
    match ty {
        Type::List(item) => Type::List(Box::new(renamed(item, codes))),
        Type::Map(entry) => Type::Map(Box::new(renamed(entry, codes))),
        Type::Schema(code) => Type::Schema(codes.get(code.as_str()).unwrap_or(code).clone()),
        other => other.clone(),
    }
}
