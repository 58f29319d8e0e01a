use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp]
struct Empty {}

#[derive(AccpFrame)]
#[accp = "TA"]
struct Assigned {}

fn main() {}
