use accp_runtime::{AccpFrame, Typed};

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
    prioritiy: String,
}

fn read(text: &str) -> Typed<'_, Task> {
    Typed::decode(text).unwrap()
}

fn write(task: Typed<'_, Task>) -> String {
    task.encode().unwrap()
}

fn main() {}
