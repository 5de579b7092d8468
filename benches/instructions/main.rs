//! One operation, called as often as its caller says, on the default device: what `cargo xtask instructions` runs in an emulator
//! that counts. What a run with no call executes is the start, and the making of the arrays.
//!
//! Without arguments, the rows.

use std::error::Error;
use std::hint::black_box;

use stridewise::{Array, Result};

/// Elements of each operand, unless the caller says otherwise: of 64 KiB to 512 KiB, so that what a call has to do besides its
/// elements does not count.
const ELEMENTS: usize = 1 << 16;

/// The operands: numbers in no order.
struct Given {
    a: Array<f32>,
    b: Array<f32>,
    double: Array<f64>,
    int: Array<i32>,
    byte: Array<u8>,
    /// True for every other element or so.
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

impl Given {
    fn new(elements: usize) -> Result<Self> {
        let numbers = random(elements, 1);
        // Above 0, and below 16.
        let floats = |numbers: &[u32]| numbers.iter().map(|&n| (n + 1) as f32 / (1 << 20) as f32).collect();
        Ok(Self {
            a: Array::from_vec([elements], floats(&numbers))?,
            b: Array::from_vec([elements], floats(&random(elements, 2)))?,
            double: Array::from_vec([elements], numbers.iter().map(|&n| f64::from(n)).collect())?,
            int: Array::from_vec([elements], numbers.iter().map(|&n| n.cast_signed()).collect())?,
            byte: Array::from_vec([elements], numbers.iter().map(|&n| n as u8).collect())?,
            mask: Array::from_vec([elements], numbers.iter().map(|&n| n & 1 == 1).collect())?,
        })
    }
}

type Work = fn(&Given) -> Result<()>;

/// By kind and name; each waits for its result.
const ROWS: &[(&str, &str, Work)] = &[
    ("elementwise", "add-float32", |g| black_box(g.a.try_add(&g.b)?).wait()),
    ("elementwise", "add-int32", |g| black_box(g.int.try_add(&g.int)?).wait()),
    ("elementwise", "add-uint8", |g| black_box(g.byte.try_add(&g.byte)?).wait()),
    ("elementwise", "sqrt-float32", |g| black_box(g.a.try_sqrt()?).wait()),
    ("elementwise", "exp-float32", |g| black_box(g.a.try_exp()?).wait()),
    ("elementwise", "sin-float32", |g| black_box(g.a.try_sin()?).wait()),
    ("elementwise", "log-float64", |g| black_box(g.double.try_log()?).wait()),
    ("elementwise", "floor-float32", |g| black_box(g.a.try_floor()?).wait()),
    ("elementwise", "maximum-float32", |g| black_box(g.a.try_maximum(&g.b)?).wait()),
    ("elementwise", "cast-float32-int32", |g| black_box(g.a.try_astype::<i32>()?).wait()),
    ("fold", "sum-float32", |g| black_box(g.a.sum()).map(drop)),
    ("fold", "sum-int32", |g| black_box(g.int.sum()).map(drop)),
    ("fold", "sum-uint8", |g| black_box(g.byte.sum()).map(drop)),
    ("fold", "max-float32", |g| black_box(g.a.max()).map(drop)),
    ("fold", "max-float64", |g| black_box(g.double.max()).map(drop)),
    ("fold", "argmax-float32", |g| black_box(g.a.argmax()).map(drop)),
    ("sort", "sort-float32", |g| black_box(g.a.sort(0, true)?).wait()),
    ("sort", "sort-int32", |g| black_box(g.int.sort(0, true)?).wait()),
    ("sort", "sort-float64", |g| black_box(g.double.sort(0, true)?).wait()),
    ("sort", "argsort-float32", |g| black_box(g.a.argsort(0, true)?).wait()),
    ("mask", "greater-float32", |g| black_box(g.a.try_greater(&g.b)?).wait()),
    ("mask", "where-float32", |g| black_box(g.mask.try_where(&g.a, &g.b)?).wait()),
    ("mask", "and-bool", |g| black_box(g.mask.try_logical_and(&g.mask)?).wait()),
    ("mask", "count-bool", |g| black_box(g.mask.sum()).map(drop)),
    ("mask", "masked-float32", |g| black_box(g.a.masked(&g.mask)?).wait()),
    ("mask", "nonzero-bool", |g| g.mask.nonzero()?.iter().try_for_each(|places| black_box(places).wait())),
];

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [row, calls, elements @ ..] = arguments.as_slice() else {
        ROWS.iter().for_each(|(kind, name, _)| println!("{kind} {name}"));
        return Ok(());
    };
    let found = ROWS.iter().find(|(_, name, _)| name == row);
    let (.., work) = found.ok_or("there is no such row; without arguments, the rows are printed")?;
    let elements = elements.first().map_or(Ok(ELEMENTS), |text| text.parse())?;
    let given = Given::new(elements)?;
    (0..calls.parse()?).try_for_each(|_: u32| work(&given))?;
    Ok(())
}
