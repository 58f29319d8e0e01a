//! Faults that `#[derive(AacpPacket)]` refuses: one function each.

use std::collections::{BTreeMap, HashMap};

use accp_aacp::AacpPacket;

fn packet_attribute_misspelt() {
    #[derive(AacpPacket)]
    #[aacp(tasks = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: String,
        #[aacp(renam = "data_ptr")]
        pointer: String,
    }
}

fn packet_attribute_of_frames() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR", schema = "TA", deny_unknown_fields)]
    struct Fetch {
        r#return: String,
        #[aacp(default)]
        res: String,
        #[aacp(flatten)]
        others: Vec<(String, String)>,
    }
}

fn packet_enum_with_data() {
    #[derive(AacpPacket)]
    enum Work {
        Fetch { res: String },
        Send(String),
        Nothing,
    }
}

fn packet_enumeration_that_cannot_travel() {
    #[derive(AacpPacket)]
    enum Risk {
        #[aacp(rename = "low|mid")]
        LowOrMid,
        #[aacp(rename = "a,b")]
        List,
        #[aacp(rename = "")]
        Empty,
        High,
        #[aacp(rename = "high")]
        VeryHigh,
    }
}

fn packet_extra_twice() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: String,
        #[aacp(extra)]
        others: Vec<(String, String)>,
        #[aacp(extra)]
        more: Vec<(String, String)>,
    }
}

fn packet_extra_with_a_key() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: String,
        #[aacp(extra, rename = "others")]
        others: Vec<(String, String)>,
        #[aacp(skip, rename = "seen")]
        seen: bool,
    }
}

fn packet_extra_without_order() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: String,
        #[aacp(extra)]
        others: BTreeMap<String, String>,
    }

    #[derive(AacpPacket)]
    #[aacp(task = "SEND", dom = "HR")]
    struct Send {
        r#return: String,
        #[aacp(extra)]
        others: Vec<String>,
    }
}

fn packet_head_on_an_enumeration() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    enum Risk {
        Low,
        High,
    }
}

fn packet_head_that_is_no_word() {
    #[derive(AacpPacket)]
    #[aacp(task = "GET IT", dom = "H|R")]
    struct Fetch {
        r#return: String,
    }
}

fn packet_key_that_is_no_key() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: String,
        #[aacp(rename = "2nd")]
        second: String,
        #[aacp(rename = "data-ptr")]
        pointer: String,
        _private: String,
    }
}

fn packet_key_twice() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: String,
        res: String,
        #[aacp(rename = "res")]
        resource: String,
        #[aacp(rename = "return")]
        to: String,
    }
}

fn packet_receiver_that_may_be_absent() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: Option<String>,
    }
}

fn packet_two_lifetimes() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch<'a, 'b> {
        r#return: &'a str,
        res: &'b str,
    }
}

fn packet_type_that_cannot_travel() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        r#return: String,
        amt: f64,
        filter: HashMap<String, String>,
        rows: Vec<Vec<String>>,
        pair: Option<(String, String)>,
        bytes: &'static [u8],
    }
}

fn packet_union() {
    #[derive(AacpPacket)]
    union Bits {
        whole: u32,
        half: u16,
    }
}

fn packet_without_a_domain() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH")]
    struct Fetch {
        r#return: String,
    }
}

fn packet_without_a_receiver() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch {
        res: String,
    }
}

fn packet_without_names() {
    #[derive(AacpPacket)]
    #[aacp(task = "FETCH", dom = "HR")]
    struct Fetch(String, String);
}

fn main() {}
