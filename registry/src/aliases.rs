//! The aliases of fields: keys that a reader accepts for a field, and that no writer uses.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use crate::json::child;
use crate::model::Field;
use crate::problem::Problem;
use crate::reader::Reader;

impl Reader<'_> {
    /// Reads an object with a list of aliases for each field, and gives them to the fields.
    ///
    /// An alias is often the old name of a field. A peer that knew the field by that name wrote its standard
    /// abbreviation. So the standard abbreviation of an alias is an alias too, unless the key already has a meaning.
    pub(crate) fn aliases(&mut self, at: &str, json: Option<&Value>, mut fields: Vec<&mut Field>) {
        let mut given: BTreeMap<usize, (String, &Value)> = BTreeMap::new();
        for (name, list) in self.object(at, json).into_iter().flatten() {
            let at = child(at, name);
            if let Some(index) = fields.iter().position(|field| field.name == *name) {
                given.insert(index, (at, list));
            } else {
                let problem = Problem::new(at, format!("there is no field `{name}`"));
                let known = || fields.iter().map(|field| field.name.as_str());
                let problem = self.suggest(problem, name, "fields", known);
                self.report(problem);
            }
        }
        for (index, (at, list)) in &given {
            for (at, alias) in self.strings(at, Some(list)) {
                if let Some((message, cure)) = self.clash(alias, &fields[*index].name, &fields) {
                    self.report(Problem::new(at, message).cure(cure));
                } else {
                    self.name(&at, "alias", alias);
                    fields[*index].aliases.push(alias.to_owned());
                }
            }
        }
        for index in given.into_keys() {
            for alias in fields[index].aliases.clone() {
                let implied = self.protocol.abbreviate(&alias);
                if let Some(short) = implied.filter(|short| meaning(short, &fields).is_none()) {
                    fields[index].aliases.push(short.to_owned());
                }
            }
        }
    }

    /// Returns why a key cannot be an alias of a field, and the cure; `None` if the key can be one.
    fn clash(&self, alias: &str, of: &str, fields: &[&mut Field]) -> Option<(String, String)> {
        if let Some(use_of) = self.protocol.reserved(alias) {
            return Some((
                format!("an alias cannot be `{alias}`"),
                format!("`{alias}` {use_of}; remove the alias"),
            ));
        }
        let (field, what) = meaning(alias, fields)?;
        let name = &field.name;
        if *name == of {
            let message = format!("`{alias}` is {what} of `{of}` already");
            return Some((message, "remove the alias".to_owned()));
        }
        let message = match what {
            "the name" => format!("the alias `{alias}` of `{of}` is the name of a field"),
            what => format!("the alias `{alias}` of `{of}` is {what} of `{name}`"),
        };
        let cure = "a key has one meaning: remove the alias, or rename the other";
        Some((message, cure.to_owned()))
    }
}

/// Returns the field that a key means, and which kind of name of the field the key is.
fn meaning<'f>(key: &str, fields: &'f [&mut Field]) -> Option<(&'f Field, &'static str)> {
    fields.iter().find_map(|field| {
        let what = if field.name == key {
            "the name"
        } else if field.short == key {
            "the short name"
        } else if field.aliases.iter().any(|alias| alias == key) {
            "an alias"
        } else {
            return None;
        };
        Some((&**field, what))
    })
}
