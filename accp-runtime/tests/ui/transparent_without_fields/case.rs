use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(transparent)]
struct Nothing;

fn main() {}
