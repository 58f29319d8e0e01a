use accp_runtime::AccpFrame;

macro_rules! frame {
    ($name:ident, $ty:ty) => {
        #[derive(AccpFrame)]
        #[accp(schema = "TA", intent = "done", operation = "schedule")]
        struct $name {
            task: $ty,
        }
    };
}

frame!(Text, &'static str);
frame!(Number, i64);
frame!(Maybe, Option<String>);

fn main() {}
