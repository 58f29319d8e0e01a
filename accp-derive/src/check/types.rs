//! Well-known Rust types that cannot hold a registry type. The compiler checks all other types by
//! their traits. These are reported here, once, in the words of the registry.

use accp_registry::{Protocol, Type};
use syn::{GenericArgument, PathArguments, Type as RustType};

/// Returns the part of the type that cannot hold its part of the registry type.
pub(super) fn misfit<'t>(ty: &'t RustType, of: &'t Type) -> Option<(&'t RustType, &'t Type)> {
    let RustType::Path(path) = ty else {
        return None;
    };
    let last = path.path.segments.last()?;
    let inner: Vec<&RustType> = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().filter_map(as_type).collect()
        }
        _ => Vec::new(),
    };
    let fits = match (last.ident.to_string().as_str(), inner.as_slice()) {
        ("Option" | "Box", [inner]) => return misfit(inner, of),
        ("Vec", [inner]) => match of {
            Type::List(item) => return misfit(inner, item),
            Type::Any => return misfit(inner, of),
            _ => false,
        },
        ("BTreeMap", [_, inner]) => match of {
            Type::Map(item) => return misfit(inner, item),
            Type::Any => return misfit(inner, of),
            _ => false,
        },
        ("String", []) => matches!(of, Type::String | Type::Text | Type::Agent | Type::Any),
        ("bool", []) => matches!(of, Type::Boolean | Type::Any),
        ("f64", []) => matches!(of, Type::Number | Type::Any),
        ("f32" | "char" | "i128" | "u128", []) => false,
        ("i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize", []) => {
            matches!(of, Type::Integer | Type::Any)
        }
        _ => true,
    };
    (!fits).then_some((ty, of))
}

/// Returns the innermost item type of lists and maps.
pub(crate) fn innermost(ty: &Type) -> &Type {
    match ty {
        Type::List(item) | Type::Map(item) => innermost(item),
        other => other,
    }
}

/// Returns the type inside an `Option`.
pub(crate) fn optional(ty: &RustType) -> Option<&RustType> {
    inside(ty, "Option")
}

/// Returns the type of the items of a `Vec`.
pub(crate) fn item_of(ty: &RustType) -> Option<&RustType> {
    inside(ty, "Vec")
}

/// Returns the first type argument of a type with this name.
fn inside<'t>(ty: &'t RustType, name: &str) -> Option<&'t RustType> {
    let RustType::Path(path) = ty else {
        return None;
    };
    let last = path
        .path
        .segments
        .last()
        .filter(|last| last.ident == name)?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(as_type),
        _ => None,
    }
}

fn as_type(argument: &GenericArgument) -> Option<&RustType> {
    match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// Returns Rust types that hold a registry type.
pub(super) fn holders(protocol: &Protocol, of: &Type) -> String {
    let names = protocol.rust;
    match of {
        Type::String | Type::Text => "`Cow<'_, str>` or `String`".to_owned(),
        Type::Integer => "`i64` or a smaller integer".to_owned(),
        Type::Decimal => format!("`{}::Decimal`", names.runtime),
        Type::Number => "`f64`".to_owned(),
        Type::Boolean => "`bool`".to_owned(),
        Type::Agent => "`AgentId<'_>`".to_owned(),
        Type::Enum(_) => format!(
            "an enum that derives `{}`, with these variants",
            names.derive
        ),
        Type::List(_) => "a `Vec`".to_owned(),
        Type::Map(_) => "a `BTreeMap` with texts as keys".to_owned(),
        Type::Schema(code) => {
            let derive = names.derive;
            format!("a struct that derives `{derive}` with `schema = \"{code}\"`")
        }
        _ => "`Value<'_>`".to_owned(),
    }
}
