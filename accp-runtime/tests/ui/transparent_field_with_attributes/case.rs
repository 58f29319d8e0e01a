use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(transparent)]
struct Id(#[accp(rename = "id")] String);

fn main() {}
