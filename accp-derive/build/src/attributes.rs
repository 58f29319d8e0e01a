//! Adds the user's attributes to the generated types and fields. The user names the types and fields by paths.

mod converter;

use std::collections::BTreeSet;

use accp_registry::{Schema, nearest};
use proc_macro2::Ident;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Attribute, Path, Token, parse_quote};

use crate::catalog::Catalog;
use crate::doc;
use crate::error::{AttributeFault, Error};
use crate::options::Options;

/// The path that stands for all types or all fields.
const ALL: &str = ".";

/// The user's attributes, and which of them were added to a type or a field.
pub(crate) struct Attributes {
    types: Vec<Rule>,
    fields: Vec<Rule>,
    /// The names of all types. A schema with the name of a type has to be named by its code.
    idents: BTreeSet<String>,
    faults: Vec<AttributeFault>,
}

/// The attributes for the types or fields that a path names.
struct Rule {
    path: String,
    attributes: Vec<Attribute>,
    /// The paths that exist, for the error about a path that names nothing.
    known: BTreeSet<String>,
    is_used: bool,
}

impl Attributes {
    /// Parses the user's attributes. [`finish`](Self::finish) reports the mistakes.
    pub(crate) fn new(options: &Options, catalog: &Catalog<'_>) -> Self {
        let idents = catalog.items.iter().map(|item| &item.ident);
        let idents = idents.chain(&catalog.any).map(Ident::to_string);
        let mut faults = Vec::new();
        let mut read = |added: &[(String, String)]| {
            let rules = added.iter().map(|(path, text)| Rule::read(path, text));
            let mut list = Vec::new();
            for rule in rules {
                match rule {
                    Ok(rule) => list.push(rule),
                    Err(fault) => faults.push(fault),
                }
            }
            list
        };
        Self {
            types: read(&options.type_attributes),
            fields: read(&options.field_attributes),
            idents: idents.collect(),
            faults,
        }
    }

    /// Returns the attributes of a type: one derive with all traits that are not in `derived`, then the other
    /// attributes.
    pub(crate) fn of_type(
        &mut self,
        ident: &Ident,
        schema: Option<&Schema>,
        derived: &[&str],
    ) -> Vec<Attribute> {
        let names = self.names(ident, schema);
        let (mut added, mut others) = (Vec::new(), Vec::new());
        for rule in &mut self.types {
            if !rule.fits(&names, true) {
                continue;
            }
            for attribute in &rule.attributes {
                match derives_of(attribute) {
                    Some(paths) => added.extend(paths.into_iter().filter(|p| is_new(p, derived))),
                    None => others.push(attribute.clone()),
                }
            }
        }
        // The added derives share one attribute, because rustfmt would merge two.
        let derive = (!added.is_empty()).then(|| parse_quote!(#[derive(#(#added),*)]));
        derive.into_iter().chain(others).collect()
    }

    /// Returns the attributes of a field of a struct. `names` are the field's names in Rust and in the registry.
    pub(crate) fn of_field(
        &mut self,
        owner: &Ident,
        schema: Option<&Schema>,
        names: [&str; 2],
    ) -> Vec<Attribute> {
        self.of_member(owner, schema, names, true)
    }

    /// Returns the attributes of a variant of an enum. `names` are the variant's names in Rust and in the registry.
    pub(crate) fn of_variant(
        &mut self,
        owner: &Ident,
        schema: Option<&Schema>,
        names: [&str; 2],
    ) -> Vec<Attribute> {
        self.of_member(owner, schema, names, false)
    }

    fn of_member(
        &mut self,
        owner: &Ident,
        schema: Option<&Schema>,
        members: [&str; 2],
        is_field: bool,
    ) -> Vec<Attribute> {
        let mut names = self.names(owner, schema);
        if !is_field {
            // An attribute for all fields of a schema is seldom right for the variants of its enums. So a path must
            // name the enum itself.
            names.truncate(1);
        }
        let mut owners = names.clone();
        if is_field {
            // A path without the name of a type, such as `.amount`, means the fields with this name in all types.
            owners.push(String::new());
        }
        let inner = members
            .iter()
            .flat_map(|member| owners.iter().map(move |owner| format!("{owner}.{member}")));
        names.extend(inner);
        let mut found = Vec::new();
        for rule in &mut self.fields {
            if rule.fits(&names, is_field) {
                found.extend(rule.attributes.iter().cloned());
            }
        }
        found
    }

    /// Returns the paths of a type, its own name first.
    fn names(&self, ident: &Ident, schema: Option<&Schema>) -> Vec<String> {
        let of_schema = schema.map(|schema| [&schema.name, &schema.code]);
        let of_schema = of_schema.into_iter().flatten();
        let of_schema = of_schema.filter(|name| !self.idents.contains(name.as_str()));
        let own = [ident.to_string()].into_iter();
        own.chain(of_schema.cloned()).collect()
    }

    /// Checks that every attribute was used.
    ///
    /// # Errors
    /// Every text that is not an attribute, and every path that names nothing.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        for (rules, what) in [(&self.types, "type"), (&self.fields, "field")] {
            let unused = rules.iter().filter(|rule| !rule.is_used);
            self.faults.extend(unused.map(|rule| rule.unused(what)));
        }
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(Error::Attributes(self.faults))
    }
}

