use accp_runtime::AccpFrame;

mod seconds {
    use std::num::TryFromIntError;
    use std::time::Duration;

    pub fn encode(value: &Duration) -> Result<i64, TryFromIntError> {
        value.as_secs().try_into()
    }

    pub fn decode(seconds: i64) -> Result<Duration, TryFromIntError> {
        seconds.try_into().map(Duration::from_secs)
    }
}

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
    #[accp(with = seconds)]
    deadline: Option<std::time::Duration>,
}

fn main() {}
