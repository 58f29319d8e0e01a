use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Work {
    Task(String),
}

fn main() {}
