//! The schemas that all sides of a run have.

use std::sync::{Arc, LazyLock};

use accp_runtime::Registry;

pub(crate) static REGISTRY: LazyLock<Arc<Registry>> =
    LazyLock::new(|| Arc::new(Registry::standard()));
