//! Faults that the derive finds in the types of fields: one function each.

use accp_runtime::AccpFrame;

fn item_in_an_option() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority")]
    struct Task {
        assignee: String,
        task: String,
        deps: Option<Vec<Option<String>>>,
    }
}

fn new_with_a_default_that_is_too_large() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/large.json", schema = "LG", new)]
    struct Large {
        size: u8,
        offset: Option<u32>,
    }
}

fn new_with_two_setters_of_one_name() {
    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup", new)]
    struct Lookup {
        new: Option<String>,
        with_new: Option<String>,
    }
}

fn required_field_in_a_std_option() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: std::option::Option<String>,
    }
}

fn required_field_in_an_option_with_a_module() {
    mod texts {
        pub fn encode(value: &String) -> Result<&str, std::convert::Infallible> {
            Ok(value)
        }

        pub fn decode(text: String) -> Result<String, std::convert::Infallible> {
            Ok(text)
        }
    }

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        #[accp(with = texts)]
        task: Option<String>,
    }
}

fn required_field_of_a_nested_struct_in_an_option() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/warehouse.json", schema = "LC", ignore = "shelf")]
    struct Place {
        aisle: Option<String>,
    }
}

fn required_field_of_a_variant_in_an_option() {
    #[derive(AccpFrame)]
    enum Work {
        #[accp(schema = "TA", intent = "done", operation = "execute")]
        Done { task: Option<String> },
    }
}

fn type_for_an_enumeration() {
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
        trend: Option<String>,
        target: String,
        stops: String,
        weight: f64,
    }
}

fn type_for_a_text_of_one_form() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/stamps.json", schema = "SP")]
    struct Stamp {
        on: i64,
        at: Option<(u8, u8)>,
        when: Option<f64>,
        span: Option<Vec<String>>,
        key: Option<[u8; 16]>,
        link: Option<&'static str>,
        raw: Option<String>,
        days: Option<Vec<Option<String>>>,
        keys: Option<std::collections::BTreeMap<String, Vec<u16>>>,
    }
}

fn type_from_a_macro() {
    macro_rules! frame {
        ($name:ident, $ty:ty) => {
            #[derive(AccpFrame)]
            #[accp(schema = "TA", intent = "done", operation = "schedule")]
            struct $name {
                task: $ty,
            }
        };
    }

    frame!(Text, &'static str);
    frame!(Number, i64);
    frame!(Maybe, Option<String>);
}

fn type_for_bytes_that_is_a_list_of_bytes() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/stamps.json", schema = "SP")]
    struct Stamp {
        on: Vec<u8>,
        raw: Option<Vec<Vec<u8>>>,
    }
}

fn type_inside_an_option() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        progress: Option<String>,
    }
}

fn type_that_holds_no_item() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority")]
    struct Task {
        assignee: String,
        task: String,
        deps: Vec<f32>,
    }
}

fn type_that_is_a_tuple() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        progress: (u8, u8),
    }
}

fn type_that_is_untyped_nowhere() {
    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Lookup {
        source: Option<char>,
        ratio: Vec<f32>,
        large: u128,
        three: [i64; 3],
        pair: (i64, i64),
    }
}

fn main() {}
