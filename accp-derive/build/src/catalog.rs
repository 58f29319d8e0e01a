//! The types that the generated file defines, and their names.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::protocol::NO_HEAD;
use accp_registry::{Field, Format, FrameSpec, Protocol, Registry, Schema, Type};
use proc_macro2::Ident;

use crate::error::{Error, NameFault};
use crate::item::{Item, Kind, Member, Presence, Record, Variant};
use crate::names::{pascal, sanitize, snake};
use crate::options::Options;
use crate::overrides::{Overrides, has_lifetime};

/// The names of other types that a generated file can use, besides the derive. A generated type must not have such a
/// name.
const USED: &[&str] = &[
    "AgentId", "BTreeMap", "Box", "Cow", "Decimal", "Map", "Option", "String", "Value", "Vec",
];

/// The types of the file, in the order of the file.
pub(crate) struct Catalog<'r> {
    pub(crate) items: Vec<Item<'r>>,
    registry: &'r Registry,
    /// The codes of the schemas whose type as a value borrows from the frame.
    borrowing: BTreeSet<&'r str>,
    /// The enum over the frames of all schemas, if there are any.
    pub(crate) any: Option<Ident>,
    /// Whether all types own their texts, so that no type borrows.
    owned: bool,
    /// Whether each union has a variant that keeps the records of other variants.
    open: bool,
    /// The user's own types that replace generated types.
    pub(crate) overrides: Overrides,
}

impl<'r> Catalog<'r> {
    /// Finds the types of the registry and names them.
    ///
    /// # Errors
    /// Every name of the registry that gives no Rust name, or the same Rust name as another name. Every type of the
    /// user whose path names nothing.
    pub(crate) fn new(
        registry: &'r Registry,
        any: Option<Ident>,
        options: &Options,
    ) -> Result<Self, Error> {
        let mut faults = Faults::default();
        let wanted = wanted(registry, &mut faults);
        let unions = wanted
            .iter()
            .filter(|one| matches!(one.kind, Kind::Union(_)));
        for one in unions.filter(|_| options.schemaless) {
            let message =
                "the type of a union names its schema, and types without a schema are asked for";
            faults.add(one.at.clone(), message.to_owned(), "leave `schemaless` out");
        }
        let has_frames = wanted.iter().any(|one| matches!(one.kind, Kind::Frame(..)));
        let any = any.filter(|_| has_frames);
        let items = name(registry.protocol(), wanted, any.as_ref(), &mut faults);
        if !faults.list.is_empty() {
            return Err(Error::Names(faults.list));
        }
        let overrides = Overrides::new(options, &items).map_err(Error::Attributes)?;
        let mut catalog = Self {
            items,
            registry,
            borrowing: BTreeSet::new(),
            any,
            owned: options.owned,
            open: options.open_enums,
            overrides,
        };
        while catalog.find_borrowing() {}
        Ok(catalog)
    }

    /// Returns whether a value of this type borrows from the frame.
    pub(crate) fn borrows(&self, ty: &Type) -> bool {
        match ty {
            Type::List(item) => self.borrows(item),
            Type::Schema(code) => self.borrowing.contains(code.as_str()),
            _ if self.owned => false,
            Type::Integer | Type::Decimal | Type::Number | Type::Boolean | Type::Enum(_) => false,
            Type::Formatted(Format::Bytes) => false,
            _ => true,
        }
    }

    /// Returns whether a field borrows from the frame.
    fn field_borrows(&self, owner: &Ident, schema: &Schema, member: &Member<'_>) -> bool {
        if let Some(ty) = self.overrides.of_field(owner, &member.ident) {
            return has_lifetime(ty);
        }
        let enumeration = self.enumeration(schema, member.field);
        enumeration.is_some_and(|ident| self.overrides.borrows(ident, false))
            || self.borrows(&member.field.ty)
    }

