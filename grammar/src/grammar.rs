//! The texts from which the grammar of a protocol is made, and the grammars of both protocols.

use accp_registry::Protocol;

/// The grammar of a protocol: its sources, and the generated grammar.
///
/// The ABNF has a rule for each part of the head. The rule has the name of the part in the [`Protocol`]. The first
/// rule of the ABNF is a whole message.
#[derive(Debug, Clone, Copy)]
pub struct Grammar<'t> {
    /// The protocol. Its files are `NAME.abnf`, `NAME.overrides` and `NAME.pest`.
    pub protocol: &'static Protocol,
    /// The command that writes the generated file again.
    pub command: &'static str,
    /// The ABNF.
    pub abnf: &'t str,
    /// The decisions that a PEG needs and the ABNF does not make, each with its reason.
    pub overrides: &'t str,
    /// The pest grammar that the generator makes from `abnf` and `overrides`, as the repository holds it.
    pub pest: &'t str,
}

/// The grammar of frames (draft section 3.1).
pub static ACCP: Grammar<'static> = Grammar {
    protocol: &accp_registry::ACCP,
    command: "accp grammar --write",
    abnf: include_str!("../accp.abnf"),
    overrides: include_str!("../accp.overrides"),
    pest: include_str!("../accp.pest"),
};

/// The grammar of packets (AACP draft section 4).
pub static AACP: Grammar<'static> = Grammar {
    protocol: &accp_registry::AACP,
    command: "accp grammar --aacp --write",
    abnf: include_str!("../aacp.abnf"),
    overrides: include_str!("../aacp.overrides"),
    pest: include_str!("../aacp.pest"),
};

#[cfg(test)]
mod tests;
