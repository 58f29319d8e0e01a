//! The attributes: `#[accp(..)]`, or the name that the protocol gives.

use accp_registry::{Protocol, nearest};
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, LitStr, Meta, Path, Token};

use crate::ctxt::Ctxt;

/// The attributes of one item.
#[derive(Default)]
pub(crate) struct Attrs {
    pub(crate) schema: Option<LitStr>,
    /// The parts of the head, in the order of the protocol.
    pub(crate) head: Vec<Option<LitStr>>,
    pub(crate) registry: Option<LitStr>,
    pub(crate) krate: Option<Path>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) symbol: Option<LitStr>,
    pub(crate) deny_unknown_fields: Option<Ident>,
    pub(crate) default: Option<Ident>,
    pub(crate) skip: Option<Ident>,
    pub(crate) flatten: Option<Ident>,
    pub(crate) new: Option<Ident>,
    pub(crate) transparent: Option<Ident>,
    /// The module that converts the value of a field.
    pub(crate) with: Option<Path>,
    /// The fields of the schema that may be lost.
    pub(crate) ignore: Vec<LitStr>,
    /// Whether one of the ignored fields has no name, so that it may be any field.
    pub(crate) ignores_any: bool,
}

/// The place of an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Container,
    Variant,
    Field,
}

use Place::{Container, Field, Variant};

/// An attribute, and the places where it may stand.
type Known = (&'static str, &'static [Place]);

/// Returns the attributes that identify a kind of message: the schema, if a message names one, and
/// the parts of the head.
pub(crate) fn identity(protocol: &Protocol) -> impl Iterator<Item = &'static str> {
    let schema = protocol.schema_key.map(|_| "schema");
    schema
        .into_iter()
        .chain(protocol.head.iter().map(|part| part.name))
}

/// The attributes that are of use only where a schema declares fields and their types.
const OF_SCHEMAS: [&str; 6] = [
    "registry",
    "deny_unknown_fields",
    "ignore",
    "default",
    "with",
    "symbol",
];

/// Returns every attribute with the places where it may stand.
fn known(protocol: &Protocol) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    // A variant is a message only where an enum can be several.
    let places = if protocol.is_text() {
        &[Container][..]
    } else {
        &[Container, Variant]
    };
    known.extend(identity(protocol).map(|name| (name, places)));
    known.extend([
        ("registry", &[Container][..]),
        ("crate", &[Container]),
        ("deny_unknown_fields", &[Container, Variant]),
        ("ignore", &[Container, Variant]),
        ("new", &[Container]),
        ("transparent", &[Container]),
        ("default", &[Field]),
        ("rename", &[Field, Variant]),
        ("skip", &[Field]),
        (protocol.rust.rest, &[Field]),
        ("with", &[Field]),
        ("symbol", &[Variant]),
    ]);
    if protocol.is_text() {
        known.retain(|(name, _)| !OF_SCHEMAS.contains(name));
    }
    known
}

impl Place {
    fn names(self, known: &[Known]) -> Vec<&'static str> {
        let here = known.iter().filter(|(_, places)| places.contains(&self));
        here.map(|&(name, _)| name).collect()
    }

    fn describe(self) -> &'static str {
        match self {
            Container => "a struct or an enum",
            Variant => "a variant",
            Field => "a field",
        }
    }
}

