use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    asignee: String,
    task: u32,
    #[accp(default)]
    deadline: String,
    #[accp(rename = "deadline")]
    due: String,
    prog: u8,
}

fn main() {}
