//! Faults that the compiler finds when it resolves names: one function each.

use accp_runtime::AccpFrame;

fn crate_that_does_not_exist() {
    #[derive(AccpFrame)]
    #[accp(crate = acp_runtime, intent = "req", operation = "x")]
    struct Task {
        task: String,
    }
}

fn crate_without_a_runtime() {
    #[derive(AccpFrame)]
    #[accp(crate = "std::fmt", intent = "req", operation = "x")]
    struct Task {
        task: String,
    }
}

fn with_a_module_that_is_missing() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(with = seconds)]
        progress: Option<std::time::Duration>,
    }
}

fn with_a_module_without_decode() {
    mod seconds {
        use std::time::Duration;

        pub fn encode(value: &Duration) -> Result<i64, std::num::TryFromIntError> {
            value.as_secs().try_into()
        }
    }

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(with = seconds)]
        progress: Option<std::time::Duration>,
    }
}

fn main() {}
