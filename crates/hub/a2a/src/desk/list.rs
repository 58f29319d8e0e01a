//! The list of tasks.

use a2a::{A2AError, ListTasksRequest, ListTasksResponse, TaskState};
use chrono::{DateTime, Utc};

use super::Desk;
use crate::course::Course;
use crate::fault;
use crate::shown::time;
use crate::values::Room;

/// The tasks of a page, if the client does not say, and at most.
const PAGE: i32 = 50;
const LARGEST: i32 = 100;

/// The tasks that a client wants.
pub(crate) struct Wanted {
    size: i32,
    history: usize,
    /// The position before which the last frames of the tasks stand.
    before: u64,
    context: Option<String>,
    state: Option<TaskState>,
    since: Option<DateTime<Utc>>,
    has_artifacts: bool,
}

impl Wanted {
    pub(crate) fn read(request: ListTasksRequest) -> Result<Self, A2AError> {
        let size @ 1..=LARGEST = request.page_size.unwrap_or(PAGE) else {
            let expected = "expected a number from 1 to 100";
            return Err(fault::of_field("pageSize", expected, []));
        };
        let before = match request.page_token.as_deref().unwrap_or_default() {
            "" => u64::MAX,
            token => token.parse().map_err(|_| {
                let text = "expected the nextPageToken of an earlier answer";
                fault::of_field("pageToken", text, [])
            })?,
        };
        let history = fault::count("historyLength", request.history_length)?;
        Ok(Self {
            size,
            history: history.unwrap_or_default(),
            before,
            context: request.context_id.filter(|id| !id.is_empty()),
            state: request.status.filter(|state| *state != <_>::default()),
            since: request.status_timestamp_after,
            has_artifacts: request.include_artifacts.unwrap_or_default(),
        })
    }

    /// Returns the list of an agent that has no tasks.
    pub(crate) fn of_nothing(&self) -> ListTasksResponse {
        ListTasksResponse {
            next_page_token: String::new(),
            page_size: self.size,
            total_size: 0,
            tasks: Vec::new(),
        }
    }

    fn fits(&self, task: &Course, session: &str) -> bool {
        let is_in = self.context.as_ref().is_none_or(|id| id == session);
        let is_state = self.state.as_ref().is_none_or(|state| *state == task.state);
        let is_later = |since| time(task.at).is_some_and(|at| at >= since);
        is_in && is_state && self.since.is_none_or(is_later)
    }
}

impl Desk {
    /// Returns the tasks that fit, those first about which something was said last.
    pub(crate) async fn list(&self, wanted: &Wanted) -> Result<ListTasksResponse, A2AError> {
        let mut board = self.tasks.board.lock().await;
        let read = board.catch_up(&self.shown.log, &self.agent).await;
        read.map_err(|error| fault::of_agent(&error))?;
        let mut all = board.latest();
        all.retain(|task| wanted.fits(task, &self.shown.session));
        let total = all.len();
        let rest = all.into_iter().filter(|task| task.last < wanted.before);
        let size = wanted.size as usize;
        let mut page: Vec<Course> = rest.take(size + 1).cloned().collect();
        drop(board);
        let has_more = page.len() > size;
        page.truncate(size);
        let last = page.last().filter(|_| has_more);
        let next_page_token = last.map(|task| task.last.to_string()).unwrap_or_default();
        let (history, has_artifacts) = (Some(wanted.history), wanted.has_artifacts);
        let mut room = Room::of_an_answer();
        let mut tasks = Vec::with_capacity(page.len());
        for course in &page {
            let task = self.shown.task(course, history, has_artifacts, &mut room);
            tasks.push(task.await.map_err(|error| fault::of_agent(&error))?);
        }
        Ok(ListTasksResponse {
            next_page_token,
            page_size: wanted.size,
            total_size: total as i32,
            tasks,
        })
    }
}