impl Rule {
    fn read(path: &str, text: &str) -> Result<Self, AttributeFault> {
        let fault = |message, cure: &str| AttributeFault {
            path: path.to_owned(),
            message,
            cure: cure.to_owned(),
        };
        // Line 1 of the generated file holds the path and the text between backticks, so neither
        // can have a backtick or a control character.
        if [path, text].iter().any(|part| part.contains(is_odd)) || path.contains('=') {
            let message = format!("{text:?} cannot stand in the first line of the file");
            let cure = "leave out backticks and control characters, and `=` in the path";
            return Err(fault(message, cure));
        }
        match Attribute::parse_outer.parse_str(text) {
            Ok(attributes) if attributes.iter().any(converter::has_no_path) => {
                let message = format!("`{text}` does not give the path of a module");
                Err(fault(message, "write a path such as crate::day"))
            }
            Ok(attributes) if !attributes.is_empty() => Ok(Self {
                path: path.to_owned(),
                attributes,
                known: BTreeSet::new(),
                is_used: false,
            }),
            _ => {
                let message = format!("`{text}` is not an attribute");
                let cure = "write it as it stands before an item: #[derive(serde::Serialize)]";
                Err(fault(message, cure))
            }
        }
    }

    /// Returns whether the path is one of these names, or is `.`. The path `.` counts only with `is_one_of_all`.
    fn fits(&mut self, names: &[String], is_one_of_all: bool) -> bool {
        let fits = (self.path == ALL && is_one_of_all) || names.contains(&self.path);
        self.is_used |= fits;
        if !self.is_used {
            self.known.extend(names.iter().cloned());
        }
        fits
    }

    fn unused(&self, what: &str) -> AttributeFault {
        let part = if what == "type" { "" } else { ".FIELD" };
        let cure = nearest(&self.path, self.known.iter().map(String::as_str)).map_or_else(
            || format!("the path is `.` for all, or TYPE{part} or SCHEMA{part}"),
            |near| format!("did you mean `{near}`?"),
        );
        AttributeFault {
            path: self.path.clone(),
            message: format!("no {what} has this path"),
            cure,
        }
    }
}

fn is_odd(c: char) -> bool {
    c == '`' || doc::is_hidden(c)
}

/// Returns the paths of the traits in a `derive` attribute; `None` for any other attribute.
fn derives_of(attribute: &Attribute) -> Option<Punctuated<Path, Token![,]>> {
    let is_derive = attribute.path().is_ident("derive");
    let paths = is_derive.then(|| attribute.parse_args_with(Punctuated::parse_terminated));
    paths?.ok()
}

/// Returns whether a type with these derives does not have the derive at this path yet.
fn is_new(path: &Path, derived: &[&str]) -> bool {
    let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    let is_std = names.len() == 1 || ["std", "core"].contains(&names[0].as_str());
    let name = names.last().map_or("", String::as_str);
    !(is_std && derived.contains(&name))
}

