//! One operation, called as often as its caller says, on the default device or by a plain loop: what `cargo xtask instructions` runs in
//! an emulator that counts. What a run with no call executes is the start, and the making of the arrays.
//!
//! Without arguments, the rows.

mod plain;

use std::error::Error;
use std::hint::black_box;

use stridewise::{Array, Result};

/// Elements of each operand, unless the caller says otherwise: of 64 KiB to 512 KiB, so that what a call has to do besides its
/// elements does not count.
const ELEMENTS: usize = 1 << 16;

/// Numbers in no order.
struct Numbers {
    a: Vec<f32>,
    b: Vec<f32>,
    double: Vec<f64>,
    int: Vec<i32>,
    byte: Vec<u8>,
    /// True for every other element or so.
    mask: Vec<bool>,
}

/// Arrays of them.
struct Given {
    a: Array<f32>,
    b: Array<f32>,
    double: Array<f64>,
    int: Array<i32>,
    byte: Array<u8>,
    mask: Array<bool>,
}

/// Numbers of 24 bits (splitmix64).
fn random(elements: usize, seed: u64) -> Vec<u32> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 40) as u32
    };
    std::iter::repeat_with(next).take(elements).collect()
}

impl Numbers {
    fn new(elements: usize) -> Self {
        let numbers = random(elements, 1);
        // Above 0, and no more than 16.
        let floats = |numbers: &[u32]| numbers.iter().map(|&n| (n + 1) as f32 / (1 << 20) as f32).collect();
        Self {
            a: floats(&numbers),
            b: floats(&random(elements, 2)),
            double: numbers.iter().map(|&n| f64::from(n + 1)).collect(),
            int: numbers.iter().map(|&n| n.cast_signed()).collect(),
            byte: numbers.iter().map(|&n| n as u8).collect(),
            mask: numbers.iter().map(|&n| n & 1 == 1).collect(),
        }
    }
}

impl Given {
    fn new(numbers: Numbers) -> Result<Self> {
        let shape = [numbers.a.len()];
        Ok(Self {
            a: Array::from_vec(shape, numbers.a)?,
            b: Array::from_vec(shape, numbers.b)?,
            double: Array::from_vec(shape, numbers.double)?,
            int: Array::from_vec(shape, numbers.int)?,
            byte: Array::from_vec(shape, numbers.byte)?,
            mask: Array::from_vec(shape, numbers.mask)?,
        })
    }
}

type Loop = fn(&Numbers);
type Work = fn(&Given) -> Result<()>;

/// By kind and name: a loop that does as much, and the operation, whose result each waits for.
const ROWS: &[(&str, &str, Loop, Work)] = &[
    ("elementwise", "add-float32", plain::add_float32, |g| black_box(g.a.try_add(&g.b)?).wait()),
    ("elementwise", "add-int32", plain::add_int32, |g| black_box(g.int.try_add(&g.int)?).wait()),
    ("elementwise", "add-uint8", plain::add_uint8, |g| black_box(g.byte.try_add(&g.byte)?).wait()),
    ("elementwise", "sqrt-float32", plain::sqrt_float32, |g| black_box(g.a.try_sqrt()?).wait()),
    ("elementwise", "exp-float32", plain::exp_float32, |g| black_box(g.a.try_exp()?).wait()),
    ("elementwise", "sin-float32", plain::sin_float32, |g| black_box(g.a.try_sin()?).wait()),
    ("elementwise", "log-float64", plain::log_float64, |g| black_box(g.double.try_log()?).wait()),
    ("elementwise", "floor-float32", plain::floor_float32, |g| black_box(g.a.try_floor()?).wait()),
    ("elementwise", "maximum-float32", plain::maximum_float32, |g| black_box(g.a.try_maximum(&g.b)?).wait()),
    ("elementwise", "cast-float32-int32", plain::cast_float32_int32, |g| {
        black_box(g.a.try_astype::<i32>()?).wait()
    }),
    ("fold", "sum-float32", plain::sum_float32, |g| black_box(g.a.sum()).map(drop)),
    ("fold", "sum-int32", plain::sum_int32, |g| black_box(g.int.sum()).map(drop)),
    ("fold", "sum-uint8", plain::sum_uint8, |g| black_box(g.byte.sum()).map(drop)),
    ("fold", "max-float32", plain::max_float32, |g| black_box(g.a.max()).map(drop)),
    ("fold", "max-float64", plain::max_float64, |g| black_box(g.double.max()).map(drop)),
    ("fold", "argmax-float32", plain::argmax_float32, |g| black_box(g.a.argmax()).map(drop)),
    ("sort", "sort-float32", plain::sort_float32, |g| black_box(g.a.sort(0, true)?).wait()),
    ("sort", "sort-int32", plain::sort_int32, |g| black_box(g.int.sort(0, true)?).wait()),
    ("sort", "sort-float64", plain::sort_float64, |g| black_box(g.double.sort(0, true)?).wait()),
    ("sort", "argsort-float32", plain::argsort_float32, |g| black_box(g.a.argsort(0, true)?).wait()),
    ("mask", "greater-float32", plain::greater_float32, |g| black_box(g.a.try_greater(&g.b)?).wait()),
    ("mask", "where-float32", plain::where_float32, |g| black_box(g.mask.try_where(&g.a, &g.b)?).wait()),
    ("mask", "and-bool", plain::and_bool, |g| black_box(g.mask.try_logical_and(&g.mask)?).wait()),
    ("mask", "count-bool", plain::count_bool, |g| black_box(g.mask.sum()).map(drop)),
    ("mask", "masked-float32", plain::masked_float32, |g| black_box(g.a.masked(&g.mask)?).wait()),
    ("mask", "nonzero-bool", plain::nonzero_bool, |g| {
        g.mask.nonzero()?.iter().try_for_each(|places| black_box(places).wait())
    }),
];

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [how, row, calls, elements @ ..] = arguments.as_slice() else {
        ROWS.iter().for_each(|(kind, name, ..)| println!("{kind} {name}"));
        return Ok(());
    };
    let found = ROWS.iter().find(|(_, name, ..)| name == row);
    let (.., plain, work) = found.ok_or("there is no such row; without arguments, the rows are printed")?;
    let numbers = Numbers::new(elements.first().map_or(Ok(ELEMENTS), |text| text.parse())?);
    let mut calls = 0..calls.parse::<u32>()?;
    match how.as_str() {
        "loop" => calls.for_each(|_| plain(&numbers)),
        "engine" => {
            let given = Given::new(numbers)?;
            calls.try_for_each(|_| work(&given))?;
        }
        _ => return Err("write `loop` or `engine`, a row and a number of calls".into()),
    }
    Ok(())
}
