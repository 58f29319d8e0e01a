//! The module that converts a field: `#[accp(with = module)]`.

use accp_registry::{AACP, ACCP};
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, LitStr, Path, Token};

/// Returns whether an attribute of the derive lets a module convert a field, and does not give the path of a module. In
/// the generated file, the compiler would report that without the line that the user wrote.
pub(super) fn has_no_path(attribute: &Attribute) -> bool {
    let ours = [&ACCP, &AACP].map(|protocol| protocol.rust.attribute);
    if !ours.iter().any(|ours| attribute.path().is_ident(ours)) {
        return false;
    }
    let Ok((name, value)) = attribute.parse_args_with(first_argument) else {
        return false;
    };
    let path = match syn::parse2::<LitStr>(value.clone()) {
        Ok(text) => text.parse_with(Path::parse_mod_style),
        Err(_) => Path::parse_mod_style.parse2(value),
    };
    name == "with" && path.is_err()
}

/// Reads the name and the value of the first argument of an attribute.
fn first_argument(input: ParseStream<'_>) -> syn::Result<(Ident, TokenStream)> {
    let name = input.parse()?;
    input.parse::<Token![=]>()?;
    let rest: TokenStream = input.parse()?;
    let is_comma = |tree: &TokenTree| matches!(tree, TokenTree::Punct(one) if one.as_char() == ',');
    let value = rest.into_iter().take_while(|tree| !is_comma(tree));
    Ok((name, value.collect()))
}

#[cfg(test)]
mod tests {
    use crate::Builder;

    #[test]
    fn a_module_is_named_by_its_path() {
        let with = |module: &str| {
            let builder = Builder::new().standard_profiles(true);
            builder.with(".deadline", module).generate()
        };
        for module in ["crate::day", "day", "::days::day", "\"day\"", "day, inline"] {
            assert!(with(module).is_ok(), "{module}");
        }
        for module in ["4 days", "", "crate::day()", "\"4 days\""] {
            let refused = with(module).unwrap_err().to_string();
            let place = format!(
                "`.deadline`: `#[accp(with = {module})]` does not give the path of a module"
            );
            assert!(refused.contains(&place), "{refused}");
            assert!(
                refused.contains("write a path such as crate::day"),
                "{refused}"
            );
        }
    }
}
