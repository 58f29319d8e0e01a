//! Faults that the derive finds in the head or the schema of a frame: one function each.

use accp_runtime::AccpFrame;

fn frame_in_a_variant_that_the_schema_lacks() {
    #[derive(AccpFrame)]
    enum Work {
        #[accp(schema = "TA", intent = "done", operation = "excute")]
        Done { task: String },
    }
}

fn frame_that_the_schema_lacks() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "shedule")]
    struct Near {
        assignee: String,
        task: String,
    }

    #[derive(AccpFrame)]
    #[accp(schema = "ER", intent = "req", operation = "plan")]
    struct Far {
        code: String,
    }
}

fn intent_far_from_all() {
    #[derive(AccpFrame)]
    #[accp(intent = "please", operation = "schedule")]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn intent_missing() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", operation = "schedule")]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn operation_missing() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req")]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn schema_is_reserved() {
    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Task {
        schema: String,
    }
}

fn schema_named_by_its_name() {
    #[derive(AccpFrame)]
    #[accp(schema = "task_assignment", intent = "req", operation = "schedule")]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn main() {}
