//! The option `--registry`, and the registries that a command loads.

use accp_aacp::bridge;
use accp_registry::{Registry, Schema, nearest};

use crate::debug;
use accp_console::outcome::Failure;

pub(crate) use accp_console::registries::{
    check_readable, load, load_valid, merged, note_replaced, placed,
};

/// The option `--registry`. `--debug` puts frames into words by these registries, too.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct RegistryArgs {
    #[command(flatten)]
    given: accp_console::registries::RegistryArgs,
}

impl RegistryArgs {
    /// Returns whether a registry was named.
    pub(crate) fn is_given(&self) -> bool {
        self.given.is_given()
    }

    /// Loads the schemas of all given registries, and the standard profiles that these registries do not replace.
    /// Prints a note for each profile that they replace.
    pub(crate) fn load(&self) -> Result<Registry, Failure> {
        let registry = self.given.load()?;
        debug::set_registry(&registry);
        Ok(registry)
    }

    /// Loads the registries as [`load`](Self::load) does, and also the profile of packets, unless a schema already
    /// has its name or code. Commands that read frames outside a session use this method.
    pub(crate) fn load_for_frames(&self) -> Result<Registry, Failure> {
        let mut registry = self.load()?;
        // If the registry already has another schema with this name or code, the merge fails, and the registry keeps
        // its own schema.
        let _ = registry.merge(bridge::profile().clone());
        Ok(registry)
    }
}

/// Makes the failure for an unknown schema code.
pub(crate) fn unknown(code: &str, registry: &Registry) -> Failure {
    let codes = codes(registry);
    let meant = meant(code, registry).map(|schema| schema.code.as_str());
    let hint = match meant.or_else(|| nearest(code, codes.iter().copied())) {
        Some(near) => format!("; did you mean {near}?"),
        None => String::new(),
    };
    Failure::Misuse(format!(
        "there is no schema {code} among {}{hint}",
        codes.join(", ")
    ))
}

/// Returns the schema that has this name, or this code in other letters, where somebody has written that for a code.
pub(crate) fn meant<'r>(written: &str, registry: &'r Registry) -> Option<&'r Schema> {
    let by_code = |schema: &&Schema| schema.code.eq_ignore_ascii_case(written);
    registry
        .schema_by_name(written)
        .or_else(|| registry.schemas().find(by_code))
}

/// Returns the cure for a frame with this text in the place of the code of its schema.
pub(crate) fn cure_of_code(written: &str, registry: &Registry) -> Option<String> {
    let Schema {
        code, name, union, ..
    } = meant(written, registry)?;
    Some(match union {
        Some(_) => format!("{code} is a union, which stands only in the fields of other schemas"),
        None => format!("write {code}, the code of the schema {name}"),
    })
}

pub(crate) fn codes(registry: &Registry) -> Vec<&str> {
    let schemas = registry.schemas();
    schemas.map(|schema| schema.code.as_str()).collect()
}
