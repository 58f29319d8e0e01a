//! Makes the source of the types in a generated file.

use std::collections::BTreeSet;

use accp_registry::{Field, Format, Protocol, Schema, Type};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::attributes::Attributes;
use crate::catalog::Catalog;
use crate::doc;
use crate::error::Error;
use crate::item::{Item, Kind, Member, Presence, Record, Variant};
use crate::names::{pascal, snake};
use crate::options::Options;

/// The external types that the text uses.
#[derive(Default)]
struct Uses {
    alloc: BTreeSet<&'static str>,
    runtime: BTreeSet<&'static str>,
}

/// The types that a file defines, and what they use.
pub(crate) struct File<'f> {
    protocol: &'static Protocol,
    catalog: &'f Catalog<'f>,
    options: &'f Options,
    runtime: syn::Path,
    attributes: Attributes,
    uses: Uses,
}

impl<'f> File<'f> {
    pub(crate) fn new(
        protocol: &'static Protocol,
        catalog: &'f Catalog<'f>,
        options: &'f Options,
        runtime: syn::Path,
        attributes: Attributes,
    ) -> Self {
        Self {
            protocol,
            catalog,
            options,
            runtime,
            attributes,
            uses: Uses::default(),
        }
    }

    /// Returns the imports that the types need. Call this after the source of all types was made.
    ///
    /// # Errors
    /// The attributes whose path names no type or field.
    pub(crate) fn finish(self) -> Result<Vec<TokenStream>, Error> {
        let imports = self.use_items();
        self.attributes.finish()?;
        Ok(imports)
    }

