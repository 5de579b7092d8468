//! The signal handler that explains a touch of guarded memory.
//!
//! A handler may interrupt any code, so it takes no lock and allocates nothing: it reads a list of slots that is only
//! ever extended, formats into an array on its stack and writes that with one `write`.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{c_void, sigaction, siginfo_t};

/// Signals that a forbidden access raises: Linux sends the first, macOS the second.
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Address and length of a guarded allocation; length 0 when the slot is free. A slot is never given back, so the
/// handler may read it at any time; at worst it reads one that is being changed, and its message is wrong or missing.
pub(super) struct Slot {
    base: AtomicUsize,
    bytes: AtomicUsize,
    next: Option<&'static Slot>,
}

static HEAD: AtomicPtr<Slot> = AtomicPtr::new(null_mut());

impl Slot {
    /// Frees the slot.
    pub(super) fn clear(&self) {
        self.bytes.store(0, Ordering::Release);
    }
}

fn slots() -> impl Iterator<Item = &'static Slot> {
    // SAFETY: the head is null or a slot that `enter` leaked, so it lives for ever and is only shared.
    let head = unsafe { HEAD.load(Ordering::Acquire).as_ref() };
    std::iter::successors(head, |slot| slot.next)
}

/// Makes a guarded allocation known to the handler. The caller holds the table's lock, so there is one at a time.
pub(super) fn enter(base: usize, bytes: usize) -> &'static Slot {
    if let Some(slot) = slots().find(|slot| slot.bytes.load(Ordering::Acquire) == 0) {
        slot.base.store(base, Ordering::Release);
        slot.bytes.store(bytes, Ordering::Release);
        return slot;
    }
    let slot: &'static mut Slot = Box::leak(Box::new(Slot {
        base: AtomicUsize::new(base),
        bytes: AtomicUsize::new(bytes),
        next: slots().next(),
    }));
    HEAD.store(slot, Ordering::Release);
    slot
}

/// What the signals did before.
static PREVIOUS: OnceLock<[sigaction; 2]> = OnceLock::new();

/// Installs the handler, once.
pub(super) fn install() {
    PREVIOUS.get_or_init(|| {
        SIGNALS.map(|signal| {
            // SAFETY: a `sigaction` is plain data, for which zeros are a valid value; the call only reads the present
            // action into it.
            unsafe {
                let mut previous: sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut previous);
                previous
            }
        })
    });
    static INSTALLED: OnceLock<()> = OnceLock::new();
    // After the above, so that the handler always finds what was there before.
    INSTALLED.get_or_init(|| {
        for signal in SIGNALS {
            // SAFETY: the action is complete (zeros elsewhere are valid), `handler` has the signature that SA_SIGINFO
            // asks for and does only what a signal handler may.
            unsafe {
                let mut action: sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(signal, &raw const action, null_mut());
            }
        }
    });
}

extern "C" fn handler(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid `info` to a handler that was installed with SA_SIGINFO, and both signals carry
    // an address.
    let address = unsafe { (*info).si_addr() }.addr();
    let touched = slots().find_map(|slot| {
        let (base, bytes) = (slot.base.load(Ordering::Acquire), slot.bytes.load(Ordering::Acquire));
        let offset = address.wrapping_sub(base);
        (offset < bytes).then_some((offset, bytes))
    });
    match touched {
        Some((offset, bytes)) => {
            report(address, offset, bytes);
            restore_default(signal);
        }
        None => chain(signal, info, context),
    }
}

/// The access is repeated when the handler returns, and then ends the process.
fn restore_default(signal: c_int) {
    // SAFETY: a zeroed `sigaction` is a valid one, SIG_DFL is a valid action, and nothing is asked of the old
    // one.
    unsafe {
        let mut action: sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &raw const action, null_mut());
    }
}

fn chain(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let previous = PREVIOUS.get().zip(SIGNALS.iter().position(|s| *s == signal)).map(|(all, i)| &all[i]);
    let Some(previous) = previous else { return restore_default(signal) };
    match previous.sa_sigaction {
        // A forbidden access cannot be ignored: the process would repeat it for ever.
        libc::SIG_DFL | libc::SIG_IGN => restore_default(signal),
        function if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: whoever installed this address as a handler with SA_SIGINFO gave it this signature.
            let function: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(function) };
            function(signal, info, context);
        }
        function => {
            // SAFETY: whoever installed this address as a handler without SA_SIGINFO gave it this signature.
            let function: extern "C" fn(c_int) = unsafe { std::mem::transmute(function) };
            function(signal);
        }
    }
}

fn report(address: usize, offset: usize, bytes: usize) {
    let mut line = Line { text: [0; 512], len: 0 };
    line.push(b"stridewise: host code touched USM device memory at 0x");
    line.number(address, 16);
    line.push(b", ");
    line.number(offset, 10);
    line.push(b" bytes into an allocation of ");
    line.number(bytes, 10);
    line.push(
        b" bytes; expected host or shared memory; help: copy it to the host first (`to_host`), or allocate it as \
          shared memory\n",
    );
    // SAFETY: the range is the initialised front of the array; `write` is async-signal-safe. Its failure leaves nothing
    // else to do.
    unsafe { libc::write(libc::STDERR_FILENO, line.text.as_ptr().cast(), line.len) };
}

/// Text on the stack; what does not fit is cut off.
struct Line {
    text: [u8; 512],
    len: usize,
}

impl Line {
    fn push(&mut self, text: &[u8]) {
        for byte in text {
            if let Some(place) = self.text.get_mut(self.len) {
                *place = *byte;
                self.len += 1;
            }
        }
    }

    fn number(&mut self, mut value: usize, base: usize) {
        let mut digits = [0u8; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b"0123456789abcdef"[value % base];
            value /= base;
            if value == 0 || first == 0 {
                break;
            }
        }
        self.push(&digits[first..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_usual() {
        let mut line = Line { text: [0; 512], len: 0 };
        for (value, base) in [(0, 10), (usize::MAX, 10), (0xdead_beef, 16)] {
            line.number(value, base);
            line.push(b" ");
        }
        let expected = format!("0 {} deadbeef ", usize::MAX);
        assert_eq!(&line.text[..line.len], expected.as_bytes());
    }

    #[test]
    fn slots_are_reused() {
        let first = enter(1 << 30, 10);
        first.clear();
        let second = enter(1 << 31, 10);
        // Another test may have taken the free slot in between; a slot is found by its contents in any case.
        assert!(slots().any(|s| std::ptr::eq(s, second) && s.base.load(Ordering::Relaxed) == 1 << 31));
        second.clear();
    }
}
