//! Faults that the derive finds in aliases: one function each.

use accp_runtime::{AccpFrame, Map};

fn alias_of_a_field_without_a_key() {
    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Lookup<'a> {
        #[accp(skip, alias = "old")]
        seen: u32,
        #[accp(flatten, alias = "rest")]
        more: Map<'a>,
    }
}

fn alias_that_another_field_has() {
    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Lookup {
        #[accp(alias = "priority", alias = "place", alias = "old")]
        what: String,
        priority: Option<String>,
        #[accp(alias = "old", alias = "pri", alias = "place")]
        place: Option<String>,
    }
}

fn alias_that_is_no_key() {
    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Lookup {
        #[accp(alias = "not a key", alias = "_", alias = "schema")]
        what: String,
    }

    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup")]
    struct Find {
        #[accp(alias = 7, alias)]
        what: String,
    }
}

fn alias_that_the_registry_lacks() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/warehouse.json", schema = "LC", ignore = "shelf")]
    struct Place {
        #[accp(alias = "row", alias = "lane", alias = "z")]
        aisle: String,
    }
}

fn alias_on_a_struct_and_a_variant() {
    #[derive(AccpFrame)]
    #[accp(intent = "qry", operation = "lookup", alias = "find")]
    struct Lookup {
        what: String,
    }

    #[derive(AccpFrame)]
    enum Level {
        #[accp(alias = "tiny")]
        Low,
        High,
    }
}

fn main() {}
