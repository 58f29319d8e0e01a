use accp_runtime::AccpFrame;

mod seconds {
    use std::time::Duration;

    pub fn encode(value: &Duration) -> Result<i64, std::num::TryFromIntError> {
        value.as_secs().try_into()
    }
}

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
    #[accp(with = seconds)]
    progress: Option<std::time::Duration>,
}

fn main() {}
