//! Functions that are run: against plain Rust.

use super::*;

/// Bytes that end where a page begins that nobody may touch.
struct Fenced {
    at: *mut libc::c_void,
    pages: usize,
}

const PAGE: usize = 4096;

impl Fenced {
    fn new(bytes: usize) -> Self {
        let pages = bytes.div_ceil(PAGE) + 1;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: new pages, of which the last one is shut.
        let at = unsafe {
            let at = libc::mmap(std::ptr::null_mut(), pages * PAGE, access, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(at.byte_add((pages - 1) * PAGE), PAGE, libc::PROT_NONE), 0);
            at
        };
        Self { at, pages }
    }
    /// The last so many bytes before the fence.
    fn last(&self, bytes: usize) -> *mut u8 {
        self.at.cast::<u8>().wrapping_add((self.pages - 1) * PAGE - bytes)
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: they are this value's.
        unsafe { libc::munmap(self.at, self.pages * PAGE) };
    }
}

fn levels() -> impl Iterator<Item = Level> {
    [Level::Avx2, Level::Avx512].into_iter().filter(|level| level.is_available())
}

/// Runs a form of so many loaded operands on columns of bytes; its stores are the operands behind them. Every length up to some
/// vectors, before a fence.
fn run(
    form: &Builder,
    inputs: &[(&[u8], u8, bool)],
    outputs: &[u8],
    len: usize,
    stream: bool,
) -> Vec<Vec<u8>> {
    let code = compile(form, stream).unwrap();
    let mut fenced = Vec::new();
    let mut operands = Vec::new();
    for &(bytes, size, uniform) in inputs {
        let len = if uniform { usize::from(size) } else { len * usize::from(size) };
        let place = Fenced::new(len);
        let to = place.last(len);
        // SAFETY: so many bytes are there.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, len) };
        operands.push(to);
        fenced.push(place);
    }
    for &size in outputs {
        let place = Fenced::new(len * usize::from(size));
        operands.push(place.last(len * usize::from(size)));
        fenced.push(place);
    }
    // SAFETY: the operands are as the form has them.
    unsafe { code.run(&operands, len) };
    let read = |(k, &size): (usize, &u8)| {
        // SAFETY: so many bytes were written.
        unsafe { std::slice::from_raw_parts(operands[inputs.len() + k], len * usize::from(size)) }.to_vec()
    };
    outputs.iter().enumerate().map(read).collect()
}

fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: numbers without gaps.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

#[test]
fn a_sum_of_every_length() {
    let x: Vec<f32> = (0..200_u8).map(|i| f32::from(i) * 0.37 - 20.0).collect();
    let y: Vec<f32> = (0..200_u8).map(|i| f32::from(i) * -1.7 + 3.0).collect();
    for level in levels() {
        let mut form = Builder::new(level);
        let (a, b, c) = (
            form.load(0, Kind::F32).unwrap(),
            form.load(1, Kind::F32).unwrap(),
            form.uniform(2, Kind::F32).unwrap(),
        );
        let sum = form.add(a, b).unwrap();
        let product = form.multiply(c, sum).unwrap();
        form.store(3, product).unwrap();
        for len in 0..200 {
            let inputs =
                [(bytes_of(&x), 4, false), (bytes_of(&y), 4, false), (bytes_of(&[1.5_f32]), 4, true)];
            let found = run(&form, &inputs, &[4], len, false);
            let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 1.5 * (x + y)).take(len).collect();
            assert_eq!(found[0], bytes_of(&want), "{level:?} {len}");
        }
    }
}
