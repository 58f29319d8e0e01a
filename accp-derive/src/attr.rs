//! The `#[accp(..)]` attributes.

use accp_registry::nearest;
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, LitStr, Meta, Path, Token};

use crate::ctxt::Ctxt;

/// What stands in the `#[accp(..)]` attributes of one item.
#[derive(Default)]
pub(crate) struct Attrs {
    pub(crate) schema: Option<LitStr>,
    pub(crate) intent: Option<LitStr>,
    pub(crate) operation: Option<LitStr>,
    pub(crate) registry: Option<LitStr>,
    pub(crate) krate: Option<Path>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) symbol: Option<LitStr>,
    pub(crate) deny_unknown_fields: Option<Ident>,
    pub(crate) default: Option<Ident>,
    pub(crate) skip: Option<Ident>,
    pub(crate) flatten: Option<Ident>,
}

/// Where an attribute stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Container,
    Variant,
    Field,
}

use Place::{Container, Field, Variant};

/// Which attribute may stand where.
const NAMES: &[(&str, &[Place])] = &[
    ("schema", &[Container, Variant]),
    ("intent", &[Container, Variant]),
    ("operation", &[Container, Variant]),
    ("registry", &[Container]),
    ("crate", &[Container]),
    ("deny_unknown_fields", &[Container, Variant]),
    ("default", &[Field]),
    ("rename", &[Field, Variant]),
    ("skip", &[Field]),
    ("flatten", &[Field]),
    ("symbol", &[Variant]),
];

impl Place {
    fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES
            .iter()
            .filter(move |(_, places)| places.contains(&self))
            .map(|&(name, _)| name)
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
    /// Reads the attributes of one item; what is wrong is noted and left out.
    pub(crate) fn read(cx: &Ctxt, attributes: &[Attribute], place: Place) -> Self {
        let mut attrs = Self::default();
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("accp"))
        {
            let Meta::List(list) = &attribute.meta else {
                cx.error(&attribute.meta, "expected a list: `#[accp(..)]`");
                continue;
            };
            match list.parse_args_with(Punctuated::<Item, Token![,]>::parse_terminated) {
                Ok(items) => items.iter().for_each(|item| attrs.take(cx, item, place)),
                Err(error) => cx.push(error),
            }
        }
        attrs
    }

    fn take(&mut self, cx: &Ctxt, item: &Item, place: Place) {
        let name = item.name.to_string();
        if !place.names().any(|known| known == name) {
            return cx.error(&item.name, unknown(&name, place));
        }
        let is_set = match name.as_str() {
            "schema" => item.text(cx, &mut self.schema),
            "intent" => item.text(cx, &mut self.intent),
            "operation" => item.text(cx, &mut self.operation),
            "registry" => item.text(cx, &mut self.registry),
            "rename" => item.text(cx, &mut self.rename),
            "symbol" => item.text(cx, &mut self.symbol),
            "crate" => item.path(cx, &mut self.krate),
            "deny_unknown_fields" => item.flag(cx, &mut self.deny_unknown_fields),
            "default" => item.flag(cx, &mut self.default),
            "skip" => item.flag(cx, &mut self.skip),
            _ => item.flag(cx, &mut self.flatten),
        };
        if !is_set {
            cx.error(&item.name, format!("`{name}` stands twice"));
        }
    }
}

fn unknown(name: &str, place: Place) -> String {
    let here = place.describe();
    let known: Vec<_> = place.names().collect();
    if let Some((_, places)) = NAMES.iter().find(|(other, _)| *other == name) {
        let places: Vec<_> = places.iter().map(|place| place.describe()).collect();
        return format!("`{name}` belongs on {}, not on {here}", places.join(" or "));
    }
    let known = known.join(", ");
    match nearest(name, place.names()) {
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
    /// Puts a text in its slot; false when the slot is taken.
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

    /// The value, where there is one, else the name.
    fn fault(&self) -> TokenStream {
        let name = &self.name;
        if self.value.is_empty() {
            quote::quote!(#name)
        } else {
            self.value.clone()
        }
    }
}

/// The first value stays; false when there is one.
fn fill<T>(slot: &mut Option<T>, value: T) -> bool {
    let is_free = slot.is_none();
    slot.get_or_insert(value);
    is_free
}