    /// Returns whether a struct with these fields borrows from the frame.
    pub(crate) fn any_borrows<'m>(
        &self,
        owner: &Ident,
        schema: &Schema,
        members: impl IntoIterator<Item = &'m Member<'m>>,
    ) -> bool {
        let keeps = schema.union.is_some() && self.open && !self.owned;
        let mut members = members.into_iter();
        keeps || members.any(|member| self.field_borrows(owner, schema, member))
    }

    /// Returns whether a field of this type in the struct of `schema` needs a `Box`. Without a `Box`, the struct
    /// would contain itself.
    pub(crate) fn needs_box(&self, schema: &Schema, ty: &Type) -> bool {
        let mut seen = BTreeSet::new();
        let mut ahead = vec![ty];
        while let Some(ty) = ahead.pop() {
            let Type::Schema(code) = ty else { continue };
            if *code == schema.code {
                return true;
            }
            if let Some(inner) = self.registry.schema(code).filter(|_| seen.insert(code)) {
                ahead.extend(inner.fields.iter().map(|field| &field.ty));
            }
        }
        false
    }

    /// Returns the name of the type for values of the schema with this code.
    pub(crate) fn nested(&self, code: &str) -> Option<&Ident> {
        let is_it = |item: &&Item<'_>| item.schema.code == code && item.is_value();
        self.items.iter().find(is_it).map(|item| &item.ident)
    }

    /// Returns the name of the enum for the values of a field.
    pub(crate) fn enumeration(&self, schema: &Schema, field: &Field) -> Option<&Ident> {
        let is_it = |item: &&Item<'_>| {
            item.schema.code == schema.code
                && matches!(item.kind, Kind::Enum(other, _) if other.name == field.name)
        };
        self.items.iter().find(is_it).map(|item| &item.ident)
    }

    /// Runs one round of the search for [`Self::borrowing`]. Returns whether the round found another schema.
    fn find_borrowing(&mut self) -> bool {
        let before = self.borrowing.len();
        let nested = self.items.iter().filter_map(|item| {
            if !item.is_value() {
                return None;
            }
            let members = item.members();
            let generated = self.any_borrows(&item.ident, item.schema, members);
            let borrows = self.overrides.borrows(&item.ident, generated);
            borrows.then_some(item.schema.code.as_str())
        });
        let nested: Vec<&str> = nested.collect();
        self.borrowing.extend(nested);
        self.borrowing.len() > before
    }
}

/// A type that has no name yet.
struct Wanted<'r> {
    schema: &'r Schema,
    kind: Kind<'r>,
    /// The JSON pointer of the type.
    at: String,
    /// The type in words.
    what: String,
}

impl Wanted<'_> {
    /// Returns the name that the type gets if no other type has the same name.
    fn name(&self, protocol: &Protocol) -> String {
        let schema = pascal(&self.schema.name);
        match &self.kind {
            Kind::Frame(frame, _) => {
                let words = protocol.rust.type_name.iter();
                let words = words.filter_map(|&part| frame.head.get(part));
                words.map(|word| pascal(word)).collect()
            }
            Kind::Frames => schema + &pascal(protocol.noun),
            Kind::Nested(_) | Kind::Union(_) => schema,
            Kind::Enum(field, _) => schema + &pascal(&field.name),
        }
    }
}

