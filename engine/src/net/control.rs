//! How a run is told to end, from any thread.

use tokio::sync::watch;

use crate::result::EndReason;

/// What the workers were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signal {
    /// No new request, for this reason.
    pub(crate) reason: Option<EndReason>,
    /// Cut what is in flight at once.
    pub(crate) cut: bool,
    /// The data has no row left: nobody begins the list any more, and those at work finish it.
    pub(crate) out_of_rows: bool,
}

/// The switch; the first reason stays.
#[derive(Debug)]
pub(crate) struct Control(watch::Sender<Signal>);

impl Control {
    pub(crate) fn new() -> Control {
        Control(watch::Sender::new(Signal::default()))
    }

    pub(crate) fn stop(&self, reason: EndReason) {
        self.0.send_if_modified(|signal| {
            let first = signal.reason.is_none();
            signal.reason = signal.reason.or(Some(reason));
            first
        });
    }

    pub(crate) fn interrupt(&self) {
        self.0.send_if_modified(|signal| {
            let first = !signal.cut;
            signal.reason = signal.reason.or(Some(EndReason::Interrupted));
            signal.cut = true;
            first
        });
    }

    /// Ends the run as completed once those at work have done their list.
    pub(crate) fn run_out_of_rows(&self) {
        self.0.send_if_modified(|signal| !std::mem::replace(&mut signal.out_of_rows, true));
    }

    pub(crate) fn reason(&self) -> Option<EndReason> {
        self.0.borrow().reason
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Signal> {
        self.0.subscribe()
    }
}
