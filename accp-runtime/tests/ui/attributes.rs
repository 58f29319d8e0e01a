//! Faults that the derive finds in the words of attributes: one function each.

use accp_runtime::AccpFrame;

fn attribute_in_the_wrong_place() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule", skip)]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(intent = "req")]
        deadline: Option<String>,
    }
}

fn attribute_misspelt_on_a_required_field() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "done", operation = "schedule")]
    struct Task {
        #[accp(renam = "task")]
        title: String,
    }
}

fn attribute_misspelt_that_a_frame_needs() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", opertaion = "x")]
    struct Task {
        task: String,
    }
}

fn attribute_of_the_wrong_type() {
    #[derive(AccpFrame)]
    #[accp(schema = TA, intent = 7, operation("schedule"))]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn attribute_that_is_a_byte_string() {
    #[derive(AccpFrame)]
    #[accp(intent = b"req", operation = "x", schema = 'c')]
    struct Task {
        task: String,
    }
}

fn attribute_that_is_a_constant() {
    const OPERATION: &str = "schedule";

    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = OPERATION)]
    struct Task {
        task: String,
    }
}

fn attribute_that_is_a_path() {
    #[derive(AccpFrame)]
    #[accp(accp::intent = "req", operation = "x")]
    struct Task {
        task: String,
    }
}

fn attribute_that_is_a_text() {
    #[derive(AccpFrame)]
    #[accp("intent", operation = "x")]
    struct Task {
        task: String,
    }
}

fn attribute_twice() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule", schema = "TC")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn attribute_with_a_comma_too_many() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x",, new)]
    struct Task {
        #[accp(, rename = "b")]
        a: i64,
    }

    #[derive(AccpFrame)]
    #[accp(intent = "req" "done", operation = "x")]
    struct Other {
        a: i64,
    }
}

fn attribute_without_a_comma() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA" intent = "done", operation = "schedule")]
    struct Task {
        task: String,
    }
}

fn attribute_without_a_comma_after_a_flag() {
    #[derive(AccpFrame)]
    #[accp(new intent = "req", operation = "x")]
    struct Task {
        task: String,
    }
}

fn attribute_without_a_list() {
    #[derive(AccpFrame)]
    #[accp]
    struct Empty {}

    #[derive(AccpFrame)]
    #[accp = "TA"]
    struct Assigned {}
}

fn bound_of_no_direction() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x", bound(serialize = "T: Clone"))]
    struct Task<T> {
        task: T,
    }
}

fn bound_that_is_no_bound() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "x", bound = "T:: Clone +,")]
    struct Task<T> {
        task: T,
    }
}

fn bound_twice() {
    #[derive(AccpFrame)]
    #[accp(
        intent = "req",
        operation = "x",
        bound = "T: Clone",
        bound(encode = "T: Copy")
    )]
    struct Task<T> {
        task: T,
    }
}

fn flag_with_a_value() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(skip = true)]
        seen: u8,
    }
}

fn ignored_field_without_a_name() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore, ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn registry_without_a_schema() {
    #[derive(AccpFrame)]
    #[accp(
        registry = "registry/warehouse.json",
        intent = "req",
        operation = "move"
    )]
    struct Task {
        item: String,
    }
}

fn rename_all_to_no_case() {
    #[derive(AccpFrame)]
    #[accp(rename_all = "kebabcase")]
    enum Level {
        Low,
    }
}

fn several_faults_in_a_struct() {
    #[derive(AccpFrame)]
    #[accp(
        schema = "TA",
        intent = "rqe",
        operation = "re-schedule",
        scheme = "TX"
    )]
    struct Task {
        #[accp(skip, flatten)]
        asignee: String,
        #[accp(renamed = "task")]
        title: String,
    }
}

fn unknown_attribute_on_a_field() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(optional)]
        deadline: Option<String>,
    }
}

fn with_without_a_module() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(with)]
        deadline: Option<std::time::Duration>,
    }
}

fn main() {}
