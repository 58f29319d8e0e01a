use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "qry", operation = "lookup")]
#[accp(ignore = "priority")]
struct Lookup {
    source: Option<String>,
}

fn main() {}
