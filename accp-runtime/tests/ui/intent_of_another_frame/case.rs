use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "CH", intent = "fail", operation = "chat")]
#[accp(ignore = "role", ignore = "lang")]
struct Chat {
    content: String,
}

fn main() {}
