//! Views are read by the types of the fields.

use accp_registry::{Field, Limits, Registry, Schema, Type};
use proptest::prelude::*;

use super::{REGISTRY, any_message, view};
use accp_frame::{DecodeOptions, DynamicFrame, EncodeOptions, Map, Value};

/// Gives each field of the message's schema a value of its type, and a value to each field that is
/// required.
pub(super) fn fit(registry: &Registry, message: &mut DynamicFrame<'static>) {
    let head = [message.intent.as_str(), &*message.operation];
    let schema = message.schema.as_deref();
    if let Some(schema) = schema.and_then(|code| registry.schema(code)) {
        fit_fields(registry, schema, &head, &mut message.payload);
    }
}

fn fit_fields(registry: &Registry, schema: &Schema, head: &[&str], map: &mut Map<'static>) {
    for field in &schema.fields {
        let Field {
            name, short, ty, ..
        } = field;
        if short != name {
            map.remove(short);
        }
        let is_needed = schema.requires(field, head);
        match map.remove(name) {
            Some(Value::Null) | None if is_needed => {
                map.insert(name.clone(), fitting(registry, ty, Value::from("x")));
            }
            Some(value) => {
                map.insert(name.clone(), fitting(registry, ty, value));
            }
            None => {}
        }
    }
}

/// Returns the value if it is of the type, and otherwise another value of the type.
fn fitting(registry: &Registry, ty: &Type, value: Value<'static>) -> Value<'static> {
    let many = |value, item: &Type| match value {
        Value::Null if !item.holds_null() => fitting(registry, item, Value::from("x")),
        value => fitting(registry, item, value),
    };
    match (ty, value) {
        (Type::Any, value) | (_, value @ (Value::Null | Value::Ref(_))) => value,
        (Type::String | Type::Text, value @ Value::String(_)) => value,
        (Type::String | Type::Text, value) => Value::from(value.to_string()),
        (Type::Integer, value @ Value::Integer(_)) => value,
        (Type::Integer, _) => Value::Integer(-7),
        (Type::Boolean, value) => Value::Boolean(value == Value::Boolean(true)),
        (Type::Agent, _) => Value::from("a-1"),
        (Type::Formatted(format), _) => Value::from(format.example()),
        (Type::Decimal, value @ Value::Decimal(_)) => value,
        (Type::Decimal, _) => Value::Decimal("2.0".parse().unwrap()),
        (Type::Number, value @ (Value::Decimal(_) | Value::Number(_))) => value,
        (Type::Number, _) => Value::try_from(1e300).unwrap(),
        (Type::Enum(values), value) => {
            let at = value.to_string().len() % values.len();
            Value::from(values[at].name.clone())
        }
        (Type::List(item), Value::Array(items)) => {
            Value::Array(items.into_iter().map(|value| many(value, item)).collect())
        }
        (Type::List(item), value) => Value::Array(vec![many(value, item)]),
        (Type::Map(item), Value::Map(map)) => {
            let entries = map.into_iter();
            Value::Map(
                entries
                    .map(|(key, value)| (key, many(value, item)))
                    .collect(),
            )
        }
        (Type::Map(_), _) => Value::Map(Map::new()),
        (Type::Schema(code), value) => {
            let mut map = match value {
                Value::Map(map) => map,
                _ => Map::new(),
            };
            fit_fields(registry, registry.schema(code).unwrap(), &[], &mut map);
            Value::Map(map)
        }
        (ty, _) => panic!("{ty}"),
    }
}

fn unlimited() -> EncodeOptions<'static> {
    EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        ..EncodeOptions::default()
    }
}

proptest! {
    /// Each frame that a decoder accepts is read back unchanged from its view.
    #[test]
    fn a_frame_comes_back(message in any_message()) {
        let (view, registry) = (view(), &REGISTRY);
        let Ok(frame) = message.encode_with(registry, unlimited()) else {
            return Ok(());
        };
        let options = DecodeOptions { limits: Limits::NONE, ..DecodeOptions::default() };
        let message = DynamicFrame::decode_with(&frame, registry, &options).unwrap().into_owned();
        let block = view.block(&message).text;
        prop_assert_eq!(view.read(&block), Ok(vec![message]), "{}", block);
    }

    /// An encoder accepts every frame of a known schema that was read from a block. In a field of a text type, a text
    /// without quotes is read as a text.
    #[test]
    fn a_block_that_is_read_travels(
        cells in prop::collection::vec(
            "(94107|-5|1[.]50|true|~|x y|[a-z]{1,3}|FL[(]7,12[)]|\\[FL[(]7[)],8\\]|\\{a:1.5\\}|\\[~\\]|\\{a:~\\}|)", 0..9,
        ),
    ) {
        let (view, registry) = (view(), &REGISTRY);
        let block = format!("@a>req:trip TR({})", cells.join(","));
        for message in view.read(&block).unwrap_or_default() {
            let frame = message.encode_with(registry, unlimited());
            prop_assert!(frame.is_ok(), "{} {:?}", block, frame);
        }
        let block = format!("@a>req:book LE({})", cells.join(","));
        for message in view.read(&block).unwrap_or_default() {
            let frame = message.encode_with(registry, unlimited());
            prop_assert!(frame.is_ok(), "{} {:?}", block, frame);
            for (cell, name) in cells.iter().zip(["number", "from", "day", "note"]) {
                let is_text = !matches!(&**cell, "~" | "");
                let text = message.payload.get(name).and_then(Value::as_str);
                prop_assert_eq!(text, is_text.then_some(&**cell), "{}", block);
            }
        }
    }
}

