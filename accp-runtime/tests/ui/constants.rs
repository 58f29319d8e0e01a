//! Faults that the compiler refuses when it evaluates constants: one function each.

use std::borrow::Cow;

use accp_runtime::AccpFrame;

fn enum_of_a_struct_and_a_variant_with_one_head() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x")]
    struct A {
        m: Option<i64>,
    }

    #[derive(AccpFrame)]
    enum Work<'a> {
        First(A),
        #[accp(intent = "req", operation = "x")]
        Second {
            n: Option<accp_runtime::Value<'a>>,
        },
    }
}

fn enum_of_an_enum_with_one_head() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x")]
    struct A {
        m: Option<i64>,
    }

    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x")]
    struct B {
        n: Option<i64>,
    }

    #[derive(AccpFrame)]
    enum Inner {
        A(A),
        #[accp(intent = "ack", operation = "y")]
        Y {},
    }

    #[derive(AccpFrame)]
    enum Work {
        Inner(Inner),
        Second(B),
    }
}

fn enum_of_owned_frames_with_one_head() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x")]
    struct Task<'a> {
        task: Cow<'a, str>,
    }

    #[derive(AccpFrame)]
    enum Inner<'a> {
        Boxed(Box<Task<'a>>),
    }

    #[derive(AccpFrame)]
    enum Outer {
        Inner(Inner<'static>),
        #[accp(intent = "req", operation = "y")]
        Other {},
        Task(Box<Task<'static>>),
    }
}

fn enum_of_two_structs_with_one_head() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x")]
    struct A {
        m: Option<i64>,
    }

    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x")]
    struct B {
        n: Option<i64>,
    }

    #[derive(AccpFrame)]
    enum Work {
        First(A),
        Second(B),
    }
}

fn enumeration_lacks_a_name() {
    #[derive(AccpFrame)]
    enum Trend {
        #[accp(symbol = "+")]
        Up,
        #[accp(symbol = "-")]
        Down,
    }

    #[derive(AccpFrame)]
    #[accp(
        registry = "registry/warehouse.json",
        schema = "SV",
        intent = "req",
        operation = "move"
    )]
    #[accp(
        ignore = "count",
        ignore = "fragile",
        ignore = "tags",
        ignore = "speed"
    )]
    struct Move {
        item: String,
        target: Place,
        trend: Option<Trend>,
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/warehouse.json", schema = "LC")]
    #[accp(ignore = "shelf")]
    struct Place {
        aisle: String,
    }
}

fn enumeration_lacks_a_symbol() {
    #[derive(AccpFrame)]
    enum Trend {
        Up,
        #[accp(symbol = "-")]
        Down,
        Level,
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
        trend: Option<Trend>,
    }
}

fn enumeration_lacks_the_default() {
    #[derive(AccpFrame)]
    enum Priority {
        Low,
        High,
    }

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        priority: Priority,
    }
}

fn enumeration_with_a_symbol_too_many() {
    #[derive(AccpFrame)]
    enum Trend {
        #[accp(symbol = "+")]
        Up,
        #[accp(symbol = "-")]
        Down,
        #[accp(symbol = "=")]
        Level,
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
        trend: Option<Trend>,
    }
}

fn enumeration_with_an_odd_name() {
    #[derive(AccpFrame)]
    enum Trend {
        #[accp(symbol = "+")]
        Up,
        #[accp(symbol = "-")]
        Down,
        Levels,
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
        trend: Option<Trend>,
    }
}

fn enumeration_with_one_name_too_many() {
    #[derive(AccpFrame)]
    enum Trend {
        #[accp(symbol = "+")]
        Up,
        #[accp(symbol = "-")]
        Down,
        Level,
        Sideways,
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
        trend: Option<Trend>,
    }
}

fn nested_struct_of_another_schema() {
    #[derive(AccpFrame)]
    #[accp(schema = "TX")]
    #[accp(ignore = "currency", ignore = "status", ignore = "retryable")]
    struct Payment {
        transaction_id: String,
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
        target: Payment,
    }
}

fn transparent_around_another_enumeration() {
    #[derive(AccpFrame)]
    #[accp(transparent)]
    struct Way(Trend);

    #[derive(AccpFrame)]
    enum Trend {
        #[accp(symbol = "+")]
        Up,
        #[accp(symbol = "-")]
        Down,
        Levels,
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
        trend: Option<Way>,
    }
}

fn union_that_is_the_struct_of_another_schema() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "OD")]
    struct Inner {
        id: String,
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "OD")]
    #[accp(intent = "req", operation = "order")]
    struct Order {
        id: String,
        pay: Inner,
    }
}

fn main() {}
