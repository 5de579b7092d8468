//! Functions that are run: against plain Rust.

mod meaning;
mod rounds;

use super::*;
use crate::lane::Node;
use meaning::Meaning;

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
    unsafe { code.run(&operands, 0..len) };
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

/// A small generator of reproducible numbers (splitmix64).
struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
    /// The bits of a number: special, small, or any.
    fn number(&mut self, kind: Kind) -> u64 {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            255.0,
            65504.0,
            2_147_483_648.0,
            -1e10,
            1e30,
            f64::INFINITY,
            f64::NAN,
            1e-40,
        ];
        match (kind, self.below(3)) {
            (Kind::F32, 0) => u64::from((self.pick(&special) as f32).to_bits()),
            (Kind::F64, 0) => self.pick(&special).to_bits(),
            (Kind::F32, 1) => u64::from((self.below(2001) as f32 / 8.0 - 125.0).to_bits()),
            (Kind::F64, 1) => (self.below(2001) as f64 / 8.0 - 125.0).to_bits(),
            (_, 1) => self.below(5) as u64,
            _ => self.next(),
        }
    }
}

const KINDS: [Kind; 10] = [
    Kind::I8,
    Kind::I16,
    Kind::I32,
    Kind::I64,
    Kind::U8,
    Kind::U16,
    Kind::U32,
    Kind::U64,
    Kind::F32,
    Kind::F64,
];

/// One more value of those that there are, by any method of the builder; `None` where the level has none.
fn any_value(form: &mut Builder, values: &[Value], rng: &mut Rng) -> Option<Value> {
    type Two = fn(&mut Builder, Value, Value) -> Option<Value>;
    type One = fn(&mut Builder, Value) -> Option<Value>;
    const TWO: [Two; 12] = [
        Builder::add,
        Builder::subtract,
        Builder::multiply,
        Builder::minimum,
        Builder::maximum,
        Builder::and,
        Builder::or,
        Builder::xor,
        Builder::equal,
        Builder::less,
        Builder::less_equal,
        Builder::multiply,
    ];
    const ONE: [One; 8] = [
        Builder::negative,
        Builder::magnitude,
        Builder::nearest,
        Builder::floor,
        Builder::ceil,
        Builder::trunc,
        Builder::not,
        Builder::test,
    ];
    let x = rng.pick(values);
    let (kind, is_mask) = (x.kind(), x.kind().is_mask());
    let same: Vec<Value> =
        values.iter().copied().filter(|y| y.kind() == kind || (is_mask && y.kind().is_mask())).collect();
    let y = rng.pick(&same);
    let masks: Vec<Value> = values.iter().copied().filter(|v| v.kind().is_mask()).collect();
    let bits = [5, 6, 7];
    let logical = [5, 6, 7, 8];
    match rng.below(6) {
        0 | 1 if is_mask => TWO[rng.pick(&logical)](form, x, y),
        0 | 1 => {
            let op = rng.below(TWO.len());
            if kind.is_float() && bits.contains(&op) { None } else { TWO[op](form, x, y) }
        }
        2 if is_mask => form.not(x),
        2 => {
            let op = rng.below(ONE.len());
            if kind.is_float() && op == 6 { None } else { ONE[op](form, x) }
        }
        3 if !masks.is_empty() => form.select(rng.pick(&masks), x, y),
        4 => form.convert(x, rng.pick(&KINDS)),
        _ => match kind {
            Kind::F32 if rng.below(2) == 0 => form.to_half(x),
            Kind::F32 => form.to_bfloat(x),
            Kind::U16 if rng.below(2) == 0 => form.from_half(x),
            Kind::U16 => form.from_bfloat(x),
            Kind::F64 => form.divide(x, y),
            _ if is_mask => form.bytes(x),
            _ if rng.below(2) == 0 => form.left(x, y),
            _ => form.right(x, y),
        },
    }
}

