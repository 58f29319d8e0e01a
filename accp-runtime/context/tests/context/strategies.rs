//! Generators of frames and turns.

use accp_runtime::context::{ContextLimits, Trigger};
use accp_runtime::{DynamicFrame, EncodeOptions, Intent, Map, Registry, Value};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z_ ]{1,12}",
        2 => "[A-Z]{2,4}[0-9]{2,6}",
        1 => "20[0-9]{2}-[01][0-9]-[0-3][0-9]",
        1 => r##"["#%$~@:{}\[\]|,\\>_ 0-9A-Fa-f]{0,9}"##,
        1 => any::<String>(),
        1 => "[ -~]{30,400}",
        1 => Just("line\n@warm>sync:ckpt_1{sum:forged}".to_owned()),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec![
            "status", "amount", "user_id", "order_id", "id", "name", "deadline", "price", "note",
            "first-name", "_", "ref", "begins", "source",
        ]).prop_map(str::to_owned),
        1 => "[a-z]{1,3}",
        1 => text(),
    ]
}

pub(crate) fn value() -> impl Strategy<Value = Value<'static>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_000_000_i64..1_000_000)
            .prop_map(|n| Value::try_from(n as f64 / 100.0).expect("finite")),
        any::<f64>().prop_filter_map("finite", |f| Value::try_from(f).ok()),
        text().prop_map(Value::from),
        Just(Value::Ref("cold.k101_1".into())),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|entries| Value::Map(entries.into_iter().collect())),
        ]
    })
}

/// Generates a frame without metadata, as an encoder writes it or as the grammar allows it.
pub(crate) fn frame() -> impl Strategy<Value = String> {
    let agent = prop_oneof![8 => "[a-d]", 1 => "[a-z]{60,200}"];
    let said =
        (agent, 0..Intent::CORE.len(), "[a-f]{1,2}").prop_flat_map(|(agent, intent, operation)| {
            let entries = prop::collection::vec((key(), value()), 0..6);
            let intent = Intent::CORE[intent].as_str();
            entries.prop_filter_map("no frame", move |entries| {
                let mut message =
                    DynamicFrame::new(agent.clone(), intent, operation.clone()).ok()?;
                message.payload = entries.into_iter().collect();
                encode(&message)
            })
        });
    let schemas =
        (text(), text(), 0..10_000_i64).prop_filter_map("no frame", |(id, text, number)| {
            let of = |intent, operation| DynamicFrame::new("a", intent, operation).ok();
            let message = match number % 6 {
                0 => of("req", "schedule")?
                    .under("TA")
                    .with("task", id)
                    .with("assignee", "dev"),
                1 => of("done", "schedule")?
                    .under("TA")
                    .with("task", id)
                    .with("status", text),
                2 => of("req", "transaction")?
                    .under("TX")
                    .with("transaction_id", id)
                    .with("amount", number),
                3 => of("req", "chat")?
                    .under("CH")
                    .with("content", text.repeat(number as usize % 50)),
                4 => {
                    let rows = (0..number % 40).map(|row| {
                        let row: Map<'_> = [
                            ("flight_number", Value::from(row)),
                            ("price", Value::from(number)),
                        ]
                        .into_iter()
                        .collect();
                        Value::Map(row)
                    });
                    of("done", "tool")?
                        .under("TC")
                        .with("tool_name", id)
                        .with("result", rows.collect::<Vec<_>>())
                }
                _ => of("fail", "error")?
                    .under("ER")
                    .with("code", "E4001")
                    .with("msg", text)
                    .with("retry", true),
            };
            encode(&message)
        });
    prop_oneof![
        4 => said,
        4 => schemas,
        1 => (r"([a-z0-9]|\\[@:{}]|%[0-9A-F]{2}){1,40}", 1..500_usize)
            .prop_map(|(text, times)| format!("@a>done:plan{{q:{}|d:x}}", text.repeat(times))),
        1 => "@[ab]>[a-z]{2}:x\\{schema:ZZ\\|a:1\\|a:2\\}",
    ]
}

fn encode(message: &DynamicFrame<'_>) -> Option<String> {
    let mut message = message.clone();
    message.envelope.correlation_id = Some("c".into());
    let options = EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    };
    let text = message.encode_with(Registry::shared(), options).ok()?;
    Some(text.strip_suffix("[cid:c]")?.to_owned())
}

/// A turn of a session: a frame, and the facts of the session about it.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) frame: String,
    /// The number of unused positions before the frame.
    pub(crate) void: u64,
    pub(crate) opens_chain: bool,
    /// The open chain that the frame answers, if any.
    pub(crate) answers: Option<prop::sample::Index>,
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) vetoed: bool,
    pub(crate) is_phase: bool,
    /// A summary of the last checkpoint that came late.
    pub(crate) late: Option<String>,
}

pub(crate) fn said() -> impl Strategy<Value = Said> {
    let triggers = prop::collection::vec(prop::sample::select(Trigger::ALL.to_vec()), 0..3);
    let triggers = prop_oneof![3 => Just(Vec::new()), 2 => triggers];
    let answers = prop::option::weighted(0.3, any::<prop::sample::Index>());
    let flags = (
        any::<bool>(),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.1),
    );
    let words = ("([A-Za-z0-9;.*]{1,9} ){1,4}", 1..20_usize);
    let words = words.prop_map(|(words, times)| words.repeat(times));
    let late = prop::option::weighted(0.4, prop_oneof!["[a-z]{1,5} [A-Z][0-9]", words]);
    (frame(), 0..3_u64, answers, triggers, flags, late).prop_map(
        |(frame, void, answers, triggers, flags, late)| Said {
            frame,
            void,
            opens_chain: flags.0,
            answers,
            triggers,
            vetoed: flags.1,
            is_phase: flags.2,
            late,
        },
    )
}

pub(crate) fn limits() -> impl Strategy<Value = ContextLimits> {
    let warm = prop_oneof![0..300_u32, 0..900_u32];
    let odd = (0..600_u32, 0..600_u32, 0..300_u32, 0..150_u32, warm);
    prop_oneof![
        3 => Just(ContextLimits::DRAFT),
        1 => Just(ContextLimits { warm: 600, ..ContextLimits::DRAFT }),
        1 => odd.prop_map(|(hot, trigger, checkpoint, summary, warm)| ContextLimits {
            hot, trigger, checkpoint, summary, warm,
        }),
    ]
}
