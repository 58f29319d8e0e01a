use accp_runtime::AccpFrame;

mod texts {
    pub fn encode(value: &String) -> Result<&str, std::convert::Infallible> {
        Ok(value)
    }

    pub fn decode(text: String) -> Result<String, std::convert::Infallible> {
        Ok(text)
    }
}

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    assignee: String,
    #[accp(with = texts)]
    task: Option<String>,
}

fn main() {}
