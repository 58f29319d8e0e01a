use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "qry", operation = "lookup")]
struct Task {
    schema: String,
}

fn main() {}
