use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(transparent)]
struct Percent(i64);

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "done", operation = "execute")]
struct Done {
    task: Percent,
}

fn main() {}