/// Returns the types that a registry needs.
fn wanted<'r>(registry: &'r Registry, faults: &mut Faults) -> Vec<Wanted<'r>> {
    let fields = || registry.schemas().flat_map(|schema| &schema.fields);
    let nested: BTreeSet<&str> = fields()
        .filter_map(|field| field.ty.schema_code())
        .collect();
    let protocol = registry.protocol();
    let noun = protocol.noun;
    let mut list = Vec::new();
    for schema in registry.schemas() {
        let mut add = |kind, at: String, what| {
            let at = format!("/schemas/{}{at}", schema.name);
            list.push(Wanted {
                schema,
                kind,
                at,
                what,
            });
        };
        for (index, frame) in schema.frames.iter().enumerate() {
            let kind = Kind::Frame(frame, members(schema, Some(frame), faults));
            let what = format!("the {noun} {}", protocol.title(&frame.head));
            add(kind, format!("/frames/{index}"), what);
        }
        if schema.frames.len() > 1 {
            add(
                Kind::Frames,
                String::new(),
                format!("the enum over the {noun}s"),
            );
        }
        if schema.union.is_some() {
            let kind = Kind::Union(records(schema, faults));
            add(kind, String::new(), "the enum of the schema".to_owned());
        } else if schema.frames.is_empty() || nested.contains(schema.code.as_str()) {
            let kind = Kind::Nested(members(schema, None, faults));
            add(kind, String::new(), "the struct of the schema".to_owned());
        }
        // The tag needs no enum for its values: the variants of the union stand for them.
        let is_tag = |field: &&Field| schema.union.as_ref() == Some(&field.name);
        for field in schema.fields.iter().filter(|field| !is_tag(field)) {
            if let Some(variants) = variants(schema, field, faults) {
                let what = format!("the enum of the field `{}`", field.name);
                add(
                    Kind::Enum(field, variants),
                    format!("/types/{}", field.name),
                    what,
                );
            }
        }
    }
    list
}

/// Names every type. If the name of a frame is also the name of another type, the name of the frame's schema is put
/// before it.
fn name<'r>(
    protocol: &Protocol,
    wanted: Vec<Wanted<'r>>,
    any: Option<&Ident>,
    faults: &mut Faults,
) -> Vec<Item<'r>> {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for one in &wanted {
        *uses.entry(one.name(protocol)).or_default() += 1;
    }
    let mut items = Vec::new();
    let mut taken: BTreeMap<Ident, String> = BTreeMap::new();
    for one in wanted {
        let mut name = one.name(protocol);
        if matches!(one.kind, Kind::Frame(..)) && uses.get(&name).is_some_and(|&uses| uses > 1) {
            name.insert_str(0, &pascal(&one.schema.name));
        }
        let Wanted {
            schema,
            kind,
            at,
            what,
        } = one;
        let Some(ident) = type_ident(protocol, &name) else {
            let message = format!("{what} has no letter and no digit for a Rust name");
            faults.add(at, message, "give the schema another name");
            continue;
        };
        if any == Some(&ident) {
            let noun = protocol.noun;
            let message =
                format!("{what} would be called `{ident}`, as the enum over all {noun}s is");
            let cure = "give the enum another name (`any_frame` of the builder, `--any-frame` of the command)";
            faults.add(at.clone(), message, cure);
        }
        if let Some(other) = taken.insert(ident.clone(), format!("{what} at {at}")) {
            let message = format!("{what} would be called `{ident}`, as {other} is");
            faults.add(at, message, "give one of the two another name");
        }
        items.push(Item {
            ident,
            schema,
            kind,
        });
    }
    items
}

/// Returns the identifier of a type. If the file uses the name for a type from elsewhere, the identifier gets a `_`
/// at its end.
fn type_ident(protocol: &Protocol, name: &str) -> Option<Ident> {
    let is_used = name == protocol.rust.derive || USED.contains(&name);
    let used = if is_used { "_" } else { "" };
    sanitize(&format!("{name}{used}"), 'N')
}

