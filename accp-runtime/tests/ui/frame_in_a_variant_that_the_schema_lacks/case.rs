use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Work {
    #[accp(schema = "TA", intent = "done", operation = "excute")]
    Done { task: String },
}

fn main() {}
