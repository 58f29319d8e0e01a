//! The budgets of the context, counted with the tokenizers of models (draft sections 5.1 and 7.1).

#[path = "../../accp-runtime/context/tests/context/pair.rs"]
mod pair;
#[path = "../../accp-runtime/context/tests/context/strategies.rs"]
mod strategies;

use accp_context::render_context;
use accp_runtime::TokenCounter;
use accp_runtime::context::ContextLimits;
use accp_tokens::Bpe;
use pair::Pair;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The cost of the context is the sum of its lines, each counted with its line end. In general
    /// a tokenizer could merge tokens across a line end, but these two do not.
    #[test]
    fn the_context_as_a_whole_costs_what_its_lines_cost(
        said in prop::collection::vec(strategies::said(), 1..40), encoding in 0..2_usize,
        limits in prop_oneof![Just(ContextLimits::DRAFT), strategies::limits()],
    ) {
        let encodings: [&'static dyn TokenCounter; 2] = [
            Box::leak(Box::new(Bpe::o200k_base())),
            Box::leak(Box::new(Bpe::cl100k_base())),
        ];
        let mut pair = Pair::new(encodings[encoding], limits);
        for said in &said {
            pair.turn(said)?;
            let whole = pair.counter.count(&render_context(&pair.warm, &pair.hot));
            prop_assert_eq!(whole, (pair.warm.tokens() + pair.hot.tokens()) as usize);
            prop_assert!(whole <= (limits.hot + limits.warm) as usize);
        }
        pair.check_copies()?;
    }
}
