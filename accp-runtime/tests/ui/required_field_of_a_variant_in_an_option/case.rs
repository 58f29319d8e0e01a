use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Work {
    #[accp(schema = "TA", intent = "done", operation = "execute")]
    Done { task: Option<String> },
}

fn main() {}
