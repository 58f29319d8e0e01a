//! The derive macros `AccpFrame` for frames and `AacpPacket` for packets. `AccpFrame` checks an item against the
//! registry. Both write the codec of the item.
//!
//! Used through `accp-runtime` and `accp-aacp`, which re-export the macros and document the generated
//! code.

mod ast;
mod attr;
mod check;
mod ctxt;
mod expand;
mod fallback;
mod fragments;
mod registry;
mod resolved;

use accp_registry::{AACP, ACCP, Protocol};
use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements the codec of a frame, a nested map or an enumeration, checked against the
/// registry at compile time (draft section 6).
///
/// The generated code depends on the item:
///
/// | Item | Implements |
/// |---|---|
/// | a struct with `intent` and `operation` | `EncodeFrame`, `DecodeFrame`, and `FrameFamily` if it has no type parameters |
/// | a struct with `transparent` | `EncodeValue`, `DecodeValue`, as the type of its only field |
/// | a struct without them | `EncodeValue`, `DecodeValue`: a map, of its schema's fields if it names a schema, else for fields of type `any` or `{any}` |
/// | an enum without data | `EncodeValue`, `DecodeValue`: an enumeration, for fields of type `enum(..)`, `string` or `any` |
/// | an enum whose schema is a union | `EncodeValue`, `DecodeValue`: a map with a tag, and a variant of the enum for each of the union |
/// | another enum with data | `EncodeFrame`, `DecodeFrame`: one frame a variant |
///
/// Every item implements `IntoOwned`. An item that borrows also has its own method `into_owned`.
///
/// # On the struct or enum
///
/// - `schema = "TA"`: the code of the schema. Without it, every field is of type `any`.
/// - `intent = "req"`, `operation = "schedule"`: the head of the frame.
/// - `registry = "path"`: the registry file or directory, relative to the folder of `Cargo.toml`. Without this
///   attribute, the environment variable `ACCP_REGISTRY` names the registry. Without the variable, the registry is
///   the standard profiles. The standard profiles are part of every registry that does not define them itself.
/// - `deny_unknown_fields`: a key that the struct does not have is E1004.
/// - `ignore = "field"`: a field of the schema with a default, which the struct does not have, may be lost. Without
///   this attribute, such a struct does not compile: a frame that is read and written again would carry the default
///   instead. `Typed::dropped` gives the fields that a frame had and the struct does not hold, including fields that
///   the registry does not know.
/// - `new`: a constructor `new`, and setters. The constructor takes the fields that are never absent and have no
///   default, in the order of the struct. Each other field has a setter. An argument is anything that converts to the
///   type of its field by [`Into`]; for a `Vec`, anything that iterates over such arguments. A setter of a field in
///   an `Option` takes the type inside. All other fields begin absent, or with the default of the registry. If the
///   constructor takes nothing, the struct is [`Default`]. A setter whose name would hide another method (`new`,
///   `default`, `clone`, `into`, `into_owned`) begins with `with_`.
/// - `transparent`: the struct has one field, and is written and read as the value of this field, wherever a registry
///   type fits the type of this field. The struct can have no other attribute except `crate`.
/// - `rename_all = "camelCase"`: the names of all fields, or of all variants of an enumeration, are in this case:
///   `lowercase`, `UPPERCASE`, `PascalCase`, `camelCase`, `snake_case`, `SCREAMING_SNAKE_CASE`, `kebab-case` or
///   `SCREAMING-KEBAB-CASE`. A `rename` takes precedence.
/// - `bound = "T: Trait"`: the where clauses of the codec have these bounds, instead of the bounds that the derive
///   would write for the types of fields. `bound(encode = "..", decode = "..")` gives bounds for each direction. In
///   the bounds for decoding, the lifetime of the text is the lifetime of the item, or `'accp` if the item has none.
/// - `crate = path`: the path of `accp_runtime`, if the crate has the runtime under another name.
///
/// # On a field
///
/// - `default`: asserts that the registry has a default for the field. A default applies even
///   without this attribute, and a value that equals it does not travel.
/// - `rename = "name"`: the field's full name in the registry, if the Rust name differs.
/// - `alias = "key"`: a reader accepts this key for the field, too. An example is the earlier name of the field.
///   Writers never use the key, and a frame with both keys is refused like a frame with one key twice. If the struct
///   names a schema, the registry declares the aliases, so that every peer knows them; the attribute only asserts
///   that the registry has the alias. For several aliases, write the attribute several times. In a frame, the
///   standard abbreviation of an alias is an alias too.
/// - `skip`: the field never travels; a reader sets it to [`Default::default`].
/// - `flatten`: takes the params that no other field takes, under their full names: params that the schema does not
///   know, and fields of the schema that the struct does not have. The field is a `Map`, or a `BTreeMap` from texts
///   to values. Only a frame has such a field. It cannot hold enumerations and records of a schema: the struct has
///   fields for them, or names them with `ignore`.
///
/// - `with = module`: two functions of the module convert the value, or the value inside an `Option`. `encode` takes
///   a reference to the value, and `decode` returns the value. Both return a `Result`, whose error is reported as
///   E1004 at the field. `encode` may return, and `decode` may take, any type that fits the field in the registry:
///   `encode` may return a type that borrows, and `decode` may take a `Cow<'_, str>`.
///
///   ```ignore
///   mod seconds {
///       pub fn encode(value: &Duration) -> Result<i64, TryFromIntError> {
///           value.as_secs().try_into()
///       }
///       pub fn decode(seconds: i64) -> Result<Duration, TryFromIntError> {
///           seconds.try_into().map(Duration::from_secs)
///       }
///   }
///   ```
///
/// A required field is never absent and never null, so its type is not an `Option`. For any other field:
///
/// | Type | absent reads as | `~` reads as | `None` is written as |
/// |---|---|---|---|
/// | an `Option`, without a default | `None` | `None` | nothing |
/// | an `Option`, with a default in the registry | the default | `None` | `~` |
/// | no `Option`, with a default in the registry | the default | the default | |
/// | no `Option`, without a default | E1004 | E1004 | |
///
/// A `Value` reads `~` as `Value::Null`. An item of a list or a value of a map is never null, and
/// `~` there is E1004, unless the registry declares it as `any`.
///
/// # On a variant
///
/// - `schema`, `intent`, `operation`, `deny_unknown_fields`, `rename_all`: for a variant with its own fields. A
///   variant that holds a type has none of these attributes: write them on the type. Two variants never have the same
///   intent, operation and schema.
/// - `rename = "name"`: the name of a value, or of a variant of a union; without it, the variant's name in `snake_case`.
/// - `other`: if no other variant stands for a text, a reader reads the text as this variant, which holds the text:
///   `Other(String)`. The text is written as it was read, so a value that only newer peers know is not lost. Without
///   such a variant, such a text is E1004. A registry's `enum(..)` stays closed: a host and `accp check` refuse other
///   values. In a union, the variant holds the whole record: `Other(Map<'a>)`.
/// - `symbol = "+"`: a writer writes this symbol instead of the name (draft section 3.3, item 3). A reader accepts
///   both.
#[proc_macro_derive(AccpFrame, attributes(accp))]
pub fn derive_accp_frame(input: TokenStream) -> TokenStream {
    let input = fragments::joined(input.into()).into();
    let input = parse_macro_input!(input as DeriveInput);
    expand(&ACCP, &input).into()
}

