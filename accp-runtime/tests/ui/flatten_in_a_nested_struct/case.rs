use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
struct Range {
    from: i64,
    #[accp(flatten)]
    more: std::collections::BTreeMap<String, i64>,
}

fn main() {}
