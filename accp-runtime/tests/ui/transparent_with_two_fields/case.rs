use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(transparent)]
struct Range(i64, i64);

fn main() {}
