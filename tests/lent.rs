//! Memory that others know while it is lent: work on it is done at the call meanwhile, and recorded again afterwards.

use stridewise::fuse;
use stridewise::prelude::*;

const N: usize = 100;

fn numbers() -> Result<Array<f64>> {
    Array::arange(0.0, (N * N) as f64, 1.0)?.reshape([N, N])
}

#[test]
fn memory_is_private_again_when_nobody_borrows_it_any_more() -> Result<()> {
    let mut a = numbers()?;
    assert!((&a + 1.0).is_pending());
    let (first, second) = (a.usm_data()?.lend()?, a.usm_data()?.lend()?);
    assert_eq!(first.ptr(), second.ptr());
    assert!(!(&a + 1.0).is_pending(), "known outside");
    drop(first);
    assert!(!(&a + 1.0).is_pending(), "one lease is open");
    let bytes = second.memory().bytes();
    let part = lent_again(&second, bytes)?;
    drop(second);
    assert!(!(&a + 1.0).is_pending(), "a part of it came back");
    drop(part);
    let b = &a + 1.0;
    assert!(b.is_pending());
    a.fill(0.0)?;
    assert_eq!(b.to_vec()?, (0..N * N).map(|k| k as f64 + 1.0).collect::<Vec<_>>());
    a.usm_data()?.export()?;
    drop(a.usm_data()?.lend()?);
    assert!(!(&a + 1.0).is_pending(), "exported for good");
    Ok(())
}

fn lent_again(lease: &stridewise::Lease, bytes: usize) -> Result<stridewise::UsmMemory> {
    let memory = lease.memory();
    // SAFETY: the bytes are those of the lease's memory, which the part keeps; nobody accesses them meanwhile.
    unsafe { stridewise::UsmMemory::from_foreign(memory.kind(), lease.ptr(), bytes, memory.queue(), None) }
}

#[test]
fn work_on_lent_memory_is_recorded_where_nobody_touches_it() -> Result<()> {
    let a = numbers()?;
    let lease = a.usm_data()?.lend()?;
    let (b, c) = fuse(|| {
        let b = &a + 1.0;
        let c = &b * 2.0;
        assert!(b.is_pending() && c.is_pending());
        let inner = fuse(|| Ok(&c - 3.0))?;
        assert!(b.is_pending() && inner.is_pending(), "the outer scope is open");
        // Other threads promise nothing.
        std::thread::scope(|threads| {
            threads.spawn(|| assert!(!(&a + 1.0).is_pending())).join().unwrap();
        });
        Ok((b, c))
    })?;
    assert!(!b.is_pending() && !c.is_pending(), "the end of the scope completes what was recorded");
    assert!(!(&a + 1.0).is_pending(), "known outside as before");
    assert_eq!(c.to_vec()?, (0..N * N).map(|k| (k as f64 + 1.0) * 2.0).collect::<Vec<_>>());
    drop(lease);
    Ok(())
}

#[test]
fn what_a_scope_writes_is_there_at_its_end() -> Result<()> {
    let mut a = numbers()?;
    let lease = a.usm_data()?.lend()?;
    let first = || {
        // SAFETY: the address is that of the first element, which nobody accesses meanwhile.
        unsafe { lease.ptr().as_ptr().cast::<f64>().read() }
    };
    let old = fuse(|| {
        let old = &a * 1.0;
        a.assign(&(&a + 5.0))?;
        a.slice(s![0, ..])?.fill(7.0)?;
        Ok(old)
    })?;
    assert_eq!(first(), 7.0);
    assert_eq!(old.to_vec()?[..3], [0.0, 1.0, 2.0]);
    assert_eq!(a.to_vec()?[N..N + 2], [N as f64 + 5.0, N as f64 + 6.0]);
    Ok(())
}

#[test]
fn scopes_end_with_errors_panics_and_by_two_ends() -> Result<()> {
    let a = numbers()?;
    let _lease = a.usm_data()?.lend()?;
    assert!(fuse(|| a.reshape([3])).is_err());
    let kept = std::sync::Mutex::new(None);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        fuse(|| -> Result<()> {
            *kept.lock().unwrap() = Some(&a + 1.0);
            panic!("of the caller")
        })
    }));
    assert!(panicked.is_err() && !kept.into_inner().unwrap().unwrap().is_pending());
    assert!(!(&a + 1.0).is_pending(), "no scope is open");

    assert!(stridewise::FuseScope::left_open().is_none());
    stridewise::FuseScope::begin().leave_open();
    let b = &a + 1.0;
    assert!(b.is_pending());
    stridewise::FuseScope::left_open().expect("it was left open").end()?;
    assert!(!b.is_pending() && stridewise::FuseScope::left_open().is_none());
    // Memory that is gone, more than is remembered at once.
    fuse(|| {
        for _ in 0..200 {
            let passing = numbers()?;
            let lease = passing.usm_data()?.lend()?;
            drop((&passing + 1.0, lease));
        }
        Ok(())
    })
}