#[test]
fn a_word_is_what_its_field_declares() {
    let view = view();
    let read = |cells: &str| {
        let block = format!("@a>req:trip TR({cells})");
        let message = view.read(&block).map(|mut messages| messages.remove(0));
        message.map(|message| message.to_json()["payload"].to_string())
    };
    let texts = [
        r#"[FL(94107,true,12)],(-5),{a:2},"+",007,5,3,a-1,true"#,
        "FL[from:1,to:2\n7\n8],,,\"-x\",1,#1000000000000000000000",
        ",{number:7},,12,1,,~,~,~",
    ];
    let read: Vec<_> = texts.iter().map(|text| read(text).unwrap()).collect();
    insta::assert_snapshot!(read.join("\n"), @r#"
    {"by":"a-1","count":7,"first":{"number":"-5","open":true},"legs":[{"from":"true","number":"94107","open":true,"to":"12"}],"mood":"on_edge","paid":3.0,"prices":{"a":2.0},"rate":5.0,"sure":true}
    {"count":1,"legs":[{"from":"1","number":"7","open":true,"to":"2"},{"from":"1","number":"8","open":true,"to":"2"}],"mood":"-x","paid":1.5,"rate":1e+21}
    {"by":null,"count":1,"first":{"number":"7"},"mood":"12","paid":null,"sure":null}
    "#);
}

/// A null is refused as an item of a list or of a map. A field may be null, which means that the field is not given.
#[test]
fn an_item_is_never_null() {
    let view = view();
    let text = "@a>req:trip TR([~],,,,1)\n\
        @a>req:trip TR(,,{a:~},,1)\n\
        @a>req:trip TR(,,{a:1.5,b:$cold.p1},~,1)\n\
        @a>req:schedule TA(dev,x,,,[a,~])\n\
        @a>req:plan{any:[~,{a:~}]}";
    insta::assert_snapshot!(view.read(text).unwrap_err(), @"
    E1004 in block 1, line 1, TR.legs[0]: expected a record of FL, found `~`
    E1004 in block 2, line 2, TR.prices.a: expected a number of at most 6 places, found `~`
    E1004 in block 4, line 4, TA.deps[1]: expected a string, found `~`
    ");
    // The lenient reader reads this value as a null, which is refused as well.
    let text = "@a>req:trip TR(,,{a:null},,1)";
    insta::assert_snapshot!(view.read_lenient(text).unwrap_err(), @"E1004 in block 1, line 1, TR.prices.a: expected a number of at most 6 places, found `null`");
}

/// A model gets all that is wrong, with the block, the line, the field and the cure.
#[test]
fn says_what_does_not_fit() {
    let view = view();
    let text = "@a: hello\n\
        @a>req:trip TR([1,FL(x)],7,{a:b},lo,\"12\",x,1.1234567,@b,maybe)\n\
        @a>req:trip TR(FL[from:(1)\nx,,{a:1}],FL{,1)\n\
        @a>req:trip TR(,,,,~){legs:[],by:a b}\n\
        @a>req:book LE(1,[2],3,|)\nbelow\n\
        @a>ask:book LX(1)\n\
        @a>done:trip TR(,,,,,|)\nlong";
    insta::assert_snapshot!(view.read(text).unwrap_err(), @r#"
    E1004 in block 2, line 2, TR.legs[0]: expected a record of FL, found `1`
    E1004 in block 2, line 2, TR.first: expected a record of FL, found `7`
    E1004 in block 2, line 2, TR.prices.a: expected a number of at most 6 places, found `b`
    E1004 in block 2, line 2, TR.mood: expected one of low, on_edge, -x, 12; did you mean low?, found `lo`
    E1004 in block 2, line 2, TR.count: expected an integer of 64 bits, found `"12"`
    E1004 in block 2, line 2, TR.rate: expected a number, found `x`
    E1004 in block 2, line 2, TR.paid: expected a number of at most 6 places, found `1.1234567`
    E1004 in block 2, line 2, TR.by: expected an agent id: letters, digits, '-' and '_' only, found `@b`
    E1004 in block 2, line 2, TR.sure: expected true or false, found `maybe`
    E1004 in block 2, line 2, TR: expected the field count, which schema TR requires, found `)`
    E1003 in block 3, line 3, TR.legs.from: expected the code of a schema: CH, ER, FL, LE, SE, ST, TA, TC, TX, TR, found `(1`
    E1004 in block 4, line 5, TR.by: expected an agent id: letters, digits, '-' and '_' only, found `a b`
    E1004 in block 4, line 5, TR: expected the field count, which schema TR requires, found `}`
    E1004 in block 5, line 6, LE.from: expected a string, found `[2`
    E1003 in block 6, line 8, LX: expected the code of a schema: CH, ER, FL, LE, SE, ST, TA, TC, TX, TR; did you mean LE?, found `LX(1`
    E1004 in block 7, line 10, TR.rate: expected a number, found `long`
    E1004 in block 7, line 9, TR: expected the field count, which schema TR requires, found `)`
    "#);
}
