//! The constants of a generated file: the registry and what identifies it.

use accp_registry::Registry;
use proc_macro2::TokenStream;
use quote::quote;

use crate::doc;
use crate::error::Error;

/// Returns the version and the hash of the registry.
pub(crate) fn constants(registry: &Registry) -> [TokenStream; 2] {
    let version = proc_macro2::Literal::u64_unsuffixed(registry.version);
    let hash = registry.hash().to_string();
    let names = registry.protocol().rust;
    let [version_doc, hash_doc] =
        [names.version_doc, names.hash_doc].map(|doc| doc::attributes(&[doc.to_owned()]));
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

/// Returns the registry itself, as a raw string.
pub(crate) fn document(registry: &Registry) -> Result<TokenStream, Error> {
    let mut json = registry.to_json();
    // Without sorting, the order would depend on the serde_json features that other crates enable.
    json.sort_all_objects();
    let json = format!("{json:#}");
    let visible = json.chars().map(|c| match c {
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
        /// The registry as JSON, for `Registry::from_json` where a program handles frames
        /// that it has no type for.
        #[allow(dead_code)]
        pub const REGISTRY_JSON: &str = #literal;
    })
}
