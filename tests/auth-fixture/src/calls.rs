//! The calls that a service received, and what the layer does with the next ones.

use bytes::Bytes;
use prost::Message;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::watch, time::timeout};
use tonic::Status;

/// The maximum time to wait for calls, so that a test without them fails instead of hanging.
const MAX_WAIT: Duration = Duration::from_mins(1);

type Edit = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// A call that the service received.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name of the method in the contract, such as `ListUsers`.
    pub method: String,
    /// The address of the client that the caller reported.
    pub client_address: Option<String>,
    /// True if the caller announced a deadline.
    pub has_deadline: bool,
    pub(crate) request: Bytes,
    /// The first message of the response, once there is one.
    pub(crate) response: Option<Bytes>,
    /// True as soon as there is a response, even if the layer holds it.
    pub(crate) is_answered: bool,
}

impl Call {
    /// Returns the message of the call.
    #[must_use]
    pub fn request<M: Message + Default>(&self) -> M {
        M::decode(&*self.request).expect("a request of this method")
    }

    /// Returns the message of the response, which must have been a success.
    #[must_use]
    pub fn response<M: Message + Default>(&self) -> M {
        let response = self.response.as_ref().expect("a response");
        M::decode(&**response).expect("a response of this method")
    }

    fn matches(&self, text: &str) -> bool {
        let mut parts = self.request.windows(text.len());
        self.method == text || parts.any(|part| part == text.as_bytes())
    }
}

/// How the layer ends a response.
#[derive(Clone)]
pub(crate) struct Ending {
    text: &'static str,
    /// The number of messages before the end. If it is 0, the call does not reach the service.
    pub(crate) after_messages: usize,
    pub(crate) status: Status,
}

#[derive(Default)]
struct Script {
    calls: Vec<Call>,
    /// How the next calls end. Each call takes the first item that matches it.
    next_endings: VecDeque<Ending>,
    /// How all other calls fail. The last item that matches a call is used.
    failures: Vec<Ending>,
    /// The texts of the calls whose responses are held.
    held: Vec<&'static str>,
    edits: HashMap<&'static str, Edit>,
}

impl Script {
    fn take_ending(&mut self, call: &Call) -> Option<Ending> {
        let matches = |ending: &Ending| call.matches(ending.text);
        if let Some(index) = self.next_endings.iter().position(matches) {
            return self.next_endings.remove(index);
        }
        let mut newest_first = self.failures.iter().rev();
        newest_first.find(|ending| matches(ending)).cloned()
    }
}

/// The calls that a service received, and what the layer does with the next ones.
///
/// Some methods select calls by a text: the name of the method that is called, or a part of the message, such as a
/// username.
#[derive(Clone, Default)]
pub struct Calls {
    script: Arc<watch::Sender<Script>>,
}

impl Calls {
    /// Returns the calls in the order in which they arrived.
    #[must_use]
    pub fn all(&self) -> Vec<Call> {
        self.script.borrow().calls.clone()
    }

    /// Returns the methods of the calls.
    #[must_use]
    pub fn methods(&self) -> Vec<String> {
        self.all().into_iter().map(|call| call.method).collect()
    }

    /// Returns the messages of the calls of a method.
    #[must_use]
    pub fn requests<M: Message + Default>(&self, method: &str) -> Vec<M> {
        let calls = self.all();
        let calls = calls.iter().filter(|call| call.method == method);
        calls.map(Call::request).collect()
    }

    /// Returns the response to the last call of this method, which must have been a success.
    #[must_use]
    pub fn last_response<M: Message + Default>(&self, method: &str) -> M {
        let calls = self.all();
        let call = calls.iter().rfind(|call| call.method == method);
        call.expect("a call of this method").response()
    }

    /// Waits until this many calls of a method have a response, which may be held. Panics after a minute.
    pub async fn wait_for(&self, method: &str, count: usize) {
        let is_answered = |call: &&Call| call.method == method && call.is_answered;
        let answered =
            self.wait_until(|script| script.calls.iter().filter(is_answered).count() >= count);
        let outcome = timeout(MAX_WAIT, answered).await;
        outcome.unwrap_or_else(|_| panic!("{count} calls of {method}"));
    }

    /// Forgets the calls until now.
    pub fn clear(&self) {
        self.script.send_modify(|script| script.calls.clear());
    }

    /// Fails each call with this text before it reaches the service.
    pub fn fail(&self, text: &'static str, status: Status) {
        let failure = Ending {
            text,
            after_messages: 0,
            status,
        };
        self.script
            .send_modify(|script| script.failures.push(failure));
    }

    /// Fails the next call with this text before it reaches the service.
    pub fn fail_next(&self, text: &'static str, status: Status) {
        self.end_next(text, 0, status);
    }

    /// Ends the response to the next call with this text after a number of messages.
    pub fn end_next(&self, text: &'static str, after_messages: usize, status: Status) {
        let ending = Ending {
            text,
            after_messages,
            status,
        };
        self.script
            .send_modify(|script| script.next_endings.push_back(ending));
    }

    /// Holds the responses to all calls with this text, after the service has handled them.
    pub fn hold(&self, text: &'static str) {
        self.script.send_modify(|script| script.held.push(text));
    }

    /// Ends a [`hold`](Self::hold).
    pub fn release(&self, text: &'static str) {
        self.script
            .send_modify(|script| script.held.retain(|held| *held != text));
    }

    /// Edits the responses of a method, to make those that a service of another release would give.
    pub fn edit<M: Message + Default>(
        &self,
        method: &'static str,
        edit: impl Fn(&mut M) + Send + Sync + 'static,
    ) {
        let edit = move |response: &[u8]| {
            let mut message = M::decode(response).expect("a response of this method");
            edit(&mut message);
            message.encode_to_vec()
        };
        self.script.send_modify(|script| {
            script.edits.insert(method, Arc::new(edit));
        });
    }

    /// Records a call, and returns its index.
    pub(crate) fn record(&self, call: Call) -> usize {
        let mut index = 0;
        self.script.send_modify(|script| {
            index = script.calls.len();
            script.calls.push(call);
        });
        index
    }

    /// Returns how the layer ends the response to a call, unless the service ends it.
    pub(crate) fn take_ending(&self, call: &Call) -> Option<Ending> {
        let mut ending = None;
        self.script
            .send_modify(|script| ending = script.take_ending(call));
        ending
    }

    /// Records that there is a response, and waits while it is held.
    pub(crate) async fn answer(&self, index: usize, call: &Call) {
        self.update(index, |call| call.is_answered = true);
        self.wait_until(|script| !script.held.iter().any(|text| call.matches(text)))
            .await;
    }

    /// Edits a message of a response, and records the first one.
    pub(crate) fn edit_message(&self, index: usize, method: &str, mut message: Bytes) -> Bytes {
        let edit = self.script.borrow().edits.get(method).cloned();
        if let Some(edit) = edit {
            message = edit(&message).into();
        }
        let response = message.clone();
        self.update(index, |call| {
            call.response.get_or_insert(response);
        });
        message
    }

    fn update(&self, index: usize, change: impl FnOnce(&mut Call)) {
        self.script.send_modify(|script| {
            // A test may have forgotten the call in the meantime.
            if let Some(call) = script.calls.get_mut(index) {
                change(call);
            }
        });
    }

    async fn wait_until(&self, is_reached: impl FnMut(&Script) -> bool) {
        let mut changes = self.script.subscribe();
        let reached = changes.wait_for(is_reached).await;
        drop(reached.expect("the sender is in this value"));
    }
}
