//! Which road work takes, counted in builds with debug assertions: for tests, so that a road cannot change silently. Elsewhere
//! nothing is counted, and nothing is left of it.

macro_rules! routes {
    ($($(#[doc = $doc:literal])* $Name:ident,)*) => {
        /// A road that work takes, or a part of one.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Route {
            $($(#[doc = $doc])* $Name,)*
        }

        impl Route {
            /// Every route.
            pub const ALL: &'static [Self] = &[$(Self::$Name,)*];
        }
    };
}

routes! {
    /// On the calling thread, without a submission: operands lie as the result does, or are values.
    Dense,
    /// On the calling thread, without a submission: an operand of the usual small work is gathered first.
    Gathered,
    /// On the calling thread, without a submission: a call on operands that lie in any way.
    General,
    /// On the calling thread, without a submission: to elements with gaps between them, or in another order.
    Scattered,
    /// On the calling thread, without a submission: a fold.
    Fold,
    /// On the calling thread, without a submission: arrays joined.
    Join,
    /// On the calling thread, without a submission: elements of a short row at places, or where a mask is true.
    Move,
    /// On the calling thread, without a submission: a plan of a sort, a search, a gather, a product or the like.
    Pass,
    /// An elementwise operation was recorded.
    Recorded,
    /// A reduction was recorded.
    Waiting,
    /// What was recorded is computed on the way to something else.
    Fused,
    /// A recorded reduction became a command with others of the same array.
    Together,
    /// A recorded reduction became a command by itself.
    Apart,
    /// Recorded reductions and what is computed of their results became one command.
    Stages,
    /// A command was submitted.
    Submission,
    /// On the host: a command was run by the thread that submitted it.
    Inline,
    /// On the host: a command went to the pool, for a worker or who waits for it.
    Pool,
    /// On the host: a command had a thread of its own.
    OwnThread,
    /// On the host: parts were published, for several threads to claim.
    Shared,
}

impl Route {
    /// The roads of small work: on the calling thread, without a submission.
    pub const SMALL: &'static [Self] = &[
        Self::Dense,
        Self::Gathered,
        Self::General,
        Self::Scattered,
        Self::Fold,
        Self::Join,
        Self::Move,
        Self::Pass,
    ];
}

#[cfg(debug_assertions)]
mod counts {
    use std::sync::atomic::AtomicU64;

    use super::Route;

    pub(super) static TAKEN: [AtomicU64; Route::ALL.len()] = [const { AtomicU64::new(0) }; Route::ALL.len()];
}

/// Counts that work takes a road.
#[inline(always)]
pub fn take(route: Route) {
    #[cfg(debug_assertions)]
    counts::TAKEN[route as usize].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(debug_assertions))]
    let _ = route;
}

/// How often a road was taken in this process, by any thread; `None` where that is not counted.
#[must_use]
pub fn taken(route: Route) -> Option<u64> {
    #[cfg(debug_assertions)]
    return Some(counts::TAKEN[route as usize].load(std::sync::atomic::Ordering::Relaxed));
    #[cfg(not(debug_assertions))]
    {
        let _ = route;
        None
    }
}
