use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
union Either {
    left: u8,
    right: i8,
}

fn main() {}
