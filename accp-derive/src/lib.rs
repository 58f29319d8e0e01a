//! `#[derive(AccpFrame)]`: a struct checked against the registry, and its codec.
//!
//! Used through `accp-runtime`, which re-exports it and documents what comes of it.

mod ast;
mod attr;
mod check;
mod ctxt;
mod expand;
mod fallback;
mod plan;
mod registry;

use accp_registry::{ACCP, Protocol};
use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements the codec of a frame, a nested map or an enumeration, checked against the
/// registry at compile time (draft section 6).
///
/// What comes of it depends on the item:
///
/// | Item | Implements |
/// |---|---|
/// | a struct with `intent` and `operation` | `EncodeFrame`, `DecodeFrame`, and `FrameFamily` if it has no type parameters |
/// | a struct without them | `EncodeValue`, `DecodeValue`: a map, of its schema's fields if it names a schema, else for fields of type `any` or `{any}` |
/// | an enum without data | `EncodeValue`, `DecodeValue`: an enumeration, for fields of type `enum(..)`, `string` or `any` |
/// | an enum with data | the same: one frame a variant |
///
/// # On the struct or enum
///
/// - `schema = "TA"`: the code of the schema. Without one, every field is of type `any`.
/// - `intent = "req"`, `operation = "schedule"`: which frame it is.
/// - `registry = "path"`: the registry file or directory, from the folder of `Cargo.toml`;
///   without it the one that the variable `ACCP_REGISTRY` names, else the standard profiles.
///   The standard profiles are part of every registry that does not define them itself.
/// - `deny_unknown_fields`: a key that the struct does not have is E1004.
/// - `crate = path`: where `accp_runtime` is found under another name.
///
/// # On a field
///
/// - `default`: asserts that the registry has a default for it. A default applies either
///   way, and a value that equals it does not travel.
/// - `rename = "name"`: its full name in the registry, where the Rust name is another.
/// - `skip`: never travels; [`Default::default`] when read.
/// - `flatten`: takes the params that the schema does not know: a `Map`, or a `BTreeMap`
///   from texts to values.
///
/// # On a variant
///
/// - `schema`, `intent`, `operation`, `deny_unknown_fields`: for a variant with fields of
///   its own. One that holds a type says nothing: the type does.
/// - `rename = "name"`: the name of a value, which is else the variant's in `snake_case`.
/// - `symbol = "+"`: what travels in its place (draft section 3.3, item 3). Both are read.
#[proc_macro_derive(AccpFrame, attributes(accp))]
pub fn derive_accp_frame(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&ACCP, &input).into()
}

/// The code for an item, or its mistakes, by what the protocol says.
fn expand(protocol: &'static Protocol, original: &DeriveInput) -> proc_macro2::TokenStream {
    let cx = ctxt::Ctxt::new(protocol);
    let input = ast::Input::read(&cx, original);
    let krate = input.as_ref().and_then(|input| input.attrs.krate.clone());
    let plan = input
        .as_ref()
        .and_then(|input| Some((input, check::check(&cx, input)?)));
    match (cx.finish(), plan) {
        (None, Some((input, (plan, loaded)))) => {
            expand::expand(protocol, input, &plan, loaded.as_ref())
        }
        (error, _) => fallback::expand(protocol, original, krate.as_ref(), error),
    }
}

#[cfg(test)]
mod tests;
