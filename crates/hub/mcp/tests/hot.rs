//! Hot state as MCP shows it, against the budget of the session (draft section 5.1).

use std::sync::Arc;

use accp_client::Hub;
use accp_runtime::session::Options;
use accp_runtime::{AgentId, Registry};
use accp_store::MemoryStore;
use accp_tokens::{Bpe, TokenCounter};
use serde_json::json;

use crate::support::{connect, read, works};

#[tokio::test]
async fn hot_state_takes_the_tokens_that_its_budget_says() {
    let bpe = Arc::new(Bpe::o200k_base());
    let name = AgentId::new("hub").unwrap();
    let mut options = Options::new("lunch", name, Arc::new(Registry::standard()));
    options.counter = Some(bpe.clone());
    let hub = Hub::open_with(options, MemoryStore::new()).await.unwrap();
    let dev = connect(hub.agent("dev").unwrap()).await;
    for round in 0..24_u32 {
        // Texts of up to 50 characters stay in their frames, and many of them make a long frame.
        let words = format!("{round} Zwölf Boxkämpfer jagen Viktor quer über den");
        let fields = (0..=round % 12).map(|field| (format!("field_{field}"), json!(words)));
        let params: serde_json::Map<_, _> = fields.collect();
        let frame = json!({ "intent": "req", "operation": "plan", "params": params });
        works(&dev, "accp_send", frame).await;
        let budget = works(&dev, "accp_query", json!({ "about": "budget" })).await;
        let (_, shown) = read(&dev, "accp://session/lunch/hot").await;
        let lines = shown.split_inclusive('\n');
        let tokens: usize = lines.map(|line| bpe.count(line)).sum();
        assert_eq!(json!(tokens), budget["hot"]["used"], "{shown}");
        assert!(tokens <= 500 && bpe.count(&shown) <= 500, "{shown}");
        // A model reads the context: a line that explains the format, warm state, hot state.
        let (_, context) = read(&dev, "accp://session/lunch/context").await;
        let asked = works(&dev, "accp_query", json!({ "about": "context" })).await;
        assert_eq!(asked["context"], context);
        let (first, state) = context.split_at(context.find('\n').unwrap() + 1);
        let used = budget["total"]["used"].as_u64().unwrap() as usize;
        assert!(
            bpe.count(state) <= used,
            "round {round}: {} tokens where the budget says {used}\n{context}\n{shown}",
            bpe.count(state)
        );
        // The first line takes tokens, too, and the budget says how many.
        assert_eq!(budget["first_line"], json!(bpe.count(first)), "{budget}");
        let first = budget["first_line"].as_u64().unwrap() as usize;
        assert!(bpe.count(&context) <= used + first, "{context}");
    }
}
