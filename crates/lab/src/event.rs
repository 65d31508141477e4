//! What an experiment tells of itself while it runs. It never prints; the interface does.

/// One thing that happened. `label` names the activity ("base kernel", "boot patched/1").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An activity began.
    Began {
        /// The activity.
        label: String,
        /// What it does.
        what: String,
    },
    /// It is at another step.
    Now {
        /// The activity.
        label: String,
        /// The step.
        what: String,
    },
    /// It ended.
    Ended {
        /// The activity.
        label: String,
        /// How.
        what: String,
    },
}

/// Where events go; called from several threads.
pub type Events<'a> = dyn Fn(&Event) + Sync + 'a;
