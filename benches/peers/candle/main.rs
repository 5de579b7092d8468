//! candle as a peer of the benchmark: computes rows on request and times itself. Requests and answers are lines of JSON;
//! `worker.py`, beside this folder, describes them.

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use candle_core::{DType, Device, Result, Tensor};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Request {
    Prepare { op: String, layout: String, dtype: String, n: usize },
    Run(usize),
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Ready(String),
    Prepared(bool),
    Seconds(f64),
    Error(String),
}

/// What the expressions of the rows read.
struct Inputs {
    key: (DType, usize),
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Tensor,
    mask: Tensor,
    a_square: Tensor,
    b_square: Tensor,
    b_transposed: Tensor,
    row: Tensor,
    column: Tensor,
}

impl Inputs {
    fn new(dtype: DType, n: usize) -> Result<Self> {
        let side = n.isqrt();
        let array = |seed| Tensor::from_vec(values(n, seed), n, &Device::Cpu)?.to_dtype(dtype);
        let (a, b, c, d) = (array(1)?, array(2)?, array(3)?, array(4)?);
        let b_square = b.reshape((side, side))?;
        let row = c.narrow(0, 0, side)?;
        Ok(Self {
            key: (dtype, n),
            mask: a.gt(&b)?,
            a_square: a.reshape((side, side))?,
            b_transposed: b_square.t()?,
            b_square,
            column: row.reshape((side, 1))?,
            row,
            a,
            b,
            c,
            d,
        })
    }
}

/// The values of the benchmark's own arrays.
fn values(n: usize, seed: u64) -> Vec<f64> {
    let unit = |place: u64| (place.wrapping_mul(2_654_435_761) + seed * 40_503) as u32;
    (0..n as u64).map(|place| f64::from(unit(place)) / 4_294_967_296.0 + 0.5).collect()
}

type Run = fn(&Inputs) -> Result<Tensor>;

/// The expression of a row.
fn expression(op: &str, layout: &str) -> Option<Run> {
    let run: Run = match (op, layout) {
        ("add", "fresh") => |x| &x.a + &x.b,
        ("a*b+c", "fresh") => |x| (&x.a * &x.b)? + &x.c,
        ("sqrt", "fresh") => |x| x.a.sqrt(),
        ("exp", "fresh") => |x| x.a.exp(),
        ("log", "fresh") => |x| x.a.log(),
        ("sin", "fresh") => |x| x.a.sin(),
        ("tanh", "fresh") => |x| x.a.tanh(),
        ("pow", "fresh") => |x| x.a.pow(&x.b),
        ("greater", "fresh") => |x| x.a.gt(&x.b),
        ("where", "fresh") => |x| x.mask.where_cond(&x.a, &x.b),
        ("cast", _) => |x| x.a.to_dtype(if x.key.0 == DType::F32 { DType::F64 } else { DType::F32 }),
        ("add", "transposed") => |x| &x.a_square + &x.b_transposed,
        ("add", "row broadcast") => |x| x.a_square.broadcast_add(&x.row),
        ("add", "column broadcast") => |x| x.a_square.broadcast_add(&x.column),
        ("copy", "transposed") => |x| x.b_transposed.contiguous(),
        ("concat", "axis 0") => |x| Tensor::cat(&[&x.a_square, &x.b_square], 0),
        ("concat", "axis 1") => |x| Tensor::cat(&[&x.a_square, &x.b_square], 1),
        ("sum", "all") => |x| x.a.sum_all(),
        ("max", "all") => |x| x.a.max(0),
        ("argmax", "all") => |x| x.a.argmax(0),
        ("mean", "all") => |x| x.a.mean_all(),
        ("var", "all") => |x| x.a.var(0),
        ("sum", "axis 0") => |x| x.a_square.sum(0),
        ("sum", "axis 1") => |x| x.a_square.sum(1),
        ("dot", "all") => |x| (&x.a * &x.b)?.sum_all(),
        ("norm", "all") => |x| x.a.sqr()?.sum_all()?.sqrt(),
        ("sqrt(a*a+b*b)*c-d", _) => |x| ((x.a.sqr()? + x.b.sqr()?)?.sqrt()? * &x.c)? - &x.d,
        ("sigmoid", _) => |x| (x.a.neg()?.exp()? + 1.0)?.recip(),
        ("gelu", _) => |x| x.a.gelu(),
        ("normalise", "axis 0") => |x| normalise(x, 0),
        ("normalise", "axis 1") => |x| normalise(x, 1),
        _ => return None,
    };
    Some(run)
}

fn normalise(x: &Inputs, axis: usize) -> Result<Tensor> {
    let from_mean = x.a_square.broadcast_sub(&x.a_square.mean_keepdim(axis)?)?;
    from_mean.broadcast_div(&x.a_square.var_keepdim(axis)?.sqrt()?)
}

/// What was prepared last. Inputs stay for the next row of their size and dtype.
#[derive(Default)]
struct Session {
    inputs: Option<Inputs>,
    run: Option<Run>,
}

impl Session {
    fn answer(&mut self, request: Request) -> std::result::Result<Answer, Box<dyn Error>> {
        match request {
            Request::Prepare { op, layout, dtype, n } => {
                self.run = None;
                let dtype = match dtype.as_str() {
                    "float32" => DType::F32,
                    "float64" => DType::F64,
                    _ => return Ok(Answer::Prepared(false)),
                };
                let Some(run) = expression(&op, &layout) else {
                    return Ok(Answer::Prepared(false));
                };
                if self.inputs.as_ref().is_none_or(|inputs| inputs.key != (dtype, n)) {
                    self.inputs = None;
                    self.inputs = Some(Inputs::new(dtype, n)?);
                }
                self.run = Some(run);
                Ok(Answer::Prepared(true))
            }
            Request::Run(count) => {
                let (run, inputs) = self.run.zip(self.inputs.as_ref()).ok_or("no row is prepared")?;
                let begin = Instant::now();
                for _ in 0..count {
                    drop(black_box(run(inputs)?));
                }
                Ok(Answer::Seconds(begin.elapsed().as_secs_f64()))
            }
        }
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let mut answers = stdout().lock();
    let mut say = |answer: &Answer| -> std::result::Result<(), Box<dyn Error>> {
        writeln!(answers, "{}", serde_json::to_string(answer)?)?;
        Ok(answers.flush()?)
    };
    say(&Answer::Ready("candle 0.11".to_owned()))?;
    let mut session = Session::default();
    for line in stdin().lock().lines() {
        let request = serde_json::from_str(&line?)?;
        say(&session.answer(request).unwrap_or_else(|error| Answer::Error(error.to_string())))?;
    }
    Ok(())
}
