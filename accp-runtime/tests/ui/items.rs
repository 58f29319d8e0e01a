//! Faults that the derive finds in the form of an item: one function each.

use std::borrow::Cow;

use accp_runtime::AccpFrame;

fn enum_variant_that_boxes_no_frame() {
    #[derive(AccpFrame)]
    enum Work {
        Task(Box<String>),
        Number(Box<i64>),
    }
}

fn enum_variant_that_holds_no_frame() {
    #[derive(AccpFrame)]
    enum Work {
        Task(String),
    }
}

fn enum_variant_that_is_no_frame() {
    #[derive(AccpFrame)]
    enum Work {
        Task(Task),
        Nothing,
        Pair(u8, u8),
        Fields { a: String },
    }

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn enum_with_a_frame_on_itself() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    enum Work {
        Task(Task),
    }

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn enum_with_one_head_of_a_schema_twice() {
    #[derive(AccpFrame)]
    enum Work {
        #[accp(schema = "TA", intent = "done", operation = "schedule")]
        First { task: String },
        #[accp(intent = "done", operation = "schedule")]
        Other { task: String },
        #[accp(schema = "TA", intent = "done", operation = "schedule")]
        Second { task: String },
    }
}

fn enum_with_one_head_twice() {
    #[derive(AccpFrame)]
    enum Work {
        #[accp(intent = "req", operation = "x")]
        First { m: Option<i64> },
        #[accp(intent = "req", operation = "x")]
        Second { n: Option<i64> },
    }
}

fn enum_without_variants() {
    #[derive(AccpFrame)]
    enum Never {}
}

fn enumeration_with_one_name_twice() {
    #[derive(AccpFrame)]
    enum Trend {
        Up,
        #[accp(rename = "up")]
        Rising,
        #[accp(symbol = "a,b")]
        Level,
    }
}

fn new_on_an_enum() {
    #[derive(AccpFrame)]
    #[accp(new)]
    enum Trend {
        Up,
        Down,
    }
}

fn transparent_around_a_reference() {
    #[derive(AccpFrame)]
    #[accp(transparent)]
    struct Id<'a>(&'a str);
}

fn transparent_around_a_tuple() {
    #[derive(AccpFrame)]
    #[accp(transparent)]
    struct Pair((i64, i64));
}

fn transparent_enum() {
    #[derive(AccpFrame)]
    #[accp(transparent)]
    enum Trend {
        Up,
        Down,
    }
}

fn transparent_field_with_attributes() {
    #[derive(AccpFrame)]
    #[accp(transparent)]
    struct Id(#[accp(rename = "id")] String);
}

fn transparent_with_a_constructor() {
    #[derive(AccpFrame)]
    #[accp(transparent, new)]
    struct Id(String);
}

fn transparent_with_a_schema() {
    #[derive(AccpFrame)]
    #[accp(transparent, schema = "TA")]
    struct Id(String);
}

fn transparent_with_two_fields() {
    #[derive(AccpFrame)]
    #[accp(transparent)]
    struct Range(i64, i64);
}

fn transparent_without_fields() {
    #[derive(AccpFrame)]
    #[accp(transparent)]
    struct Nothing;
}

fn tuple_struct() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    struct Task(String, String);
}

fn tuple_struct_of_one_field() {
    #[derive(AccpFrame)]
    struct Id(String);
}

fn two_lifetimes() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task<'a, 'b> {
        assignee: Cow<'a, str>,
        task: Cow<'b, str>,
    }
}

fn union() {
    #[derive(AccpFrame)]
    union Either {
        left: u8,
        right: i8,
    }
}

fn main() {}