/// Returns the fields of the struct for a frame, or, without a frame, of the struct for values of the schema.
fn members<'r>(
    schema: &'r Schema,
    frame: Option<&FrameSpec>,
    faults: &mut Faults,
) -> Vec<Member<'r>> {
    let head: Vec<&str> = match frame {
        Some(frame) => frame.head.iter().map(String::as_str).collect(),
        None => NO_HEAD.to_vec(),
    };
    let required: BTreeSet<&str> = schema.required(&head).collect();
    let about = frame.and_then(|frame| frame.fields.as_ref());
    let mut members: Vec<Member<'r>> = Vec::new();
    for (index, field) in schema.fields.iter().enumerate() {
        // A default of null needs no attribute, because `None` stands for it.
        let has_null = field
            .default
            .as_ref()
            .is_some_and(serde_json::Value::is_null);
        let presence = if required.contains(field.name.as_str()) {
            Presence::Required
        } else if about.is_some_and(|names| !names.contains(&field.name)) {
            continue;
        } else if schema.has_default(index, &head) && !has_null {
            Presence::Default
        } else {
            Presence::Optional
        };
        let name = &field.name;
        let at = || {
            let list = if field.optional { "optional" } else { "fields" };
            let before = schema.fields[..index].iter();
            let index = before
                .filter(|other| other.optional == field.optional)
                .count();
            format!("/schemas/{}/{list}/{index}", schema.name)
        };
        let Some(ident) = sanitize(&snake(name), 'n') else {
            let message = format!("the field `{name}` has no letter and no digit for a Rust name");
            faults.add(at(), message, "give the field another name");
            continue;
        };
        if let Some(Member { field: other, .. }) = members.iter().find(|m| m.ident == ident) {
            let message = format!(
                "the fields `{}` and `{name}` would both be called `{ident}`",
                other.name
            );
            faults.add(at(), message, "give one of the two another name");
        }
        members.push(Member {
            ident,
            field,
            presence,
        });
    }
    members
}

/// Returns the variants of a union.
fn records<'r>(schema: &'r Schema, faults: &mut Faults) -> Vec<Record<'r>> {
    let mut records: Vec<Record<'r>> = Vec::new();
    for (index, variant) in schema.variants.iter().enumerate() {
        let at = || format!("/schemas/{}/variants/{index}/name", schema.name);
        let name = variant.head.concat();
        let Some(ident) = sanitize(&pascal(&name), 'N') else {
            let message =
                format!("the variant `{name}` has no letter and no digit for a Rust name");
            faults.add(at(), message, "give the variant another name");
            continue;
        };
        if let Some(other) = records.iter().find(|other| other.ident == ident) {
            let other = other.name();
            let message =
                format!("the variants `{other}` and `{name}` would both be called `{ident}`");
            faults.add(at(), message, "give one of the two another name");
        }
        let mut members = members(schema, Some(variant), faults);
        members.retain(|member| schema.union.as_ref() != Some(&member.field.name));
        records.push(Record {
            ident,
            variant,
            members,
        });
    }
    records
}

/// Returns the values of a field of type `enum(..)`, or of lists or maps of such a type.
fn variants<'r>(
    schema: &Schema,
    field: &'r Field,
    faults: &mut Faults,
) -> Option<Vec<Variant<'r>>> {
    let mut ty = &field.ty;
    while let Type::List(item) | Type::Map(item) = ty {
        ty = item;
    }
    let Type::Enum(values) = ty else { return None };
    let at = || format!("/schemas/{}/types/{}", schema.name, field.name);
    let mut variants: Vec<Variant<'r>> = Vec::new();
    for value in values {
        let name = &value.name;
        let Some(ident) = sanitize(&pascal(name), 'N') else {
            let message =
                format!("the enum value `{name}` has no letter and no digit for a Rust name");
            let cure = format!("make it the symbol of a name: enum(a_name={name})");
            faults.add(at(), message, &cure);
            continue;
        };
        if let Some(Variant { value: other, .. }) = variants.iter().find(|v| v.ident == ident) {
            let other = &other.name;
            let message =
                format!("the enum values `{other}` and `{name}` would both be called `{ident}`");
            let cure = format!("make one the symbol of another name: enum(a_name={name})");
            faults.add(at(), message, &cure);
        }
        variants.push(Variant { ident, value });
    }
    Some(variants)
}

#[derive(Default)]
struct Faults {
    list: Vec<NameFault>,
}

impl Faults {
    /// Adds a fault, unless another struct has already caused the same fault.
    fn add(&mut self, pointer: String, message: String, cure: &str) {
        let fault = NameFault {
            file: None,
            position: None,
            pointer,
            message,
            cure: cure.to_owned(),
        };
        if !self.list.contains(&fault) {
            self.list.push(fault);
        }
    }
}
