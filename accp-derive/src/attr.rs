//! The attributes of the derives: `#[accp(..)]` for frames, and `#[aacp(..)]` for packets.

mod bound;
mod case;
mod item;

use accp_registry::{Protocol, nearest};
use proc_macro2::Ident;
use syn::{Attribute, LitStr, Meta, Path};

pub(crate) use bound::{Bound, Predicates};
pub(crate) use case::Case;
use item::{Item, Items};

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
    /// Further keys under which a reader accepts the field.
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) symbol: Option<LitStr>,
    pub(crate) deny_unknown_fields: Option<Ident>,
    pub(crate) default: Option<Ident>,
    pub(crate) skip: Option<Ident>,
    pub(crate) flatten: Option<Ident>,
    pub(crate) new: Option<Ident>,
    /// The flag `other`: this variant takes the values for which there is no other variant.
    pub(crate) other: Option<Ident>,
    pub(crate) transparent: Option<Ident>,
    /// The module that converts the value of a field.
    pub(crate) with: Option<Path>,
    /// The fields of the schema that the struct does not have and that may be lost.
    pub(crate) ignore: Vec<LitStr>,
    /// Whether an `ignore` has a mistake and names no field. Then any field may be the ignored one.
    pub(crate) ignores_any: bool,
    /// The case of the names of the fields or variants inside the item.
    pub(crate) rename_all: Option<Case>,
    /// Bounds that the user writes instead of the bounds that the derive would add.
    pub(crate) bound: Bound,
    /// Whether an attribute has a mistake. Then an attribute that seems to be missing may be the attribute with the
    /// mistake.
    pub(crate) is_faulty: bool,
}

/// The kind of item that has an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttributeTarget {
    Container,
    Variant,
    Field,
}

use AttributeTarget::{Container, Field, Variant};

/// An attribute, and the items that may have it.
type Known = (&'static str, &'static [AttributeTarget]);

/// Returns the attributes that identify a kind of message: the schema, if a message names one, and
/// the parts of the head.
pub(crate) fn identity(protocol: &Protocol) -> impl Iterator<Item = &'static str> {
    let schema = protocol.schema_key.map(|_| "schema");
    schema
        .into_iter()
        .chain(protocol.head.iter().map(|part| part.name))
}

/// The attributes that do not exist for a protocol whose values are text. They are for protocols whose schemas
/// declare the types of fields, or in which keys may clash.
const NOT_OF_TEXTS: [&str; 8] = [
    "alias",
    "other",
    "registry",
    "deny_unknown_fields",
    "ignore",
    "default",
    "with",
    "symbol",
];

/// Returns all attributes of a protocol, each with the kinds of items that may have it.
fn known(protocol: &Protocol) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    // A variant can have the attributes of a message only if the protocol lets an enum hold several messages.
    let targets = if protocol.is_text() {
        &[Container][..]
    } else {
        &[Container, Variant]
    };
    known.extend(identity(protocol).map(|name| (name, targets)));
    known.extend([
        ("registry", &[Container][..]),
        ("crate", &[Container]),
        ("deny_unknown_fields", &[Container, Variant]),
        ("ignore", &[Container, Variant]),
        ("new", &[Container]),
        ("transparent", &[Container]),
        ("rename_all", &[Container, Variant]),
        ("bound", &[Container]),
        ("default", &[Field]),
        ("rename", &[Field, Variant]),
        ("alias", &[Field]),
        ("skip", &[Field]),
        (protocol.rust.rest, &[Field]),
        ("with", &[Field]),
        ("symbol", &[Variant]),
        ("other", &[Variant]),
    ]);
    if protocol.is_text() {
        known.retain(|(name, _)| !NOT_OF_TEXTS.contains(name));
    }
    known
}

impl AttributeTarget {
    fn names(self, known: &[Known]) -> Vec<&'static str> {
        let here = known.iter().filter(|(_, targets)| targets.contains(&self));
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
    /// Reads the attributes of one item. Wrong attributes are reported and left out.
    pub(crate) fn read(cx: &Ctxt, attributes: &[Attribute], target: AttributeTarget) -> Self {
        let mut attrs = Self {
            head: cx.protocol.head.iter().map(|_| None).collect(),
            ..Self::default()
        };
        let (ours, before) = (cx.protocol.rust.attribute, cx.count());
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident(ours))
        {
            let Meta::List(list) = &attribute.meta else {
                cx.error(&attribute.meta, format!("expected a list: `#[{ours}(..)]`"));
                continue;
            };
            match list.parse_args::<Items>() {
                Ok(Items { items, faults }) => {
                    for item in &items {
                        attrs.take(cx, item, target);
                    }
                    for fault in faults {
                        cx.push(fault);
                    }
                }
                Err(error) => cx.push(error),
            }
        }
        attrs.is_faulty = cx.count() > before;
        attrs
    }

    /// Returns the texts of the attributes that identify a kind of message.
    pub(crate) fn identity(&self) -> impl Iterator<Item = &LitStr> {
        self.schema.iter().chain(self.head.iter().flatten())
    }

    fn take(&mut self, cx: &Ctxt, item: &Item, target: AttributeTarget) {
        let name = item.name.to_string();
        let known = known(cx.protocol);
        if !target.names(&known).contains(&name.as_str()) {
            return cx.error(&item.name, unknown(&name, target, &known));
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
            "other" => item.flag(cx, &mut self.other),
            "transparent" => item.flag(cx, &mut self.transparent),
            "with" => item.path(cx, &mut self.with),
            "rename_all" => item.case(cx, &mut self.rename_all),
            "bound" => item.bound(cx, &mut self.bound),
            "alias" => {
                let mut key = None;
                item.text(cx, &mut key);
                self.aliases.extend(key);
                true
            }
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

fn unknown(name: &str, target: AttributeTarget, known: &[Known]) -> String {
    let here = target.describe();
    if let Some((_, targets)) = known.iter().find(|(other, _)| *other == name) {
        let targets: Vec<_> = targets.iter().map(|target| target.describe()).collect();
        return format!(
            "`{name}` belongs on {}, not on {here}",
            targets.join(" or ")
        );
    }
    let names = target.names(known);
    let near = nearest(name, names.iter().copied());
    let known = names.join(", ");
    match near {
        Some(near) => {
            format!("unknown attribute `{name}`; did you mean `{near}`? On {here}: {known}")
        }
        None => format!("unknown attribute `{name}`; on {here} there are {known}"),
    }
}
