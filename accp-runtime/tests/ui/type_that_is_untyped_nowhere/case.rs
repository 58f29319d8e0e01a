use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "qry", operation = "lookup")]
struct Lookup {
    source: Option<char>,
}

fn main() {}
