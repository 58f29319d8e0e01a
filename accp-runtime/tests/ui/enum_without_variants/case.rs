use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Never {}

fn main() {}
