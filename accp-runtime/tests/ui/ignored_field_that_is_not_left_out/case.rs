use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "done", operation = "schedule")]
#[accp(ignore = "task", ignore = "progres", ignore = "colour")]
struct Done {
    task: String,
}

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "done", operation = "execute", ignore = "task")]
struct Nothing {}

#[derive(AccpFrame)]
#[accp(intent = "sync", operation = "state", ignore = "task")]
struct Untyped {}

fn main() {}
