//! Faults that the compiler finds in the generated impls: one function each.

use accp_runtime::AccpFrame;

fn constructor_of_the_user_too() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x", new)]
    struct Task {
        task: i64,
    }

    impl Task {
        fn new() -> Self {
            Self { task: 1 }
        }
    }
}

fn default_of_the_user_too() {
    #[derive(AccpFrame, Default)]
    #[accp(intent = "req", operation = "x", new)]
    struct Task {
        task: Option<i64>,
    }
}

fn owned_form_of_a_field_that_has_none() {
    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Lookup<'a> {
        source: Option<accp_runtime::Value<'a>>,
        #[accp(skip)]
        seen: Option<&'a str>,
    }

    fn owned(lookup: Lookup<'_>) -> Lookup<'static> {
        lookup.into_owned()
    }
}

fn with_a_module_for_another_type() {
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
        progress: Option<u64>,
    }
}

fn main() {}
