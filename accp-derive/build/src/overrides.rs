//! Types that a user gives instead of generated types. The user names the fields and types by paths.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::{Schema, nearest};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens as _;

use crate::doc;
use crate::error::AttributeFault;
use crate::item::Item;
use crate::options::Options;

/// The types that a user gives, and what they replace.
#[derive(Default)]
pub(crate) struct Overrides {
    /// The type that the user gives to a field, by the name of the type that has the field and the field's Rust name.
    fields: BTreeMap<(String, String), syn::Type>,
    /// The replacement of a type, by the name of the generated type.
    types: BTreeMap<String, Instead>,
}

/// The replacement of a generated type.
enum Instead {
    /// The same type, which another crate has generated. It borrows from the frame if the type of this crate would.
    Same(syn::Path),
    /// A type of the user, as written.
    Other(Box<syn::Type>),
}

impl Overrides {
    /// Finds the types and fields that the paths of the options name.
    ///
    /// # Errors
    /// Every text that is not a type. Every path that names nothing, or several types where only one can be meant.
    pub(crate) fn new(options: &Options, items: &[Item<'_>]) -> Result<Self, Vec<AttributeFault>> {
        let mut overrides = Self::default();
        let mut faults = Vec::new();
        for (path, text) in &options.field_types {
            let done = overrides.field(path, text, items);
            faults.extend(done.err().map(|fault| fault.of(path)));
        }
        for (path, text) in &options.replaced {
            let done = overrides.replaced(path, text, items);
            faults.extend(done.err().map(|fault| fault.of(path)));
        }
        for (path, text) in &options.extern_paths {
            let done = overrides.elsewhere(path, text, items);
            faults.extend(done.err().map(|fault| fault.of(path)));
        }
        if faults.is_empty() {
            Ok(overrides)
        } else {
            Err(faults)
        }
    }

    fn field(&mut self, path: &str, text: &str, items: &[Item<'_>]) -> Result<(), Fault> {
        let ty: syn::Type = read(path, text)?;
        let mut known = BTreeSet::new();
        let mut is_used = false;
        for item in items {
            for member in item.members() {
                let rust = member.ident.to_string();
                let mut owners = names(item.schema, &item.ident, items);
                // A path for fields in all types has no name of a type: it begins with the dot.
                owners.push(String::new());
                let mut paths = owners.iter().flat_map(|owner| {
                    [&rust, &member.field.name].map(|name| format!("{owner}.{name}"))
                });
                if paths.clone().any(|other| other == path) {
                    is_used = true;
                    let key = (item.ident.to_string(), rust.clone());
                    self.fields.insert(key, ty.clone());
                } else {
                    known.extend(paths.by_ref());
                }
            }
        }
        if is_used {
            return Ok(());
        }
        let cure = "the path is .FIELD for every field of that name, or TYPE.FIELD or SCHEMA.FIELD";
        Err(Fault::nothing("field", path, &known, cure))
    }

    fn replaced(&mut self, path: &str, text: &str, items: &[Item<'_>]) -> Result<(), Fault> {
        let ty: syn::Type = read(path, text)?;
        let ident = one(path, items)?;
        self.types
            .insert(ident.to_string(), Instead::Other(Box::new(ty)));
        Ok(())
    }

    fn elsewhere(&mut self, path: &str, text: &str, items: &[Item<'_>]) -> Result<(), Fault> {
        let rust: syn::Path = read(path, text)?;
        if has_arguments(&rust) {
            return Err(Fault {
                message: format!("`{text}` has more than names"),
                cure:
                    "leave out what stands in `<>`: the file adds a lifetime where the type borrows"
                        .to_owned(),
            });
        }
        let last = rust.segments.last().map(|last| last.ident.to_string());
        let is_type = last.is_some_and(|last| last.starts_with(char::is_uppercase));
        if is_type {
            let ident = one(path, items)?;
            self.types.insert(ident.to_string(), Instead::Same(rust));
            return Ok(());
        }
        for ident in all(path, items)? {
            let mut rust = rust.clone();
            rust.segments.push(ident.clone().into());
            self.types.insert(ident.to_string(), Instead::Same(rust));
        }
        Ok(())
    }

    /// Returns the type that the user gives to a field; `None` if the field has the generated type.
    pub(crate) fn of_field(&self, owner: &Ident, field: &Ident) -> Option<&syn::Type> {
        self.fields.get(&(owner.to_string(), field.to_string()))
    }

    /// Returns whether the file leaves a type out, because a type of the user or of another crate replaces it.
    pub(crate) fn has(&self, ident: &Ident) -> bool {
        self.types.contains_key(&ident.to_string())
    }

    /// Returns whether the type with this name borrows from the frame, after a replacement. `generated` says whether
    /// the generated type borrows.
    pub(crate) fn borrows(&self, ident: &Ident, generated: bool) -> bool {
        match self.types.get(&ident.to_string()) {
            Some(Instead::Other(ty)) => has_lifetime(ty),
            Some(Instead::Same(_)) | None => generated,
        }
    }

    /// Returns the type to write for the generated type `ident`: its replacement, or the type itself, with the
    /// lifetime if it is needed.
    pub(crate) fn of_type(&self, ident: &Ident, lifetime: Option<&TokenStream>) -> TokenStream {
        match self.types.get(&ident.to_string()) {
            Some(Instead::Other(ty)) => ty.to_token_stream(),
            Some(Instead::Same(path)) => quote::quote!(#path #lifetime),
            None => quote::quote!(#ident #lifetime),
        }
    }
}

/// Returns whether a type names the lifetime of the frame.
pub(crate) fn has_lifetime(ty: &syn::Type) -> bool {
    fn any(tokens: TokenStream) -> bool {
        let mut is_lifetime = false;
        tokens.into_iter().any(|tree| match tree {
            TokenTree::Punct(punct) => {
                is_lifetime = punct.as_char() == '\'';
                false
            }
            TokenTree::Ident(ident) => std::mem::take(&mut is_lifetime) && ident == "a",
            TokenTree::Group(group) => any(group.stream()),
            TokenTree::Literal(_) => false,
        })
    }
    any(ty.to_token_stream())
}

/// Returns whether a path has lifetimes, types or constants between its names.
pub(crate) fn has_arguments(path: &syn::Path) -> bool {
    let mut segments = path.segments.iter();
    segments.any(|segment| !segment.arguments.is_none())
}

/// A fault of one path.
struct Fault {
    message: String,
    cure: String,
}

impl Fault {
    fn nothing(what: &str, path: &str, known: &BTreeSet<String>, cure: &str) -> Self {
        let near = nearest(path, known.iter().map(String::as_str));
        Self {
            message: format!("no {what} has this path"),
            cure: near.map_or_else(|| cure.to_owned(), |near| format!("did you mean `{near}`?")),
        }
    }

    fn of(self, path: &str) -> AttributeFault {
        AttributeFault {
            path: path.to_owned(),
            message: self.message,
            cure: self.cure,
        }
    }
}

/// Parses the replacement of a type.
fn read<T: syn::parse::Parse>(path: &str, text: &str) -> Result<T, Fault> {
    let is_odd = |c| c == '`' || doc::is_hidden(c);
    // Line 1 of the generated file holds the path and the text between backticks, so neither can
    // have a backtick or a control character.
    if [path, text].iter().any(|part| part.contains(is_odd)) || path.contains('=') {
        return Err(Fault {
            message: format!("{text:?} cannot stand in the first line of the file"),
            cure: "leave out backticks and control characters, and `=` in the path".to_owned(),
        });
    }
    syn::parse_str(text).map_err(|_| Fault {
        message: format!("`{text}` is not the path of a type"),
        cure: "write it as it stands in the generated file: ::frames::ScheduleReq".to_owned(),
    })
}

/// Returns the paths of a type: its own name, and the name and the code of its schema unless another type has that
/// name.
fn names(schema: &Schema, ident: &Ident, items: &[Item<'_>]) -> Vec<String> {
    let is_type = |name: &&String| items.iter().any(|item| item.ident == name.as_str());
    let of_schema = [&schema.name, &schema.code].into_iter();
    let of_schema = of_schema.filter(|name| !is_type(name)).cloned();
    [ident.to_string()].into_iter().chain(of_schema).collect()
}

/// Returns the types that a path names: the one type with this name, or all types of a schema.
fn all<'i>(path: &str, items: &'i [Item<'_>]) -> Result<Vec<&'i Ident>, Fault> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for item in items {
        let names = names(item.schema, &item.ident, items);
        if names.iter().any(|name| name == path) {
            found.push(&item.ident);
        }
        known.extend(names);
    }
    if found.is_empty() {
        let cure = "the path is TYPE or SCHEMA";
        return Err(Fault::nothing("type", path, &known, cure));
    }
    Ok(found)
}

/// Returns the only type that a path names. If the path names a schema, this is the type of its values, or else its
/// only type.
fn one<'i>(path: &str, items: &'i [Item<'_>]) -> Result<&'i Ident, Fault> {
    let found = all(path, items)?;
    let is_nested = |item: &&Item<'_>| item.is_value() && found.contains(&&item.ident);
    match (&found[..], items.iter().find(is_nested)) {
        ([ident], _) => Ok(ident),
        (_, Some(nested)) => Ok(&nested.ident),
        (several, None) => {
            let several: Vec<_> = several.iter().map(ToString::to_string).collect();
            Err(Fault {
                message: format!("one type cannot stand for {}", several.join(", ")),
                cure: "name one of them; for all of them, `extern_path` takes the path of their module".to_owned(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use accp_registry::Registry;

    use super::*;
    use crate::error::Error;
    use crate::generate;

    const REGISTRY: &str = r#"{ "schemas": {
        "lab": { "code": "LAB", "fields": ["name", "at"], "types": { "name": "string", "at": "string" } },
        "order": { "code": "OR", "fields": ["lab", "labs", "amount", "state"],
            "types": { "lab": "LAB", "labs": "[LAB]", "amount": "decimal", "state": "enum(open,done)" },
            "required": ["amount"],
            "frames": [
                { "intent": "req", "operation": "order" },
                { "intent": "done", "operation": "order" } ] } } }"#;

    /// Options with field types, types of the user, and types of other crates.
    fn options(fields: &[(&str, &str)], own: &[(&str, &str)], others: &[(&str, &str)]) -> Options {
        let pairs = |pairs: &[(&str, &str)]| {
            let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
            pairs.iter().map(owned).collect()
        };
        Options {
            registry: Some("r.json".to_owned()),
            field_types: pairs(fields),
            replaced: pairs(own),
            extern_paths: pairs(others),
            ..Options::default()
        }
    }

    /// Returns the first line of the generated text, and the lines that declare types, fields and variants.
    fn lines(options: &Options) -> Result<String, Error> {
        let text = generate(&Registry::from_json(REGISTRY).unwrap(), options)?;
        let is_shown = |line: &&str| {
            let line = line.trim_start();
            let starts = [
                "pub struct",
                "pub enum",
                "pub lab",
                "pub amount",
                "pub state",
                "Order",
                "// Gen",
            ];
            starts.iter().any(|start| line.starts_with(start))
        };
        Ok(text.lines().filter(is_shown).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_field_has_the_type_of_the_user() {
        let options = options(
            &[(".amount", "crate::Money"), ("OrderReq.state", "State<'a>")],
            &[],
            &[],
        );
        insta::assert_snapshot!(lines(&options).unwrap(), @r#"
        // Generated by `accp generate r.json --field-type '.amount=crate::Money' --field-type 'OrderReq.state=State<'\''a>'`; do not edit.
        pub struct Lab<'a> {
        pub struct OrderReq<'a> {
            pub lab: Option<Lab<'a>>,
            pub labs: Option<Vec<Lab<'a>>>,
            pub amount: crate::Money,
            pub state: Option<State<'a>>,
        pub struct OrderDone<'a> {
            pub lab: Option<Lab<'a>>,
            pub labs: Option<Vec<Lab<'a>>>,
            pub amount: crate::Money,
            pub state: Option<OrderState>,
        pub enum OrderFrame<'a> {
            OrderReq(OrderReq<'a>),
            OrderDone(OrderDone<'a>),
        pub enum OrderState {
        pub enum AnyFrame<'a> {
            OrderReq(OrderReq<'a>),
            OrderDone(OrderDone<'a>),
        "#);
    }

    #[test]
    fn a_type_of_the_user_stands_for_a_generated_one() {
        // Of the types in `OrderReq`, only the generated `Lab` borrowed. It is replaced, so `OrderReq` has no
        // lifetime any more.
        let owned = [("LAB", "crate::Lab"), ("OrderState", "crate::State")];
        insta::assert_snapshot!(lines(&options(&[], &owned, &[])).unwrap(), @r#"
        // Generated by `accp generate r.json --replace 'LAB=crate::Lab' --replace 'OrderState=crate::State'`; do not edit.
        pub struct OrderReq {
            pub lab: Option<crate::Lab>,
            pub labs: Option<Vec<crate::Lab>>,
            pub amount: Decimal,
            pub state: Option<crate::State>,
        pub struct OrderDone {
            pub lab: Option<crate::Lab>,
            pub labs: Option<Vec<crate::Lab>>,
            pub amount: Decimal,
            pub state: Option<crate::State>,
        pub enum OrderFrame {
            OrderReq(OrderReq),
            OrderDone(OrderDone),
        pub enum AnyFrame {
            OrderReq(OrderReq),
            OrderDone(OrderDone),
        "#);
        let borrowing = options(&[], &[("Lab", "crate::Lab<'a>")], &[]);
        insta::assert_snapshot!(lines(&borrowing).unwrap(), @r#"
        // Generated by `accp generate r.json --replace 'Lab=crate::Lab<'\''a>'`; do not edit.
        pub struct OrderReq<'a> {
            pub lab: Option<crate::Lab<'a>>,
            pub labs: Option<Vec<crate::Lab<'a>>>,
            pub amount: Decimal,
            pub state: Option<OrderState>,
        pub struct OrderDone<'a> {
            pub lab: Option<crate::Lab<'a>>,
            pub labs: Option<Vec<crate::Lab<'a>>>,
            pub amount: Decimal,
            pub state: Option<OrderState>,
        pub enum OrderFrame<'a> {
            OrderReq(OrderReq<'a>),
            OrderDone(OrderDone<'a>),
        pub enum OrderState {
        pub enum AnyFrame<'a> {
            OrderReq(OrderReq<'a>),
            OrderDone(OrderDone<'a>),
        "#);
    }

    #[test]
    fn types_come_from_another_crate() {
        let one = options(&[], &[], &[("LAB", "::frames::Place")]);
        insta::assert_snapshot!(lines(&one).unwrap(), @r#"
        // Generated by `accp generate r.json --extern-path 'LAB=::frames::Place'`; do not edit.
        pub struct OrderReq<'a> {
            pub lab: Option<::frames::Place<'a>>,
            pub labs: Option<Vec<::frames::Place<'a>>>,
            pub amount: Decimal,
            pub state: Option<OrderState>,
        pub struct OrderDone<'a> {
            pub lab: Option<::frames::Place<'a>>,
            pub labs: Option<Vec<::frames::Place<'a>>>,
            pub amount: Decimal,
            pub state: Option<OrderState>,
        pub enum OrderFrame<'a> {
            OrderReq(OrderReq<'a>),
            OrderDone(OrderDone<'a>),
        pub enum OrderState {
        pub enum AnyFrame<'a> {
            OrderReq(OrderReq<'a>),
            OrderDone(OrderDone<'a>),
        "#);
        let all = options(&[], &[], &[("OR", "::frames"), ("LAB", "::frames")]);
        insta::assert_snapshot!(lines(&all).unwrap(), @r#"
        // Generated by `accp generate r.json --extern-path 'OR=::frames' --extern-path 'LAB=::frames'`; do not edit.
        pub enum AnyFrame<'a> {
            OrderReq(::frames::OrderReq<'a>),
            OrderDone(::frames::OrderDone<'a>),
        "#);
    }

    #[test]
    fn refuses_wrong_types_and_unknown_paths() {
        let odd = options(
            &[(".amuont", "u8"), (".amount", "u 8"), ("OrderReq.x", "u8")],
            &[("OR", "crate::Order"), ("LAP", "crate::Lab")],
            &[
                ("nothing", "::frames"),
                ("LAB", "`x`"),
                ("Lab", "::frames::Lab<'a>"),
                ("OR", "::frames::<u8>"),
            ],
        );
        insta::assert_snapshot!(lines(&odd).unwrap_err(), @r#"
        the added attributes and types cannot be used:
        `.amuont`: no field has this path
            did you mean `.amount`?
        `.amount`: `u 8` is not the path of a type
            write it as it stands in the generated file: ::frames::ScheduleReq
        `OrderReq.x`: no field has this path
            did you mean `OrderReq.lab`?
        `OR`: one type cannot stand for OrderReq, OrderDone, OrderFrame, OrderState
            name one of them; for all of them, `extern_path` takes the path of their module
        `LAP`: no type has this path
            did you mean `LAB`?
        `nothing`: no type has this path
            the path is TYPE or SCHEMA
        `LAB`: "`x`" cannot stand in the first line of the file
            leave out backticks and control characters, and `=` in the path
        `Lab`: `::frames::Lab<'a>` has more than names
            leave out what stands in `<>`: the file adds a lifetime where the type borrows
        `OR`: `::frames::<u8>` has more than names
            leave out what stands in `<>`: the file adds a lifetime where the type borrows
        "#);
    }
}
