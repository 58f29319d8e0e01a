//! The list of tasks.

use a2a::{A2AError, ListTasksRequest, ListTasksResponse};

use super::{Desk, count};
use crate::course::Course;
use crate::fault;
use crate::shown::time;

/// The tasks of a page, if the client does not say, and at most.
const PAGE: i32 = 50;
const LARGEST: i32 = 100;

impl Desk {
    /// Returns the tasks that fit, those first about which something was said last.
    pub(crate) async fn list(
        &self,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2AError> {
        let size @ 1..=LARGEST = request.page_size.unwrap_or(PAGE) else {
            return Err(fault::of_field(
                "pageSize",
                "expected a number from 1 to 100",
                [],
            ));
        };
        let history = count("historyLength", request.history_length)?.unwrap_or_default();
        let before = match request.page_token.as_deref().unwrap_or_default() {
            "" => u64::MAX,
            token => token.parse().map_err(|_| {
                let text = "expected the nextPageToken of an earlier answer";
                fault::of_field("pageToken", text, [])
            })?,
        };
        let context = request.context_id.as_deref().filter(|id| !id.is_empty());
        let fits = |task: &&Course| {
            let is_in = context.is_none_or(|context| context == self.shown.session);
            let states = request
                .status
                .as_ref()
                .filter(|state| **state != <_>::default());
            let is_state = states.is_none_or(|state| *state == task.state);
            let after = request.status_timestamp_after;
            let is_later = after.is_none_or(|after| time(task.at).is_some_and(|at| at >= after));
            is_in && is_state && is_later
        };
        let mut board = self.board.lock().await;
        let read = board.catch_up(&self.shown.agent).await;
        read.map_err(|error| fault::of_agent(&error))?;
        let all: Vec<&Course> = board.latest().into_iter().filter(fits).collect();
        let total = all.len();
        let rest = all.into_iter().filter(|task| task.last < before);
        let mut page: Vec<Course> = rest.take(size as usize + 1).cloned().collect();
        drop(board);
        let has_more = page.len() > size as usize;
        page.truncate(size as usize);
        let last = page.last().filter(|_| has_more);
        let next_page_token = last.map(|task| task.last.to_string()).unwrap_or_default();
        let has_artifacts = request.include_artifacts.unwrap_or_default();
        let mut tasks = Vec::with_capacity(page.len());
        for course in &page {
            let task = self.shown.task(course, Some(history), has_artifacts).await;
            tasks.push(task.map_err(|error| fault::of_agent(&error))?);
        }
        Ok(ListTasksResponse {
            next_page_token,
            page_size: size,
            total_size: total as i32,
            tasks,
        })
    }
}
