use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(registry = "registry/large.json", schema = "LG", new)]
struct Large {
    size: u8,
    offset: Option<u32>,
}

fn main() {}