impl Attrs {
    /// Reads the attributes of one item. Wrong attributes are noted and left out.
    pub(crate) fn read(cx: &Ctxt, attributes: &[Attribute], place: Place) -> Self {
        let mut attrs = Self {
            head: cx.protocol.head.iter().map(|_| None).collect(),
            ..Self::default()
        };
        let ours = cx.protocol.rust.attribute;
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident(ours))
        {
            let Meta::List(list) = &attribute.meta else {
                cx.error(&attribute.meta, format!("expected a list: `#[{ours}(..)]`"));
                continue;
            };
            match list.parse_args_with(Punctuated::<Item, Token![,]>::parse_terminated) {
                Ok(items) => items.iter().for_each(|item| attrs.take(cx, item, place)),
                Err(error) => cx.push(error),
            }
        }
        attrs
    }

    /// Returns the texts of the attributes that identify a kind of message.
    pub(crate) fn identity(&self) -> impl Iterator<Item = &LitStr> {
        self.schema.iter().chain(self.head.iter().flatten())
    }

    fn take(&mut self, cx: &Ctxt, item: &Item, place: Place) {
        let name = item.name.to_string();
        let known = known(cx.protocol);
        if !place.names(&known).contains(&name.as_str()) {
            return cx.error(&item.name, unknown(&name, place, &known));
        }
        let part = cx.protocol.part(&name);
        if let Some(slot) = part.and_then(|index| self.head.get_mut(index)) {
            if !item.text(cx, slot) {
                cx.error(&item.name, format!("`{name}` stands twice"));
            }
            return;
        }
        let is_set = match name.as_str() {
            "schema" => item.text(cx, &mut self.schema),
            "registry" => item.text(cx, &mut self.registry),
            "rename" => item.text(cx, &mut self.rename),
            "symbol" => item.text(cx, &mut self.symbol),
            "crate" => item.path(cx, &mut self.krate),
            "deny_unknown_fields" => item.flag(cx, &mut self.deny_unknown_fields),
            "default" => item.flag(cx, &mut self.default),
            "skip" => item.flag(cx, &mut self.skip),
            "new" => item.flag(cx, &mut self.new),
            "transparent" => item.flag(cx, &mut self.transparent),
            "with" => item.path(cx, &mut self.with),
            "ignore" => {
                let mut name = None;
                item.text(cx, &mut name);
                self.ignores_any |= name.is_none();
                self.ignore.extend(name);
                true
            }
            _ => item.flag(cx, &mut self.flatten),
        };
        if !is_set {
            cx.error(&item.name, format!("`{name}` stands twice"));
        }
    }
}

fn unknown(name: &str, place: Place, known: &[Known]) -> String {
    let here = place.describe();
    if let Some((_, places)) = known.iter().find(|(other, _)| *other == name) {
        let places: Vec<_> = places.iter().map(|place| place.describe()).collect();
        return format!("`{name}` belongs on {}, not on {here}", places.join(" or "));
    }
    let names = place.names(known);
    let near = nearest(name, names.iter().copied());
    let known = names.join(", ");
    match near {
        Some(near) => {
            format!("unknown attribute `{name}`; did you mean `{near}`? On {here}: {known}")
        }
        None => format!("unknown attribute `{name}`; on {here} there are {known}"),
    }
}

/// `name` or `name = value`
struct Item {
    name: Ident,
    has_equals: bool,
    value: TokenStream,
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?;
        let has_equals = input.parse::<Option<Token![=]>>()?.is_some();
        let mut value = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            value.extend([input.parse::<TokenTree>()?]);
        }
        Ok(Self {
            name,
            has_equals,
            value,
        })
    }
}

impl Item {
    /// Puts a text in its slot; returns false when the slot is taken.
    fn text(&self, cx: &Ctxt, slot: &mut Option<LitStr>) -> bool {
        let text = syn::parse2::<LitStr>(self.value.clone());
        self.put(
            cx,
            slot,
            text.ok().filter(|_| self.has_equals),
            "a string",
            "\"..\"",
        )
    }

    fn path(&self, cx: &Ctxt, slot: &mut Option<Path>) -> bool {
        let path = match syn::parse2::<LitStr>(self.value.clone()) {
            Ok(text) => text.parse_with(Path::parse_mod_style),
            Err(_) => syn::parse::Parser::parse2(Path::parse_mod_style, self.value.clone()),
        };
        self.put(
            cx,
            slot,
            path.ok().filter(|_| self.has_equals),
            "a path",
            "my::path",
        )
    }

    fn flag(&self, cx: &Ctxt, slot: &mut Option<Ident>) -> bool {
        if self.has_equals || !self.value.is_empty() {
            let message = format!("`{}` stands alone, without a value", self.name);
            cx.error(self.fault(), message);
        }
        fill(slot, self.name.clone())
    }

    fn put<T>(
        &self,
        cx: &Ctxt,
        slot: &mut Option<T>,
        value: Option<T>,
        what: &str,
        example: &str,
    ) -> bool {
        let name = &self.name;
        match value {
            Some(value) => return fill(slot, value),
            None => cx.error(
                self.fault(),
                format!("expected {what}: `{name} = {example}`"),
            ),
        }
        true
    }

    /// Returns the value, if there is one, or the name.
    fn fault(&self) -> TokenStream {
        let name = &self.name;
        if self.value.is_empty() {
            quote::quote!(#name)
        } else {
            self.value.clone()
        }
    }
}

/// Keeps the first value; returns false when there already is one.
fn fill<T>(slot: &mut Option<T>, value: T) -> bool {
    let is_free = slot.is_none();
    slot.get_or_insert(value);
    is_free
}
