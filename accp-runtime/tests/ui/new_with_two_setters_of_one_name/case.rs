use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "qry", operation = "lookup", new)]
struct Lookup {
    new: Option<String>,
    with_new: Option<String>,
}

fn main() {}
