use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
struct Id(String);

fn main() {}
