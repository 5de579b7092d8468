//! Memory that others know while it is lent: work on it is done at the call meanwhile, and recorded again afterwards.

use stridewise::prelude::*;

const N: usize = 100;

fn numbers() -> Result<Array<f64>> {
    Array::arange(0.0, (N * N) as f64, 1.0)?.reshape([N, N])
}

#[test]
fn memory_is_private_again_when_nobody_borrows_it_any_more() -> Result<()> {
    let a = numbers()?;
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