#[cfg(test)]
mod tests {
    use accp_registry::Registry;

    use super::*;
    use crate::generate;

    const REGISTRY: &str = r#"{ "schemas": {
        "signal": { "code": "SG", "fields": ["trend", "userId"],
            "types": { "trend": "enum(up=+,down=-)", "userId": "string" },
            "frames": [
                { "intent": "req", "operation": "watch" },
                { "intent": "done", "operation": "watch" } ] },
        "note": { "code": "NT", "fields": ["text"] } } }"#;

    /// Returns the lines of the generated text with these attributes, without documentation.
    fn lines(types: &[(&str, &str)], fields: &[(&str, &str)]) -> Result<String, Error> {
        let own = |added: &[(&str, &str)]| {
            let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
            added.iter().map(owned).collect()
        };
        let options = Options {
            registry: Some("r.json".to_owned()),
            type_attributes: own(types),
            field_attributes: own(fields),
            ..Options::default()
        };
        let text = generate(&Registry::from_json(REGISTRY).unwrap(), &options)?;
        let is_code = |line: &&str| !line.trim().starts_with("///") && !line.trim().is_empty();
        let from = text.find("\n#[derive(Accp").unwrap();
        let to = text.find("/// The registry with").unwrap();
        let code: Vec<&str> = text[from..to].lines().filter(is_code).collect();
        let first = text.lines().next().unwrap();
        Ok(format!("{first}\n{}", code.join("\n")))
    }

    #[test]
    fn a_path_names_all_types_or_one_or_those_of_a_schema() {
        let text = lines(
            &[
                (".", "#[derive(Hash, std::cmp::Eq)]"),
                ("NT", "#[must_use]"),
                ("WatchReq", "#[derive(my::Clone)] #[allow(dead_code)]"),
            ],
            &[],
        );
        insta::assert_snapshot!(text.unwrap(), @r#"
        // Generated by `accp generate r.json --type-attribute '.=#[derive(Hash, std::cmp::Eq)]' --type-attribute 'NT=#[must_use]' --type-attribute 'WatchReq=#[derive(my::Clone)] #[allow(dead_code)]'`; do not edit.
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        #[derive(Hash, std::cmp::Eq)]
        #[must_use]
        #[accp(schema = "NT", new)]
        #[accp(registry = "r.json")]
        pub struct Note<'a> {
            pub text: Option<Value<'a>>,
        }
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        #[derive(Hash, std::cmp::Eq, my::Clone)]
        #[allow(dead_code)]
        #[accp(schema = "SG", intent = "req", operation = "watch", new)]
        #[accp(registry = "r.json")]
        pub struct WatchReq<'a> {
            pub trend: Option<SignalTrend>,
            #[accp(rename = "userId")]
            pub user_id: Option<Cow<'a, str>>,
        }
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        #[derive(Hash, std::cmp::Eq)]
        #[accp(schema = "SG", intent = "done", operation = "watch", new)]
        #[accp(registry = "r.json")]
        pub struct WatchDone<'a> {
            pub trend: Option<SignalTrend>,
            #[accp(rename = "userId")]
            pub user_id: Option<Cow<'a, str>>,
        }
        #[allow(clippy::large_enum_variant)]
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        #[derive(Hash, std::cmp::Eq)]
        pub enum SignalFrame<'a> {
            WatchReq(WatchReq<'a>),
            WatchDone(WatchDone<'a>),
        }
        #[derive(AccpFrame, Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(dead_code)]
        pub enum SignalTrend {
            #[accp(symbol = "+")]
            Up,
            #[accp(symbol = "-")]
            Down,
        }
        #[allow(clippy::large_enum_variant)]
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        #[derive(Hash, std::cmp::Eq)]
        pub enum AnyFrame<'a> {
            WatchReq(WatchReq<'a>),
            WatchDone(WatchDone<'a>),
        }
        "#);
    }

    #[test]
    fn a_path_names_all_fields_or_one_or_those_of_a_type() {
        let text = lines(
            &[],
            &[
                (".", "#[serde(borrow)]"),
                ("SG.userId", "#[a]"),
                ("WatchDone.user_id", "#[b]"),
                ("Note", "#[c = \"it's\"]"),
                ("SignalTrend.Up", "#[d]"),
                ("SignalFrame", "#[e]"),
            ],
        );
        insta::assert_snapshot!(text.unwrap(), @r#"
        // Generated by `accp generate r.json --field-attribute '.=#[serde(borrow)]' --field-attribute 'SG.userId=#[a]' --field-attribute 'WatchDone.user_id=#[b]' --field-attribute 'Note=#[c = "it'\''s"]' --field-attribute 'SignalTrend.Up=#[d]' --field-attribute 'SignalFrame=#[e]'`; do not edit.
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        #[accp(schema = "NT", new)]
        #[accp(registry = "r.json")]
        pub struct Note<'a> {
            #[serde(borrow)]
            #[c = "it's"]
            pub text: Option<Value<'a>>,
        }
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        #[accp(schema = "SG", intent = "req", operation = "watch", new)]
        #[accp(registry = "r.json")]
        pub struct WatchReq<'a> {
            #[serde(borrow)]
            pub trend: Option<SignalTrend>,
            #[serde(borrow)]
            #[a]
            #[accp(rename = "userId")]
            pub user_id: Option<Cow<'a, str>>,
        }
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        #[accp(schema = "SG", intent = "done", operation = "watch", new)]
        #[accp(registry = "r.json")]
        pub struct WatchDone<'a> {
            #[serde(borrow)]
            pub trend: Option<SignalTrend>,
            #[serde(borrow)]
            #[a]
            #[b]
            #[accp(rename = "userId")]
            pub user_id: Option<Cow<'a, str>>,
        }
        #[allow(clippy::large_enum_variant)]
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        pub enum SignalFrame<'a> {
            #[e]
            WatchReq(WatchReq<'a>),
            #[e]
            WatchDone(WatchDone<'a>),
        }
        #[derive(AccpFrame, Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(dead_code)]
        pub enum SignalTrend {
            #[d]
            #[accp(symbol = "+")]
            Up,
            #[accp(symbol = "-")]
            Down,
        }
        #[allow(clippy::large_enum_variant)]
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[allow(dead_code)]
        pub enum AnyFrame<'a> {
            WatchReq(WatchReq<'a>),
            WatchDone(WatchDone<'a>),
        }
        "#);
    }

    #[test]
    fn refuses_wrong_attributes_and_unknown_paths() {
        let error = lines(
            &[
                ("WatchRequest", "#[derive(Eq)]"),
                ("elsewhere", "#[derive(Eq)]"),
                (".", "derive(Eq)"),
                (".", "#[doc = \"`x`\"]"),
                ("a=b", "#[derive(Eq)]"),
            ],
            &[
                ("WatchReq.user", "#[a]"),
                ("trend", "#[a]"),
                ("SG.Up", "#[a]"),
                (".", ""),
            ],
        );
        insta::assert_snapshot!(error.unwrap_err(), @r##"
        the added attributes and types cannot be used:
        `.`: `derive(Eq)` is not an attribute
            write it as it stands before an item: #[derive(serde::Serialize)]
        `.`: "#[doc = \"`x`\"]" cannot stand in the first line of the file
            leave out backticks and control characters, and `=` in the path
        `a=b`: "#[derive(Eq)]" cannot stand in the first line of the file
            leave out backticks and control characters, and `=` in the path
        `.`: `` is not an attribute
            write it as it stands before an item: #[derive(serde::Serialize)]
        `WatchRequest`: no type has this path
            did you mean `WatchReq`?
        `elsewhere`: no type has this path
            the path is `.` for all, or TYPE or SCHEMA
        `WatchReq.user`: no field has this path
            did you mean `WatchReq.userId`?
        `trend`: no field has this path
            did you mean `.trend`?
        `SG.Up`: no field has this path
            the path is `.` for all, or TYPE.FIELD or SCHEMA.FIELD
        "##);
    }
}
