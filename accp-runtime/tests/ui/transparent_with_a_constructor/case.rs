use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(transparent, new)]
struct Id(String);

fn main() {}
