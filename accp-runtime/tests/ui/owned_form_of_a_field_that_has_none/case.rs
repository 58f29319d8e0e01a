use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "qry", operation = "lookup")]
struct Lookup<'a> {
    source: Option<accp_runtime::Value<'a>>,
    #[accp(skip)]
    seen: Option<&'a str>,
}

fn owned(lookup: Lookup<'_>) -> Lookup<'static> {
    lookup.into_owned()
}

fn main() {}
