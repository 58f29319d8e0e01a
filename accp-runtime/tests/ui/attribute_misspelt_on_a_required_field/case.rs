use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "done", operation = "schedule")]
struct Task {
    #[accp(renam = "task")]
    title: String,
}

fn main() {}
