//! Faults that the derive finds in the fields of an item: one function each.

use std::collections::BTreeMap;

use accp_runtime::{AccpFrame, Map};

fn default_not_in_this_frame() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "done", operation = "schedule")]
    struct Task {
        task: String,
        #[accp(default)]
        priority: String,
    }
}

fn default_that_would_be_lost() {
    #[derive(AccpFrame)]
    #[accp(schema = "TX", intent = "req", operation = "transaction")]
    struct Pay {
        transaction_id: String,
        amount: accp_runtime::Decimal,
        status: String,
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/warehouse.json", schema = "LC")]
    struct Place {
        aisle: String,
    }

    #[derive(AccpFrame)]
    enum Work {
        #[accp(schema = "TA", intent = "req", operation = "execute")]
        Execute { assignee: String, task: String },
    }
}

fn default_without_a_schema() {
    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Task {
        #[accp(default)]
        source: String,
    }
}

fn field_by_its_short_name() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        asgn: String,
        assignee: String,
        task: String,
    }
}

fn field_renamed_to_nothing() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(rename = "colour")]
        color: String,
    }
}

fn flatten_and_deny() {
    #[derive(AccpFrame)]
    #[accp(
        schema = "TA",
        intent = "req",
        operation = "schedule",
        deny_unknown_fields
    )]
    struct Task {
        assignee: String,
        task: String,
        #[accp(flatten)]
        more: std::collections::BTreeMap<String, accp_runtime::Value<'static>>,
    }
}

fn flatten_for_an_enumeration() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/warehouse.json", schema = "SV")]
    #[accp(intent = "req", operation = "move", ignore = "stops")]
    struct Move<'a> {
        item: String,
        target: Place,
        #[accp(flatten)]
        more: Map<'a>,
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/warehouse.json", schema = "LC")]
    struct Place {
        aisle: String,
        shelf: i64,
    }
}

fn flatten_in_a_nested_struct() {
    #[derive(AccpFrame)]
    struct Range {
        from: i64,
        #[accp(flatten)]
        more: std::collections::BTreeMap<String, i64>,
    }
}

fn flatten_into_no_map() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(flatten)]
        more: Vec<String>,
    }
}

fn flatten_of_another_map() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(flatten)]
        rest: std::collections::BTreeMap<u8, String>,
    }
}

fn flatten_twice() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(flatten)]
        more: BTreeMap<String, accp_runtime::Value<'static>>,
        #[accp(flatten)]
        most: BTreeMap<String, accp_runtime::Value<'static>>,
    }
}

fn flatten_with_a_module() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    struct Task<'a> {
        assignee: String,
        task: String,
        #[accp(flatten, with = maps)]
        rest: accp_runtime::Map<'a>,
    }
}

fn flatten_with_rename() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    struct Task<'a> {
        assignee: String,
        task: String,
        #[accp(flatten, rename = "more")]
        rest: accp_runtime::Map<'a>,
    }
}

fn ignored_field_by_its_short_name() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "pri", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
    }
}

fn ignored_field_that_is_not_left_out() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "done", operation = "schedule")]
    #[accp(ignore = "task", ignore = "progres", ignore = "colour")]
    struct Done {
        task: String,
    }

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "done", operation = "execute", ignore = "task")]
    struct Nothing {}

    #[derive(AccpFrame)]
    #[accp(intent = "sync", operation = "state", ignore = "task")]
    struct Untyped {}
}

fn ignored_required_field() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "assignee", ignore = "priority", ignore = "deps")]
    struct Task {
        task: String,
    }
}

fn rename_all_to_names_that_the_schema_lacks() {
    #[derive(AccpFrame)]
    #[accp(
        schema = "TA",
        intent = "done",
        operation = "schedule",
        rename_all = "UPPERCASE"
    )]
    struct Task {
        task: String,
    }
}

fn required_field_missing() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        task: String,
    }
}

fn required_field_of_schema_missing() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "done", operation = "schedule")]
    struct Task {
        progress: i64,
    }
}

fn several_faults_in_the_fields() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        asignee: String,
        task: u32,
        #[accp(default)]
        deadline: String,
        #[accp(rename = "deadline")]
        due: String,
        prog: u8,
    }
}

fn skip_with_default() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(skip, default)]
        priority: String,
    }
}

fn skip_with_rename() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(skip, rename = "deadline")]
        due: Option<String>,
    }
}

fn with_and_skip() {
    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "req", operation = "schedule")]
    #[accp(ignore = "priority", ignore = "deps")]
    struct Task {
        assignee: String,
        task: String,
        #[accp(skip, with = seconds)]
        seen: u64,
    }
}

fn main() {}
