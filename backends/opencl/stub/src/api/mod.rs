//! The entry points, by what they are about.

#![allow(non_snake_case, reason = "the names are OpenCL's")]

pub(crate) mod buffers;
pub(crate) mod contexts;
pub(crate) mod devices;
pub(crate) mod events;
pub(crate) mod kernels;
pub(crate) mod platforms;
pub(crate) mod programs;
pub(crate) mod svm;
pub(crate) mod usm;

use std::ffi::c_void;

/// Answers to queries, as bytes.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}
pub(crate) fn int(value: u32) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}
pub(crate) fn signed(value: i32) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}
pub(crate) fn long(value: u64) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}
pub(crate) fn size(value: usize) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}
pub(crate) fn handle(value: usize) -> Vec<u8> {
    size(value)
}
pub(crate) fn handles(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// A list of handles, in the way of every `clGet…IDs`: as many as there is room for.
pub(crate) fn list(
    call: &crate::entry::Call<'_>,
    found: &[usize],
    room: u32,
    places: *mut *mut c_void,
    count: *mut u32,
) {
    let pointers: Vec<_> = found.iter().map(|&handle| crate::state::pointer(handle)).collect();
    call.put_all(places, &pointers[..pointers.len().min(room as usize)]);
    call.put(count, u32::try_from(pointers.len()).unwrap_or(u32::MAX));
}
