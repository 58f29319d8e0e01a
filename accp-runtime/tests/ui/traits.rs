//! Faults that traits refuse: one function each.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use accp_aacp::AacpPacket;
use accp_runtime::AccpFrame;

fn enumeration_in_a_field_of_a_struct() {
    #[derive(AccpFrame)]
    enum Trend {
        Up,
        Down,
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/warehouse.json", schema = "SV")]
    #[accp(
        ignore = "count",
        ignore = "fragile",
        ignore = "tags",
        ignore = "speed"
    )]
    struct Move {
        item: String,
        target: Option<Trend>,
    }
}

fn map_whose_keys_are_no_texts() {
    #[derive(AccpFrame)]
    #[accp(schema = "TC", intent = "req", operation = "tool")]
    struct Call {
        tool_name: String,
        arguments: HashMap<u32, i64>,
    }
}

fn map_whose_keys_are_no_texts_inside_a_list() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "plan")]
    struct Plan {
        steps: Vec<BTreeMap<char, String>>,
    }
}

fn union_without_the_derive() {
    enum Payment {
        Card { number: String },
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "OD")]
    #[accp(intent = "req", operation = "order")]
    struct Order {
        id: String,
        pay: Payment,
        others: Option<Vec<Payment>>,
    }
}

fn nested_struct_without_the_derive() {
    struct Place {
        aisle: String,
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/warehouse.json", schema = "SV")]
    #[accp(
        ignore = "count",
        ignore = "fragile",
        ignore = "tags",
        ignore = "speed"
    )]
    struct Move {
        item: String,
        target: Place,
        stops: Vec<Place>,
    }
}

fn packet_skip_without_a_default() {
    struct Clock;

    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: String,
        #[aacp(skip)]
        clock: Clock,
    }
}

fn packet_type_that_is_no_value() {
    struct Period;

    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: String,
        period: Period,
    }
}

fn several_types_that_the_compiler_judges() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/warehouse.json", schema = "SV")]
    #[accp(
        ignore = "count",
        ignore = "fragile",
        ignore = "tags",
        ignore = "speed"
    )]
    struct Move {
        item: String,
        weight: Option<Duration>,
        labels: Option<std::collections::HashMap<String, Duration>>,
    }
}

fn struct_of_a_schema_in_an_untyped_field() {
    #[derive(AccpFrame)]
    #[accp(schema = "TX")]
    #[accp(ignore = "currency", ignore = "status", ignore = "retryable")]
    struct Payment {
        transaction_id: String,
    }

    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Lookup {
        data: Payment,
    }
}

fn text_of_another_form() {
    use accp_runtime::AgentId;
    use accp_runtime::formats::{Date, Time, Timestamp, Uuid};

    #[derive(AccpFrame)]
    #[accp(registry = "registry/stamps.json", schema = "SP")]
    struct Stamp<'a> {
        on: Timestamp<'a>,
        when: Option<Date<'a>>,
        span: Option<Duration>,
        key: Option<AgentId<'a>>,
        link: Option<Uuid<'a>>,
        raw: Option<Cow<'a, str>>,
        days: Option<Vec<Time<'a>>>,
    }
}

fn transparent_around_another_type() {
    #[derive(AccpFrame)]
    #[accp(transparent)]
    struct Percent(i64);

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "done", operation = "execute")]
    struct Done {
        task: Percent,
    }
}

fn type_inside_a_list_that_the_compiler_judges() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority")]
    struct Task {
        assignee: String,
        task: String,
        deps: Vec<std::time::Duration>,
    }
}

fn type_of_the_user_without_a_codec() {
    struct Percent(u8);

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        progress: Percent,
    }
}

fn type_that_is_owned_and_has_no_codec() {
    struct Text<'a>(&'a str);

    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x")]
    struct Task {
        a: Text<'static>,
        b: Option<Vec<Text<'static>>>,
    }
}

fn type_that_needs_a_feature() {
    use rust_decimal::Decimal;

    // The names of other crates, which need not be there for these errors.
    mod chrono {
        pub struct DateTime<Zone>(Zone);
        pub struct Utc;
    }
    mod rust_decimal {
        pub struct Decimal;
    }
    mod time {
        pub struct Date;
    }
    mod url {
        pub struct Url;
    }
    mod uuid {
        pub struct Uuid;
    }

    #[derive(AccpFrame)]
    #[accp(schema = "TX", intent = "req", operation = "transaction")]
    #[accp(ignore = "currency", ignore = "status", ignore = "retryable")]
    struct Payment {
        transaction_id: uuid::Uuid,
        amount: Decimal,
        account: Option<url::Url>,
        reference: chrono::DateTime<chrono::Utc>,
    }

    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "plan")]
    struct Plan {
        day: time::Date,
        links: BTreeMap<String, url::Url>,
    }
}

fn with_a_module_for_another_wire_type() {
    mod seconds {
        use std::num::TryFromIntError;
        use std::time::Duration;

        pub fn encode(value: &Duration) -> Result<i64, TryFromIntError> {
            value.as_secs().try_into()
        }

        pub fn decode(seconds: i64) -> Result<Duration, TryFromIntError> {
            seconds.try_into().map(Duration::from_secs)
        }
    }

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(with = seconds)]
        deadline: Option<std::time::Duration>,
    }
}

fn with_parsed_for_a_type_that_no_text_makes() {
    struct Moment;

    #[derive(AccpFrame)]
    #[accp(registry = "registry/stamps.json", schema = "SP")]
    struct Stamp {
        #[accp(with = accp_runtime::parsed)]
        on: Moment,
    }
}

fn with_parsed_for_bytes() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/stamps.json", schema = "SP")]
    struct Stamp {
        on: String,
        #[accp(with = accp_runtime::parsed)]
        raw: Option<u64>,
    }
}

fn main() {}