    /// Returns the source of a type.
    pub(crate) fn item(&mut self, item: &Item<'_>) -> TokenStream {
        self.uses.runtime.insert(self.protocol.rust.derive);
        let Item {
            ident,
            schema,
            kind,
        } = item;
        match kind {
            Kind::Frame(frame, members) => {
                let parts = self.protocol.head.iter().zip(&frame.head);
                let parts = parts.map(|(part, word)| {
                    let name = Ident::new(part.name, Span::call_site());
                    quote!(#name = #word)
                });
                let identity: Vec<_> = self.schema(schema).into_iter().chain(parts).collect();
                let doc = doc::frame(self.protocol, schema, frame);
                self.structure(&doc, ident, schema, identity, members)
            }
            Kind::Nested(members) => {
                let identity = self.schema(schema).into_iter().collect();
                let doc = doc::nested(self.protocol, schema);
                self.structure(&doc, ident, schema, identity, members)
            }
            Kind::Union(records) => self.union(ident, schema, records),
            Kind::Frames => self.choice(ident, Some(schema), &doc::frames(self.protocol, schema)),
            Kind::Enum(field, variants) => self.enumeration(ident, schema, field, variants),
        }
    }

    /// Returns the attribute that names the schema, if messages name it.
    fn schema(&self, schema: &Schema) -> Option<TokenStream> {
        let code = &schema.code;
        let is_named = self.protocol.schema_key.is_some() && !self.options.schemaless;
        is_named.then(|| quote!(schema = #code))
    }

    fn structure(
        &mut self,
        doc: &TokenStream,
        ident: &Ident,
        schema: &Schema,
        identity: Vec<TokenStream>,
        members: &[Member<'_>],
    ) -> TokenStream {
        let borrows = self.catalog.any_borrows(ident, schema, members);
        let lifetime = borrows.then(|| quote!(<'a>));
        let registry = self.options.registry.as_ref();
        let registry = registry.filter(|_| !self.options.schemaless);
        let registry = registry.map(|path| quote!(registry = #path));
        let place = self.place(registry);
        let new = (!self.options.schemaless).then(|| quote!(new));
        let identity = self.attribute(identity.into_iter().chain(new));
        // If a struct has no required field, the attribute `new` implements `Default` for it. So the struct must not
        // derive `Default`, too.
        let requires = |member: &Member<'_>| member.presence == Presence::Required;
        let has_default = !self.options.schemaless && !members.iter().any(requires);
        let given: &[&str] = if has_default { &["Default"] } else { &[] };
        let head = self.head(ident, Some(schema), &["Debug", "Clone", "PartialEq"], given);
        let fields = members
            .iter()
            .map(|member| self.field(ident, schema, member, &quote!(pub)));
        let fields: Vec<TokenStream> = fields.collect();
        quote! {
            #doc
            #head
            #identity
            #place
            pub struct #ident #lifetime { #(#fields)* }
        }
    }

    /// Returns the enum of a union.
    fn union(&mut self, ident: &Ident, schema: &Schema, records: &[Record<'_>]) -> TokenStream {
        let members = records.iter().flat_map(|record| &record.members);
        let borrows = self.catalog.any_borrows(ident, schema, members);
        let lifetime = borrows.then(|| quote!(<'a>));
        let place = self.place(
            self.options
                .registry
                .as_ref()
                .map(|path| quote!(registry = #path)),
        );
        let identity = self.attribute(self.schema(schema));
        let head = self.head(ident, Some(schema), &["Debug", "Clone", "PartialEq"], &[]);
        let variants = records.iter().map(|record| {
            let (doc, own, name) = (doc::record(record.variant), &record.ident, record.name());
            let implied = pascal(name);
            let is_implied = *own == implied.as_str() && snake(&implied) == *name;
            let rename = (!is_implied).then(|| quote!(rename = #name));
            let accp = self.attribute(rename);
            let names = [&own.to_string(), name];
            let added = self.attributes.of_variant(ident, Some(schema), names);
            let fields = record.members.iter();
            let fields =
                fields.map(|member| self.field(ident, schema, member, &TokenStream::new()));
            let fields: Vec<TokenStream> = fields.collect();
            let fields = (!fields.is_empty()).then(|| quote!({ #(#fields)* }));
            quote!(#doc #(#added)* #accp #own #fields,)
        });
        let variants: Vec<TokenStream> = variants.collect();
        let other = self.options.open_enums.then(|| {
            let taken: Vec<&Ident> = records.iter().map(|record| &record.ident).collect();
            let map = self.runtime_type("Map", true);
            self.other(&taken, &doc::other_record(), &map)
        });
        let doc = doc::nested(self.protocol, schema);
        quote! {
            #doc
            #head
            #identity
            #place
            pub enum #ident #lifetime { #(#variants)* #other }
        }
    }

    fn field(
        &mut self,
        owner: &Ident,
        schema: &Schema,
        member: &Member<'_>,
        visibility: &TokenStream,
    ) -> TokenStream {
        let Member {
            ident,
            field,
            presence,
        } = member;
        let doc = doc::field(field, *presence);
        // Without a schema, the derive cannot look up an abbreviation that the registry gives to a field. So `rename`
        // states it.
        let has_own_key = self.protocol.abbreviate(&field.name) != Some(&field.short);
        let name = if self.options.schemaless && has_own_key {
            &field.short
        } else {
            &field.name
        };
        let rename = (*ident != name.as_str()).then(|| quote!(rename = #name));
        let default = (*presence == Presence::Default).then(|| quote!(default));
        let aliases = field.aliases.iter().map(|alias| quote!(alias = #alias));
        let accp = self.attribute(default.into_iter().chain(rename).chain(aliases));
        let own = self.catalog.overrides.of_field(owner, ident);
        let mut ty = match own {
            Some(own) => quote!(#own),
            None => self.rust_type(schema, field, &field.ty),
        };
        if own.is_none() && self.catalog.needs_box(schema, &field.ty) {
            self.prelude("boxed::Box");
            ty = quote!(Box<#ty>);
        }
        if *presence == Presence::Optional {
            ty = quote!(Option<#ty>);
        }
        let names = [&ident.to_string(), field.name.as_str()];
        let added = self.attributes.of_field(owner, Some(schema), names);
        quote!(#doc #(#added)* #accp #visibility #ident: #ty,)
    }

    /// Returns the enum over the frames of all schemas.
    pub(crate) fn any(&mut self) -> Option<TokenStream> {
        let ident = self.catalog.any.as_ref()?;
        let open = self.catalog.items.iter();
        let open = open.filter(|item| item.schema.frames.is_empty());
        let open: BTreeSet<&str> = open.map(|item| item.schema.code.as_str()).collect();
        Some(self.choice(ident, None, &doc::any(self.protocol, &open)))
    }

    /// Returns an enum over the frames of a schema, or of all schemas.
    fn choice(&mut self, ident: &Ident, schema: Option<&Schema>, doc: &TokenStream) -> TokenStream {
        let mut borrows = false;
        let mut variants = Vec::new();
        let of_schema = |item: &&Item<'_>| schema.is_none_or(|of| of.code == item.schema.code);
        for item in self.catalog.items.iter().filter(of_schema) {
            let Kind::Frame(frame, members) = &item.kind else {
                continue;
            };
            let (variant, doc) = (&item.ident, doc::frame(self.protocol, item.schema, frame));
            let name = variant.to_string();
            let names = [name.as_str(); 2];
            let added = self.attributes.of_variant(ident, schema, names);
            let generated = self.catalog.any_borrows(variant, item.schema, members);
            let lifetime = generated.then(|| quote!(<'a>));
            borrows |= self.catalog.overrides.borrows(variant, generated);
            let ty = self.catalog.overrides.of_type(variant, lifetime.as_ref());
            variants.push(quote!(#doc #(#added)* #variant(#ty),));
        }
        let lifetime = borrows.then(|| quote!(<'a>));
        let place = self.place(None);
        let head = self.head(ident, schema, &["Debug", "Clone", "PartialEq"], &[]);
        quote! {
            #doc
            #head
            #place
            pub enum #ident #lifetime { #(#variants)* }
        }
    }

    fn enumeration(
        &mut self,
        ident: &Ident,
        schema: &Schema,
        field: &Field,
        variants: &[Variant<'_>],
    ) -> TokenStream {
        let (doc, place) = (doc::enumeration(schema, field), self.place(None));
        let mut derived = vec!["Debug", "Clone", "Copy", "PartialEq", "Eq", "Hash"];
        // An open enum has a variant with a `String`, so it cannot be `Copy`.
        derived.retain(|name| *name != "Copy" || !self.options.open_enums);
        let head = self.head(ident, Some(schema), &derived, &[]);
        let other = self.options.open_enums.then(|| {
            self.prelude("string::String");
            let taken: Vec<&Ident> = variants.iter().map(|variant| &variant.ident).collect();
            self.other(&taken, &doc::other(), &quote!(String))
        });
        let variants = variants.iter().map(|variant| {
            let (doc, own, name) = (doc::variant(variant), &variant.ident, &variant.value.name);
            let implied = pascal(name);
            let is_implied = *own == implied.as_str() && snake(&implied) == *name;
            let rename = (!is_implied).then(|| quote!(rename = #name));
            let symbol = variant
                .value
                .symbol
                .as_ref()
                .map(|symbol| quote!(symbol = #symbol));
            let accp = self.attribute(rename.into_iter().chain(symbol));
            let names = [&own.to_string(), name.as_str()];
            let added = self.attributes.of_variant(ident, Some(schema), names);
            quote!(#doc #(#added)* #accp #own,)
        });
        let variants: Vec<TokenStream> = variants.collect();
        quote! {
            #doc
            #head
            #place
            pub enum #ident { #(#variants)* #other }
        }
    }

    /// Returns the variant for all other values. Its name differs from the names of all listed values.
    fn other(&self, taken: &[&Ident], doc: &TokenStream, ty: &TokenStream) -> TokenStream {
        let is_free = |name: &String| taken.iter().all(|ident| **ident != name);
        let plain = ["Other", "Unknown"].into_iter().map(str::to_owned);
        let mut names = plain.chain((2_u32..).map(|number| format!("Other{number}")));
        let name = names.find(is_free).unwrap_or_default();
        let name = Ident::new(&name, Span::call_site());
        let accp = self.attribute([quote!(other)]);
        quote!(#doc #accp #name(#ty),)
    }

    /// Returns the attribute with the entries of the registry and, if the derive would not find the runtime by itself,
    /// the path of the runtime.
    fn place(&self, registry: Option<TokenStream>) -> Option<TokenStream> {
        let path = &self.runtime;
        let is_found = self.options.runtime == self.protocol.rust.runtime;
        let runtime = (!is_found).then(|| quote!(crate = #path));
        self.attribute(registry.into_iter().chain(runtime))
    }

    /// Returns the attribute of the derive with these entries; `None` without entries.
    fn attribute(&self, entries: impl IntoIterator<Item = TokenStream>) -> Option<TokenStream> {
        let entries: Vec<TokenStream> = entries.into_iter().collect();
        let name = Ident::new(self.protocol.rust.attribute, Span::call_site());
        (!entries.is_empty()).then(|| quote!(#[#name(#(#entries),*)]))
    }

    /// Returns the derives of a type, and the attributes that the user adds. `given` names the traits that the type
    /// implements without a derive.
    fn head(
        &mut self,
        ident: &Ident,
        schema: Option<&Schema>,
        derived: &[&str],
        given: &[&str],
    ) -> TokenStream {
        let names = [self.protocol.rust.derive].into_iter();
        let names = names.chain(derived.iter().copied());
        let names = names.map(|name| Ident::new(name, Span::call_site()));
        let has = [derived, given].concat();
        let added = self.attributes.of_type(ident, schema, &has);
        // A program may use only some of the types, and should get no warnings for the others.
        quote!(#[derive(#(#names),*)] #[allow(dead_code)] #(#added)*)
    }

    fn rust_type(&mut self, schema: &Schema, field: &Field, ty: &Type) -> TokenStream {
        match ty {
            Type::Integer => quote!(i64),
            Type::Number => quote!(f64),
            Type::Boolean => quote!(bool),
            Type::String | Type::Text => self.text(),
            Type::Decimal => self.runtime_type("Decimal", false),
            Type::Agent => self.runtime_type("AgentId", true),
            Type::Formatted(Format::Bytes) => {
                self.prelude("vec::Vec");
                quote!(Vec<u8>)
            }
            Type::Formatted(format) => {
                // A schema may have the same name as one of these types. So the text imports only their module.
                self.uses.runtime.insert("formats");
                let name = Ident::new(&pascal(format.word()), Span::call_site());
                let lifetime = if self.options.owned {
                    quote!('static)
                } else {
                    quote!('a)
                };
                quote!(formats::#name<#lifetime>)
            }
            Type::Map(item) if **item == Type::Any => self.runtime_type("Map", true),
            Type::List(item) => {
                self.prelude("vec::Vec");
                let item = self.rust_type(schema, field, item);
                quote!(Vec<#item>)
            }
            Type::Map(item) => {
                self.uses.alloc.insert("collections::BTreeMap");
                let text = self.text();
                let item = self.rust_type(schema, field, item);
                quote!(BTreeMap<#text, #item>)
            }
            Type::Enum(_) => {
                let ident = self.catalog.enumeration(schema, field);
                ident.map_or_else(TokenStream::new, |ident| {
                    self.catalog.overrides.of_type(ident, None)
                })
            }
            Type::Schema(code) => {
                let ident = self.catalog.nested(code);
                let lifetime = self.catalog.borrows(ty).then(|| quote!(<'a>));
                ident.map_or_else(TokenStream::new, |ident| {
                    self.catalog.overrides.of_type(ident, lifetime.as_ref())
                })
            }
            // `any`, and types that a later registry may add, are read as `Value`.
            _ => self.runtime_type("Value", true),
        }
    }

    /// Returns the type of a text.
    fn text(&mut self) -> TokenStream {
        if self.options.owned {
            self.prelude("string::String");
            return quote!(String);
        }
        self.uses.alloc.insert("borrow::Cow");
        quote!(Cow<'a, str>)
    }

    /// Returns a type of the runtime, which may borrow from the frame.
    fn runtime_type(&mut self, name: &'static str, borrows: bool) -> TokenStream {
        self.uses.runtime.insert(name);
        let ident = Ident::new(name, Span::call_site());
        match (borrows, self.options.owned) {
            (false, _) => quote!(#ident),
            (true, false) => quote!(#ident<'a>),
            (true, true) => quote!(#ident<'static>),
        }
    }

    /// Notes that the text uses a type of the prelude. Only a text without `std` has to import it.
    fn prelude(&mut self, path: &'static str) {
        if self.is_no_std() {
            self.uses.alloc.insert(path);
        }
    }

    fn is_no_std(&self) -> bool {
        self.options.no_std || self.options.runtime == "crate"
    }

    fn use_items(&self) -> Vec<TokenStream> {
        let root = if self.is_no_std() { "alloc" } else { "std" };
        let root = Ident::new(root, Span::call_site());
        let alloc = self
            .uses
            .alloc
            .iter()
            .filter_map(|path| syn::parse_str::<syn::Path>(path).ok());
        let alloc: Vec<TokenStream> = alloc.map(|path| quote!(use #root::#path;)).collect();
        let names = self.uses.runtime.iter();
        let names = names.map(|name| Ident::new(name, Span::call_site()));
        let (names, runtime): (Vec<Ident>, _) = (names.collect(), &self.runtime);
        let runtime = match &names[..] {
            [] => None,
            [name] => Some(quote!(use #runtime::#name;)),
            _ => Some(quote!(use #runtime::{#(#names),*};)),
        };
        let alloc = (!alloc.is_empty()).then(|| quote!(#(#alloc)*));
        alloc.into_iter().chain(runtime).collect()
    }
}
