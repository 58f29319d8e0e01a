use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(rename_all = "kebabcase")]
enum Level {
    Low,
}

fn main() {}
