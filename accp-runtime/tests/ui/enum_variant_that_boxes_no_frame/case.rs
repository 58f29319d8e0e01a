use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Work {
    Task(Box<String>),
    Number(Box<i64>),
}

fn main() {}
