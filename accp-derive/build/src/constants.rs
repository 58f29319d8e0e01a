//! The constants of a generated file: the registry as JSON, its version and its hash.

use accp_registry::Registry;
use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use crate::doc;
use crate::error::Error;

/// Returns the constants for the version and the hash of the registry.
pub(crate) fn constants(registry: &Registry) -> [TokenStream; 2] {
    let version = proc_macro2::Literal::u64_unsuffixed(registry.version);
    let hash = registry.hash().to_string();
    let docs = registry.protocol().rust.registry;
    let docs = docs.map_or([""; 2], |names| [names.version_doc, names.hash_doc]);
    let [version_doc, hash_doc] = docs.map(|doc| doc::attributes(&[doc.to_owned()]));
    [
        quote! {
            #version_doc
            #[allow(dead_code)]
            pub const REGISTRY_VERSION: u64 = #version;
        },
        quote! {
            #hash_doc
            #[allow(dead_code)]
            pub const REGISTRY_HASH: &str = #hash;
        },
    ]
}

/// The greatest length of a line of JSON. Only a line that cannot be split may be longer.
const LINE: usize = 96;

/// Returns the constant that holds the registry as JSON, in a raw string.
pub(crate) fn document(registry: &Registry) -> Result<TokenStream, Error> {
    let mut json = registry.to_json();
    // Without sorting, the order would depend on the serde_json features that other crates enable.
    json.sort_all_objects();
    let mut text = String::new();
    layout(&json, 0, &mut text);
    let visible = text.chars().map(|c| match c {
        '\n' => c.to_string(),
        _ if doc::is_hidden(c) => format!("\\u{:04x}", u32::from(c)),
        _ => c.to_string(),
    });
    let json: String = visible.collect();
    let mut hashes = "#".to_owned();
    while json.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    let literal: TokenStream = format!("r{hashes}\"{json}\"{hashes}")
        .parse()
        .map_err(syn::Error::from)?;
    Ok(quote! {
        /// The registry with the standard profiles as JSON: for `Options::from_json` of a
        /// session, and for `Registry::from_json` where a program handles frames that it has
        /// no type for.
        #[allow(dead_code)]
        pub const REGISTRY_JSON: &str = #literal;
    })
}

/// Appends JSON in a form that people can read: only a value that does not fit in the line is split into several
/// lines.
fn layout(json: &Value, depth: usize, out: &mut String) {
    let line = out.rfind('\n').map_or(0, |newline| newline + 1);
    let flat = flat(json);
    // The line needs room for a comma, too.
    if out.len() - line + flat.len() < LINE {
        out.push_str(&flat);
        return;
    }
    let mut parts = |open: char, close: char, parts: Vec<(String, &Value)>| {
        out.push(open);
        for (at, (name, value)) in parts.iter().enumerate() {
            out.push_str(if at == 0 { "\n" } else { ",\n" });
            out.push_str(&"  ".repeat(depth + 1));
            out.push_str(name);
            layout(value, depth + 1, out);
        }
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
        out.push(close);
    };
    match json {
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| (String::new(), item));
            parts('[', ']', items.collect());
        }
        Value::Object(object) if !object.is_empty() => {
            let named = |(name, value)| (format!("{}: ", Value::from(String::clone(name))), value);
            parts('{', '}', object.iter().map(named).collect());
        }
        _ => out.push_str(&flat),
    }
}

/// Returns JSON in one line.
fn flat(json: &Value) -> String {
    match json {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flat).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) if !object.is_empty() => {
            let entries = object.iter();
            let entries = entries
                .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), flat(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}