/// Implements the codec of an AACP packet, or of a value of one (AACP draft section 4).
///
/// The generated code depends on the item:
///
/// | Item | Implements |
/// |---|---|
/// | a struct with `task` and `dom` | `AacpPacket`, `EncodePacket`, `DecodePacket` |
/// | a struct with `transparent` | `PacketValue`, as the type of its only field |
/// | an enum without data | `PacketValue`: the name of a variant |
///
/// An item without references implements `IntoOwned`. If such an item borrows, it also has its own method
/// `into_owned`.
///
/// There is no registry: values are text, and the type of a field says what its text means. The type is a text, an
/// integer, `bool`, a `Vec` of these (a text with commas), or a type that derives `AacpPacket` with `transparent` or
/// as an enum. The name of the field is its key; `r#return` has the key `return`.
///
/// Every packet has `return`, so the struct must have it, too. The struct need not have the field `aacp`, which is
/// the version: without the field, it writes 1.1, and reads any version. The fields `return`, `p` and `aacp` are
/// written first; all others follow in the order of the struct, and extra fields in their own order.
///
/// | Type | absent reads as | is written as nothing |
/// |---|---|---|
/// | an `Option` | `None` | if it is `None` |
/// | a `Vec` | an empty list | if it is empty |
/// | any other | an error | never |
///
/// # On the struct or enum
///
/// - `task = "FETCH"`, `dom = "HR"`: the head of the packet.
/// - `new`: a constructor and setters, as for `AccpFrame`.
/// - `transparent`: the struct has one field, and is written and read as the value of this field.
/// - `rename_all`, `bound`: as for `AccpFrame`.
/// - `crate = path`: the path of `accp_aacp`, if the crate has it under another name.
///
/// # On a field
///
/// - `rename = "key"`: the key, if the Rust name differs.
/// - `skip`: the field never travels; a reader sets it to [`Default::default`].
/// - `extra`: takes the fields that no other field takes, in their order: a `Vec` of pairs of texts,
///   such as `Vec<(Cow<'p, str>, Cow<'p, str>)>`. A struct without it refuses a packet with such a
///   field, because it could not write the same packet again.
///
/// # On a variant
///
/// - `rename = "name"`: the name of the value; without it, the variant's name in `snake_case`.
#[proc_macro_derive(AacpPacket, attributes(aacp))]
pub fn derive_aacp_packet(input: TokenStream) -> TokenStream {
    let input = fragments::joined(input.into()).into();
    let input = parse_macro_input!(input as DeriveInput);
    expand(&AACP, &input).into()
}

/// Returns the code for an item of the protocol, or the errors about its mistakes.
fn expand(protocol: &'static Protocol, original: &DeriveInput) -> proc_macro2::TokenStream {
    let cx = ctxt::Ctxt::new(protocol);
    let input = ast::Input::read(&cx, original);
    let krate = input.as_ref().and_then(|input| input.attrs.krate.clone());
    let item = input
        .as_ref()
        .and_then(|input| Some((input, check::check(&cx, input)?)));
    match (cx.finish(), item) {
        (None, Some((input, (item, loaded)))) => {
            expand::expand(protocol, input, &item, loaded.as_ref())
        }
        (error, _) => fallback::expand(protocol, original, krate.as_ref(), error),
    }
}

#[cfg(test)]
mod tests;
