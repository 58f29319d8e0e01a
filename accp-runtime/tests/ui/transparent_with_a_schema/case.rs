use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(transparent, schema = "TA")]
struct Id(String);

fn main() {}