/// Random forms, of few values and of so many that registers do not suffice, against the meaning of each value.
#[test]
fn random_forms_and_their_meaning() {
    let cases =
        std::env::var("STRIDEWISE_NATIVE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(3000);
    let mut spilled = 0;
    for seed in 0..cases {
        for level in levels() {
            let mut rng = Rng(seed);
            let mut form = Builder::new(level);
            let (mut values, mut inputs) = (Vec::new(), Vec::new());
            // Several kinds, of which few programs have the widest.
            let some: Vec<Kind> = (0..1 + rng.below(3)).map(|_| rng.pick(&KINDS)).collect();
            let many = seed % 8 == 0;
            for operand in 0..1 + rng.below(if many { 20 } else { 5 }) {
                let (kind, uniform) = (rng.pick(&some), rng.below(4) == 0);
                let operand = operand as u8;
                let value = if uniform { form.uniform(operand, kind) } else { form.load(operand, kind) };
                values.push(value.unwrap());
                inputs.push((kind, uniform));
            }
            values.push(form.constant(rng.pick(&some), rng.next()).unwrap());
            for _ in 0..rng.below(if many { 80 } else { 12 }) {
                let mark = form.mark();
                match any_value(&mut form, &values, &mut rng) {
                    Some(value) => values.push(value),
                    None => form.back(mark),
                }
            }
            // The last values, or, so that all stay alive, sums of many.
            let mut outputs = Vec::new();
            for k in 0..1 + rng.below(4) {
                let value =
                    if many { rng.pick(&values) } else { values[values.len() - 1 - k % values.len()] };
                let operand = (inputs.len() + outputs.len()) as u8;
                form.store(operand, value).unwrap();
                outputs.push(form.stores.last().unwrap().1.kind().size());
            }
            let len = rng.below(200);
            let columns: Vec<Vec<u8>> = inputs
                .iter()
                .map(|&(kind, uniform)| {
                    let element = |_| rng.number(kind).to_le_bytes()[..usize::from(kind.size())].to_vec();
                    (0..if uniform { 1 } else { len }).flat_map(element).collect()
                })
                .collect();
            let with: Vec<(&[u8], u8, bool)> = columns
                .iter()
                .zip(&inputs)
                .map(|(column, &(kind, uniform))| (&column[..], kind.size(), uniform))
                .collect();
            let found = run(&form, &with, &outputs, len, false);
            spilled += usize::from(form.nodes.len() > 60);
            for i in 0..len {
                let element = |operand: u8| {
                    let (column, size, uniform) = with[usize::from(operand)];
                    let (size, at) = (usize::from(size), if uniform { 0 } else { i });
                    let mut bits = [0; 8];
                    bits[..size].copy_from_slice(&column[at * size..(at + 1) * size]);
                    u64::from_le_bytes(bits)
                };
                let meaning = Meaning::of(&form, element);
                for (k, &(_, value)) in form.stores.iter().enumerate() {
                    let size = usize::from(outputs[k]);
                    let mut bits = [0; 8];
                    bits[..size].copy_from_slice(&found[k][i * size..(i + 1) * size]);
                    let (found, wanted) = (u64::from_le_bytes(bits), meaning.value(value));
                    let kind = value.kind();
                    assert!(
                        meaning::same(kind, found, wanted),
                        "seed {seed} {level:?}: element {i} of {len}, store {k}: {found:#x}, not {wanted:#x}: {:#?}",
                        form
                    );
                }
            }
        }
    }
    assert!(spilled > 0);
}

/// Results that go past the caches, from an aligned address on.
#[test]
fn streamed_stores() {
    for level in levels() {
        let mut form = Builder::new(level);
        let x = form.load(0, Kind::F64).unwrap();
        let (root, less) = (form.root(x).unwrap(), form.less(x, x).unwrap());
        form.store(1, root).unwrap();
        form.store(2, less).unwrap();
        let code = compile(&form, true).unwrap();
        for len in [1, 8, 9, 100, 1003] {
            let x: Vec<f64> = (0..len).map(|i| i as f64).collect();
            let mut to = vec![[0_u64; 8]; len / 8 + 2];
            let mut bytes = vec![9_u8; len + 8];
            let at = to.as_mut_ptr().cast::<u8>();
            let at = at.wrapping_add(at.align_offset(64));
            // SAFETY: so many elements are there, from an aligned address on.
            unsafe { code.run(&[x.as_ptr().cast_mut().cast(), at, bytes.as_mut_ptr()], 0..len) };
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            // SAFETY: as many were written.
            let found = unsafe { std::slice::from_raw_parts(at.cast::<f64>(), len) };
            assert!(found.iter().zip(&x).all(|(y, x)| *y == x.sqrt()), "{level:?} {len}");
            assert!(bytes[..len].iter().all(|&byte| byte == 0) && bytes[len..].iter().all(|&byte| byte == 9));
        }
    }
}

/// Where the system lets nobody execute what was written, there is an answer, and no memory is left.
#[cfg(target_os = "linux")]
#[test]
fn a_system_that_refuses() {
    let mut form = Builder::new(Level::Avx2);
    let x = form.load(0, Kind::F32).unwrap();
    form.store(1, x).unwrap();
    if !Level::Avx2.is_available() {
        return;
    }
    // On a thread of its own, as the filter stays.
    let refused = std::thread::spawn(move || {
        // As classic BPF: mprotect (10) with PROT_EXEC (4) in its third argument fails with EACCES.
        let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
        let mut filter = [
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 3, libc::SYS_mprotect as u32),
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 16 + 2 * 8),
            step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 0, 1, libc::PROT_EXEC as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, 0x0005_0000 | libc::EACCES as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, 0x7fff_0000),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: the filter is a whole program, and concerns this thread alone.
        let set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        set.then(|| (0..1000).map(|_| compile(&form, false).err()).collect::<Vec<_>>())
    });
    match refused.join().unwrap() {
        Some(all) => assert!(all.iter().all(|&error| error == Some(Refused::Executable))),
        None => eprintln!("this system takes no filter of system calls; nothing was tested"),
    }
}

/// How long a chain of ten operations takes to compile; printed, for there is no time that a test may ask for.
#[test]
fn time_of_a_chain() {
    for level in levels() {
        let started = std::time::Instant::now();
        let mut bytes = 0;
        for _ in 0..100 {
            let mut form = Builder::new(level);
            let mut x = form.load(0, Kind::F32).unwrap();
            for k in 0..10 {
                let c = form.uniform(1 + k / 2, Kind::F32).unwrap();
                x = if k % 2 == 0 { form.multiply(x, c) } else { form.add(x, c) }.unwrap();
            }
            form.store(9, x).unwrap();
            bytes = compile(&form, false).unwrap().bytes();
            assert!(!form.nodes.iter().any(|(node, _)| matches!(node, Node::Select(..))));
        }
        println!("{level:?}: {:?} for each, {bytes} bytes of pages", started.elapsed() / 100);
    }
}
