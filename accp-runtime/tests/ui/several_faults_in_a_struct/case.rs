use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "rqe", operation = "re-schedule", scheme = "TX")]
struct Task {
    #[accp(skip, flatten)]
    asignee: String,
    #[accp(renamed = "task")]
    title: String,
}

fn main() {}
