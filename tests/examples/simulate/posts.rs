//! An agent that has no link: it posts each of its frames, and sends the bytes of its values by themselves.

use accp_registry::Hash;
use accp_runtime::session::{Input, InputError, JoinError, Mid};
use accp_runtime::{AgentId, ErrorCode};
use accp_session::{Outgoing, Posted, Supplied};

use super::guests::{Asked, Fate, GUESTS, House};
use super::kinds::Kinds;
use super::node::{Result, said};
use super::text::{field, intent, mid_in, number_in};

const POSTER: &str = "p1";
/// A frame that the agent posts.
struct Post {
    head: String,
    mid: String,
    /// The number in the frame, and the number that the host expects.
    seq: u64,
    number: u64,
    to: Option<&'static str>,
    /// The key of the value that the frame announces.
    key: Option<String>,
    /// Whether the frame comes from the outbox that the agent had when it had a side of its own. Then the host gives
    /// it its number.
    is_old: bool,
    /// The code with which the host must refuse the frame.
    want: Option<ErrorCode>,
}

impl Post {
    fn outgoing(&self) -> Outgoing {
        Outgoing {
            order: 1,
            mid: Mid::parse(&self.mid),
            head: self.head.clone(),
            tail: String::new(),
        }
    }
}

impl House {
    /// Lets an agent post a frame. The first frame that is accepted lets the agent in.
    pub(super) fn post(&mut self, kinds: &mut Kinds) -> Result {
        let id = self.model.id(POSTER);
        let post = self.next_post();
        let more = post.to.map(|to| format!(",to:{to}")).unwrap_or_default();
        let text = format!("{}[mid:{},seq:{}{more}]", post.head, post.mid, post.seq);
        let agent = AgentId::new(POSTER).map_err(said)?;
        let (session, now) = self.session()?;
        let posted = match id.filter(|_| post.is_old) {
            Some(id) => session.post_outgoing(id, &post.outgoing(), now),
            None => session.post_by(&agent, text.as_bytes(), now),
        };
        let posted = posted.map_err(said)?;
        let id_now = session.state().member_of(POSTER);
        let mid = Mid::parse(&post.mid);
        match (&posted, post.want) {
            (Posted::Later, _) => return Ok(()),
            (Posted::Accepted { mid: of, answer }, None) => {
                let facts = (
                    intent(answer),
                    mid_in(answer, "of"),
                    number_in(answer, "at"),
                );
                if *of != mid || facts != ("ack", Some(mid.clone()), Some(post.number)) {
                    return Err(format!("{text} is acknowledged as {answer}"));
                }
                if self.model.joins(POSTER) != id_now {
                    return Err(format!("@{POSTER} is {id_now:?}"));
                }
                kinds.count("post Accepted".into());
            }
            (Posted::Refused(answer), Some(code)) if is_told(answer, &post, code) => {
                if id_now != id || mid_in(answer, "of").as_ref() != Some(&mid) {
                    return Err(format!(
                        "{text} is answered by {answer}, and @{POSTER} is {id_now:?}"
                    ));
                }
                let is_for_good =
                    matches!(code, ErrorCode::REF_NOT_FOUND | ErrorCode::POLICY_DENIED);
                let refused = id.filter(|_| is_for_good).map(|id| (id, mid, code));
                self.model.refused.extend(refused);
                kinds.count(format!("post Refused {code}"));
                return Ok(());
            }
            (posted, want) => {
                return Err(format!("{text} is answered by {posted:?} and not {want:?}"));
            }
        }
        self.model.takes(POSTER, mid.clone());
        self.model.posted = Some((post.mid, post.number));
        if let Some(key) = post.key {
            self.model.puts += 1;
            self.model.values.insert(key, Fate::Missing);
        } else {
            let (by, to) = (POSTER, post.to);
            self.model.asked.push(Asked { mid, by, to });
        }
        Ok(())
    }

