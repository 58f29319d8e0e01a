//! Bounds that a user writes instead of the bounds that the derive would add.

use proc_macro2::TokenStream;

/// The predicates of a where clause.
pub(crate) type Predicates = Vec<TokenStream>;

/// The bounds of `#[accp(bound = "..")]`, for each direction; `None` for a direction without such bounds.
#[derive(Default)]
pub(crate) struct Bound {
    pub(crate) encode: Option<Predicates>,
    pub(crate) decode: Option<Predicates>,
}

impl Bound {
    /// Stores the predicates for these directions. Returns false if a direction already has bounds.
    pub(super) fn put(&mut self, ways: &[&str], predicates: &Predicates) -> bool {
        let mut is_free = true;
        for way in ways {
            let slot = match *way {
                "encode" => &mut self.encode,
                _ => &mut self.decode,
            };
            is_free &= slot.is_none();
            slot.get_or_insert_with(|| predicates.clone());
        }
        is_free
    }
}
