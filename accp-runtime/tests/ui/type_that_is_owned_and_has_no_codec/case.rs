use accp_runtime::AccpFrame;

struct Text<'a>(&'a str);

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x")]
struct Task {
    a: Text<'static>,
    b: Option<Vec<Text<'static>>>,
}

fn main() {}