    /// Chooses what the agent posts. Some of it the host must refuse.
    fn next_post(&mut self) -> Post {
        let number = self.model.next(POSTER);
        self.posts += 1;
        let mut post = Post {
            head: format!("@{POSTER}>req:plan{{text:x}}"),
            mid: format!("ab{:010}", self.posts),
            seq: number,
            number,
            to: None,
            key: None,
            is_old: false,
            want: None,
        };
        let (id, before) = (self.model.id(POSTER), self.model.posted.clone());
        match (self.rng.below(10), id, before) {
            (0, ..) => {
                post.to = Some(GUESTS[0]);
                let is_known = self.model.id(GUESTS[0]).is_some();
                post.want = (!is_known).then_some(ErrorCode::REF_NOT_FOUND);
            }
            (1, ..) => {
                post.seq += 2;
                post.want = Some(ErrorCode::SEQUENCE_GAP);
            }
            (2, ..) => {
                post.head = "@g1>req:plan{text:x}".into();
                post.want = Some(ErrorCode::POLICY_DENIED);
            }
            (3, ..) => {
                post.head = format!("@{POSTER}>qry:lookup{{see:$cold.p99999}}");
                post.want = Some(ErrorCode::REF_NOT_FOUND);
            }
            (4, _, Some(before)) => {
                (post.mid, post.seq) = before;
                post.want = Some(ErrorCode::DUPLICATE);
            }
            (5 | 6, Some(id), _) => {
                let key = format!("k{id}_{}", self.model.puts + 1);
                let (digest, length) = (Hash::of(key.as_bytes()), key.len());
                post.head = format!("@{POSTER}>sync:put{{keys:[[{key},{digest},{length}]]}}");
                post.key = Some(key);
            }
            (7, Some(_), _) => post.is_old = true,
            _ => {}
        }
        post
    }

    /// Lets agents come that the host must not let in: one with the name of the host, and one too many.
    pub(super) fn turns_away(&mut self) -> Result {
        let is_full = self.model.is_full();
        for name in ["hub", "late"].into_iter().take(1 + usize::from(is_full)) {
            let agent = AgentId::new(name).map_err(said)?;
            let (session, now) = self.session()?;
            let joined = session.join_guest(&agent, now);
            let is_right = match &joined {
                Err(InputError::Join(JoinError::Host(_))) => name == "hub",
                Err(InputError::Join(JoinError::Full)) => name == "late",
                _ => false,
            };
            if !is_right {
                return Err(format!("@{name} is let in: {joined:?}"));
            }
        }
        Ok(())
    }

    /// Lets the agent send the bytes of a value, or wrong bytes, or lets the value expire.
    pub(super) fn supply(&mut self, kinds: &mut Kinds) -> Result {
        let at = self.rng.below(self.model.values.len() as u64) as usize;
        let known = self.model.values.iter().nth(at);
        let (Some(id), Some((key, fate))) = (self.model.id(POSTER), known) else {
            return Ok(());
        };
        let (mut key, fate) = (key.clone(), *fate);
        let which = self.rng.below(6);
        if which == 0 {
            let (session, now) = self.session()?;
            session
                .handle(Input::Expire(&[key.as_str()]), now)
                .map_err(said)?;
            self.model.values.insert(key, Fate::Expired);
            return Ok(());
        }
        // The bytes of each value are its key.
        let bytes = if which == 1 {
            b"y".to_vec()
        } else {
            key.clone().into_bytes()
        };
        let mut wanted = match (fate, which) {
            (Fate::Expired, _) => Supplied::Expired,
            (Fate::Here, _) => Supplied::Here,
            (Fate::Missing, 1) => Supplied::Differs,
            (Fate::Missing, _) => Supplied::Kept,
        };
        if which == 2 {
            key.push('9');
            wanted = Supplied::Unknown;
        }
        let (session, now) = self.session()?;
        let supplied = session.supply(id, &key, &bytes, now).map_err(said)?;
        // A host that has started may not know yet which bytes its store has.
        let of_missing = if which == 1 {
            Supplied::Differs
        } else {
            Supplied::Kept
        };
        let may_lack = wanted == Supplied::Here && self.is_fresh && supplied == of_missing;
        if supplied != wanted && !may_lack {
            return Err(format!(
                "{key}, {fate:?}, is {supplied:?} and not {wanted:?}"
            ));
        }
        if supplied == Supplied::Kept {
            kinds.count("post supplies".into());
            self.model.values.insert(key, Fate::Here);
        }
        Ok(())
    }
}

/// Returns whether an answer has this code, and says what helps.
fn is_told(answer: &str, post: &Post, code: ErrorCode) -> bool {
    let helps = match code {
        ErrorCode::SEQUENCE_GAP => field(answer, "exp") == Some(post.number),
        ErrorCode::DUPLICATE => field(answer, "seq") == Some(post.seq),
        _ => true,
    };
    helps && answer.contains(&format!("code:{code}"))
}
