use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "qry", operation = "lookup")]
struct Task {
    #[accp(default)]
    source: String,
}

fn main() {}
