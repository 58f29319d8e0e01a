use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(registry = "registry/none.json", schema = "X", intent = "req", operation = "go")]
struct A0 {
    a: Option<String>,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/none.json", schema = "X", intent = "req", operation = "go")]
struct A1 {
    a: Option<String>,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/none.json", schema = "X", intent = "req", operation = "go")]
struct A2 {
    a: Option<String>,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/none.json", schema = "X", intent = "req", operation = "go")]
struct A3 {
    a: Option<String>,
}

fn main() {}
