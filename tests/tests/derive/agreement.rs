//! A struct and a message write and read the same frames.

use super::*;

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_]{1,8}",
        any::<String>(),
        Just("007".to_owned()),
        Just("\"marked".to_owned()),
        Just(String::new()),
    ]
    .prop_map(|text| text.chars().take(50).collect())
}

fn agents() -> impl Strategy<Value = AgentId<'static>> {
    "[a-zA-Z0-9_-]{1,8}".prop_map(|name| AgentId::new(name).unwrap())
}

fn places() -> impl Strategy<Value = Place<'static>> {
    (
        texts(),
        prop_oneof![Just(1), any::<i64>()],
        proptest::option::of(texts()),
    )
        .prop_map(|(aisle, shelf, note)| Place {
            aisle: aisle.into(),
            shelf,
            note: note.map(Cow::Owned),
        })
}

fn values() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        any::<bool>().prop_map(Value::Boolean),
        texts().prop_map(Value::from),
    ]
}

prop_compose! {
    fn moves()(
        item in texts(),
        target in places(),
        stops in proptest::option::of(proptest::collection::vec(places(), 0..3)),
        trend in proptest::option::of(prop_oneof![Just(Trend::Up), Just(Trend::Down), Just(Trend::Level)]),
        count in proptest::option::of(prop_oneof![Just(1), any::<i32>()]),
        weight in proptest::option::of(any::<i32>()),
        ratio in proptest::option::of(any::<i16>().prop_map(|n| f64::from(n) / 7.0)),
    )(
        by in proptest::option::of(agents()),
        tags in proptest::collection::vec(texts(), 0..3),
        labels in proptest::option::of(proptest::collection::btree_map("[a-z]{1,4}|[a-z -]{1,4}", values(), 0..3)),
        remark in proptest::option::of(texts()),
        speed in prop_oneof![Just("normal".to_owned()), texts()],
        others in proptest::collection::btree_map("x[a-z]{1,4}|[ -]{1,4}", values(), 0..3),
        fragile in any::<bool>(),
        (item, target, stops, trend, count, weight, ratio) in
            Just((item, target, stops, trend, count, weight, ratio)),
    ) -> Move<'static> {
        Move {
            item: item.into(),
            target, stops, trend, count, ratio, fragile, by, tags,
            weight: weight.map(|n| format!("{}.{}", n / 10, n.unsigned_abs() % 10).parse().unwrap()),
            labels: labels.map(|labels| labels.into_iter().collect()),
            remark: remark.map(Cow::Owned),
            speed: speed.into(),
            others: others.into_iter().map(|(key, value)| (key.into(), value)).collect(),
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(frame in moves()) {
        let text = encode(frame.clone());
        prop_assert_eq!(decode::<Move<'_>>(&text).unwrap(), frame);
    }

    #[test]
    fn a_struct_has_the_text_of_its_message(frame in moves()) {
        let registry = warehouse();
        let text = encode(frame);
        let message = DynamicFrame::decode(&text, &registry).unwrap();
        prop_assert_eq!(message.encode(&registry).unwrap(), text);
    }

    #[test]
    fn whatever_a_message_says_a_struct_reads(text in "@a>req:schedule\\{(x:1\\|)?(asgn:dev\\||task:t\\||dead:(d|~)\\||pri:(high|low)\\||deps:\\[(a)?\\]\\|){0,5}(schema:(TA|TC))\\}(\\[mid:1\\])?") {
        let message = DynamicFrame::decode(&text, Registry::shared());
        let typed = Typed::<ScheduleTask<'_>>::decode(&text);
        match (message, typed) {
            (Ok(message), Ok(typed)) => {
                let typed = typed.encode().unwrap();
                let mut message = message;
                // A struct drops unknown fields, and `None` stands for a missing field.
                message.payload.remove("x");
                if message.payload.get("deadline") == Some(&Value::Null) {
                    message.payload.remove("deadline");
                }
                prop_assert_eq!(message.encode(Registry::shared()).unwrap(), typed);
            }
            (Err(message), Err(typed)) => {
                let wrong_schema = typed.code() == ErrorCode::UNKNOWN_SCHEMA;
                prop_assert!(wrong_schema || message.code() == typed.code(), "{} {}", message, typed);
            }
            // The schema differs, or the struct needs a value where the text has a null.
            (Ok(message), Err(typed)) => prop_assert!(
                message.schema.as_deref() != Some("TA") || typed.to_string().contains("priority"),
                "{}", typed
            ),
            (Err(message), Ok(_)) => prop_assert!(false, "{}", message),
        }
    }
}

/// One field for each row of the table in the documentation of the derive.
#[derive(AccpFrame, Debug, PartialEq)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct Rows {
    assignee: AgentId<'static>,
    task: String,
    /// An `Option` without a default.
    deadline: Option<String>,
    /// An `Option` with a default.
    priority: Option<String>,
    /// Not an `Option`, and with a default.
    deps: Vec<String>,
}

#[test]
fn what_absent_and_null_mean() {
    let read = |fields: &str| {
        let text = format!("@a>req:schedule{{asgn:b|task:t{fields}|schema:TA}}");
        let typed = Typed::<Rows>::decode(&text).map_err(|error| error.to_string())?;
        let Rows {
            deadline,
            priority,
            deps,
            ..
        } = &typed.frame;
        let (held, text) = (
            format!("{deadline:?} {priority:?} {deps:?}"),
            typed.encode().unwrap(),
        );
        let written = text.strip_prefix("@a>req:schedule{asgn:b|task:t").unwrap();
        Ok::<_, String>(format!("{held}, written {written}"))
    };
    insta::assert_snapshot!(read("").unwrap(), @r#"None Some("medium") [], written |schema:TA}"#);
    assert_eq!(read("|dead:~"), read(""));
    insta::assert_snapshot!(read("|pri:~").unwrap(), @"None None [], written |pri:~|schema:TA}");
    assert_eq!(read("|deps:~"), read(""));
}
