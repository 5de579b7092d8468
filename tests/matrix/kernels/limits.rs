//! What a device does not take of a launch: an error that names it, before anything runs.

use stridewise::kernel::{Global, Item, Local, MAX_OBJECT_LEN, NdRange};
use stridewise::{Array, Error, Event, Queue, Result};

use crate::cell::{Check, ensure, wrong};

#[stridewise::kernel]
fn in_groups(item: Item<1>, out: &mut Global<i32>) {
    item.barrier();
    out[item.global_id(0)] += 1;
}

#[stridewise::kernel]
fn with_room(item: Item<1>, room: &mut Local<i64>, out: &mut Global<i32>) {
    let l = item.local_id(0);
    room[l] = l;
    item.barrier();
    out[item.global_id(0)] += room[l] as i32;
}

/// Three times half of what any device takes.
#[stridewise::kernel]
fn with_its_own_room(item: Item<1>, out: &mut Global<i32>) {
    let a: Local<i64> = Local::new([MAX_OBJECT_LEN]);
    let b: Local<i64> = Local::new([MAX_OBJECT_LEN]);
    let c: Local<i64> = Local::new([MAX_OBJECT_LEN]);
    let l = item.local_id(0);
    (a[l], b[l], c[l]) = (1, 2, 3);
    item.barrier();
    out[item.global_id(0)] = (a[l] + b[l] + c[l]) as i32;
}

/// More for each item than some devices take for a group.
#[stridewise::kernel]
fn with_much_of_its_own(item: Item<1>, out: &mut Global<i64>) {
    let mut own = [0_i64; MAX_OBJECT_LEN];
    let i = item.global_id(0);
    own[i] = i;
    own[1000 - i] += 2;
    out[i] = own[i] + own[1000 - i];
}

#[stridewise::kernel]
fn with_some_of_its_own(item: Item<1>, out: &mut Global<i64>) {
    let mut own = [0_i64; 4000];
    let i = item.global_id(0);
    own[i] = i;
    own[3000 - i] += 2;
    out[i] = own[i] + own[3000 - i];
}

/// Private arrays of more than the device has for a group; where the groups are the engine's choice, they are such that it has.
pub(super) fn too_much_private_memory(queue: &Queue) -> Check {
    let limits = queue.device().info().limits.clone();
    let limit = limits.private_memory_bytes;
    let each = 8 * MAX_OBJECT_LEN as u64;
    let mut out = Array::<i64>::on(queue).zeros([3])?;
    if (1..each).contains(&limits.private_item_bytes) {
        let named = [format!("{each} bytes"), format!("{} bytes at most", limits.private_item_bytes)];
        refused(with_much_of_its_own(queue, [3], &mut out), "private memory", &named)?;
    } else {
        match with_much_of_its_own(queue, [3], &mut out) {
            outcome if limit < each => {
                refused(outcome, "private memory", &[format!("{limit} bytes at most")])?
            }
            outcome => {
                outcome?;
                ensure!(out.to_vec()? == [2, 3, 4], "{:?}", out.to_vec()?);
            }
        }
        let items = limit / each + 1;
        if items <= limits.max_work_group_size as u64 {
            let mut out = Array::<i64>::on(queue).zeros([items as usize])?;
            let range = NdRange::in_groups(&[items as usize], &[items as usize]);
            let parts = [
                format!("{} bytes", items * each),
                format!("{each} for each item"),
                format!("{limit} bytes at most"),
            ];
            refused(with_much_of_its_own(queue, range, &mut out), "private memory", &parts)?;
        }
    }
    let mut out = Array::<i64>::on(queue).zeros([1000])?;
    with_some_of_its_own(queue, [1000], &mut out)?;
    ensure!(out.to_vec()?.iter().zip(2..).all(|(&found, expected)| found == expected), "{:?}", out.to_vec()?);
    Ok(())
}

fn refused(launch: Result<Event>, argument: &str, parts: &[String]) -> Check {
    match launch {
        Err(Error::Value(complaint)) => {
            let text = complaint.to_string();
            ensure!(complaint.argument == argument, "`{argument}` is named: {text}");
            ensure!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
            ensure!(complaint.help.len() > 5, "{text}");
            Ok(())
        }
        Err(other) => Err(other.into()),
        Ok(_) => wrong!("a launch that is too large is taken"),
    }
}

/// Groups of more items than the device takes, of none, and that do not divide the items; more local memory than there is.
pub(super) fn too_large_a_launch(queue: &Queue) -> Check {
    let limits = queue.device().info().limits.clone();
    let mut out = Array::<i32>::on(queue).zeros([12])?;
    let most = limits.max_work_group_size;
    let groups = |global: usize, group: usize| NdRange::in_groups(&[global], &[group]);
    let named = [format!("{}", most + 1), format!("1 to {most} items")];
    refused(in_groups(queue, groups(2 * (most + 1), most + 1), &mut out), "nd_range", &named)?;
    refused(in_groups(queue, groups(12, 0), &mut out), "nd_range", &[format!("1 to {most} items")])?;
    refused(in_groups(queue, groups(12, 5), &mut out), "nd_range", &["divide".into()])?;

    let bytes = limits.local_memory_bytes.min(16 * MAX_OBJECT_LEN as u64);
    let beyond = bytes as usize / 8 + 1;
    let named = [format!("{} bytes", 8 * beyond), format!("{bytes} bytes at most"), "`with_room`".into()];
    refused(with_room(queue, groups(12, 4), [beyond], &mut out), "local memory", &named)?;
    refused(with_room(queue, groups(12, 4), [usize::MAX], &mut out), "local memory", &named[1..])?;
    let named = [format!("{} bytes", 3 * 8 * MAX_OBJECT_LEN), "`with_its_own_room`".into()];
    refused(with_its_own_room(queue, groups(12, 4), &mut out), "local memory", &named)?;

    // Nothing has run, and what fits still does.
    in_groups(queue, groups(12, 4), &mut out)?;
    with_room(queue, groups(12, 4), [4], &mut out)?;
    ensure!(out.to_vec()? == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4], "{:?}", out.to_vec()?);
    Ok(())
}

/// A device either has checked mode, or says that it has not.
pub(super) fn checked_mode_or_an_error(queue: &Queue) -> Check {
    let out = Array::<i32>::on(queue).zeros([4])?;
    match in_groups::kernel()?.launch_checked(queue, [4], &[(&out).into()], &[]) {
        Ok(event) => event.wait()?,
        Err(Error::Unsupported(complaint)) => {
            ensure!(complaint.argument == "kernel" && queue.device().info().backend != "host", "{complaint}");
        }
        Err(other) => return Err(other.into()),
    }
    Ok(())
}
