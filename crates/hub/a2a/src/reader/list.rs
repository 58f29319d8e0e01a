//! The list of tasks.

use std::borrow::Cow;

use a2a::{A2AError, ListTasksRequest, ListTasksResponse, TaskState};
use chrono::{DateTime, Utc};

use super::TaskReader;
use crate::expand::AnswerQuota;
use crate::fault::{self, Failure};
use crate::render::time;
use crate::task::TaskRecord;

/// How many tasks a page has if the client sets no size.
const PAGE: i32 = 50;
/// How many tasks a page has at most.
const LARGEST: i32 = 100;

/// The filter and the page of `ListTasks`.
pub(crate) struct ListFilter {
    size: i32,
    history: usize,
    /// Only tasks whose last frame is before this position are listed.
    before: u64,
    context: Option<String>,
    state: Option<TaskState>,
    since: Option<DateTime<Utc>>,
    has_artifacts: bool,
}

impl ListFilter {
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
    pub(crate) fn empty_list(&self) -> ListTasksResponse {
        ListTasksResponse {
            next_page_token: String::new(),
            page_size: self.size,
            total_size: 0,
            tasks: Vec::new(),
        }
    }

    fn fits(&self, task: &TaskRecord, session: &str) -> bool {
        let is_in = self.context.as_ref().is_none_or(|id| id == session);
        let is_state = self.state.as_ref().is_none_or(|state| *state == task.state);
        let is_later = |since| time(task.at).is_some_and(|at| at >= since);
        is_in && is_state && self.since.is_none_or(is_later)
    }
}

impl TaskReader {
    /// Returns a page of the tasks that pass the filter, the one with the latest frame first.
    pub(crate) async fn list(&self, filter: &ListFilter) -> Result<ListTasksResponse, Failure> {
        let mut index = self.tasks.index.lock().await;
        let read = index.catch_up(&self.renderer.log, &self.agent).await;
        read?;
        let all = index.latest().into_iter();
        let mut all: Vec<_> = all.map(TaskRecord::at_present).collect();
        all.retain(|task| filter.fits(task, &self.renderer.session));
        let total = all.len();
        let rest = all.into_iter().filter(|task| task.last < filter.before);
        let size = filter.size as usize;
        let page = rest.take(size + 1).map(Cow::into_owned);
        let mut page: Vec<TaskRecord> = page.collect();
        drop(index);
        let has_more = page.len() > size;
        page.truncate(size);
        let last = page.last().filter(|_| has_more);
        let next_page_token = last.map(|task| task.last.to_string()).unwrap_or_default();
        let (history, has_artifacts) = (Some(filter.history), filter.has_artifacts);
        let mut quota = AnswerQuota::new(self.renderer.most);
        let mut tasks = Vec::with_capacity(page.len());
        for record in &page {
            let task = self
                .renderer
                .task(record, history, has_artifacts, &mut quota);
            tasks.push(task.await?);
        }
        Ok(ListTasksResponse {
            next_page_token,
            page_size: filter.size,
            total_size: total as i32,
            tasks,
        })
    }
}
