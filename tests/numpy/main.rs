//! Differential test against NumPy: `differential.py`, beside this file, makes random cases and compares results; this
//! program evaluates them on every device. It needs `python3` with NumPy, and runs where the variable
//! `STRIDEWISE_NUMPY` is set, as `cargo xtask test` does.

#[path = "../devices/mod.rs"]
mod devices;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use stridewise::{
    ArrayOrScalar, Dtype, IndexMode, Op, Queue, Reduction, Scan, Side, SliceItem, UsmArray, UsmKind, concat,
    elementwise, stack,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Runs the test where this is set. Its value, if a number, is how many cases each elementwise operation has.
const VARIABLE: &str = "STRIDEWISE_NUMPY";

const REDUCTIONS: [Reduction; 9] = [
    Reduction::Sum,
    Reduction::Prod,
    Reduction::Min,
    Reduction::Max,
    Reduction::ArgMin,
    Reduction::ArgMax,
    Reduction::Mean,
    Reduction::Any,
    Reduction::All,
];

fn main() -> Outcome<()> {
    let Some(wanted) = std::env::var_os(VARIABLE) else {
        println!(
            "not run: set {VARIABLE}=1 where python3 has NumPy, or use `cargo xtask test --only differential`"
        );
        return Ok(());
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("numpy-{}", std::process::id()));
    let count = wanted.to_str().and_then(|text| text.parse::<u32>().ok()).filter(|&count| count > 1);
    let count = count.unwrap_or(40).to_string();
    script(&["make".as_ref(), folder.as_os_str(), "--cases".as_ref(), count.as_ref()])?;
    evaluate_all(&folder)?;
    script(&["check".as_ref(), folder.as_os_str()])?;
    // What failed stays, to be looked at.
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// The Python that has NumPy: the one of the path, or the system's, where packages of the system install it.
fn python() -> Outcome<&'static str> {
    let has_numpy = |python: &&str| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has_numpy);
    found.ok_or_else(|| "no python3 has NumPy: install python3-numpy, or unset STRIDEWISE_NUMPY".into())
}

/// Runs the script.
fn script(arguments: &[&std::ffi::OsStr]) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numpy/differential.py");
    let status = Command::new(python()?).arg(path).args(arguments).status()?;
    match status.success() {
        true => Ok(()),
        false => {
            Err(format!("differential.py {} failed ({status})", arguments.join(" ".as_ref()).display())
                .into())
        }
    }
}

/// Evaluates every case on every device and writes the results. A result with the same bytes as the first device's is
/// not written again.
fn evaluate_all(folder: &Path) -> Outcome<()> {
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(folder.join("cases.json"))?)?;
    let mut outcomes = Vec::new();
    let mut first: Vec<Option<Vec<u8>>> = Vec::new();
    for (number, device) in devices::devices().iter().enumerate() {
        let queue = device.queue()?;
        for (index, case) in cases.iter().enumerate() {
            let result = evaluate(folder, case, &queue).and_then(|result| {
                let bytes = elements(&result)?;
                if first.get(index).is_some_and(|first| first.as_ref() == Some(&bytes)) {
                    return Ok((format!("r0_{index}.npy"), bytes));
                }
                let file = format!("r{number}_{index}.npy");
                result.save_npy(folder.join(&file))?;
                Ok((file, bytes))
            });
            let device = device.filter_string();
            outcomes.push(match &result {
                Ok((file, _)) => json!({ "case": index, "device": device, "file": file }),
                Err(error) => json!({ "case": index, "device": device, "error": error.to_string() }),
            });
            if number == 0 {
                first.push(result.ok().map(|(_, bytes)| bytes));
            }
        }
    }
    std::fs::write(folder.join("outcomes.json"), serde_json::to_vec(&outcomes)?)?;
    Ok(())
}

/// The elements in row-major order, as bytes.
fn elements(array: &UsmArray) -> Outcome<Vec<u8>> {
    let copy = array.copy_in(stridewise::Order::C)?;
    if copy.is_empty() {
        return Ok(Vec::new());
    }
    let mut bytes = copy.usm_data()?.to_bytes()?;
    bytes.truncate(copy.bytes());
    Ok(bytes)
}

/// The result of a case. Operations that are neither elementwise nor a reduction have an arm here.
fn evaluate(folder: &Path, case: &Value, queue: &Queue) -> Outcome<UsmArray> {
    let name = case["op"].as_str().ok_or("a case without an operation")?;
    let inputs = list(&case["inputs"])?;
    let inputs = inputs.iter().map(|input| view(folder, input, queue)).collect::<Outcome<Vec<_>>>()?;
    let all: Vec<&UsmArray> = inputs.iter().collect();
    let arguments = &case["arguments"];
    let axis = || integer(&arguments["axis"]);
    Ok(match name {
        "astype" => all[0].astype(arguments["dtype"].as_str().ok_or("no dtype")?.parse::<Dtype>()?)?,
        "concat" => concat(&all, Some(axis()?))?,
        "stack" => stack(&all, axis()?)?,
        _ if case["kind"] == "along" => along(name, &all, arguments)?,
        _ if case["kind"] == "reduction" => {
            let reduction = REDUCTIONS.into_iter().find(|reduction| reduction.name() == name);
            let reduction = reduction.ok_or_else(|| format!("there is no reduction `{name}`"))?;
            let axes = match &arguments["axes"] {
                Value::Null => None,
                axes => Some(integers(axes)?),
            };
            all[0].reduce(reduction, axes.as_deref(), arguments["keepdims"] == true)?
        }
        _ => {
            let op = Op::ALL.iter().find(|op| op.name() == name);
            let op = *op.ok_or_else(|| format!("there is no operation `{name}`"))?;
            let operands: Vec<ArrayOrScalar<'_>> = all.into_iter().map(Into::into).collect();
            elementwise(op, &operands)?
        }
    })
}

/// The result of an operation along an axis.
fn along(name: &str, x: &[&UsmArray], arguments: &Value) -> Outcome<UsmArray> {
    let axis = integer(&arguments["axis"])?;
    let descending = arguments["descending"] == true;
    let shift = || integer(&arguments["shift"]);
    Ok(match name {
        "sort" => x[0].sort(axis, descending)?,
        "argsort" => x[0].argsort(axis, descending)?,
        "cumulative_sum" => x[0].cumulative(Scan::Sum, Some(axis), None, false)?,
        "cumulative_prod" => x[0].cumulative(Scan::Prod, Some(axis), None, false)?,
        "diff" => x[0].diff(axis, 1, None, None)?,
        "roll" => x[0].roll(&[shift()?], Some(&[axis]))?,
        "repeat" => x[0].repeat(usize::try_from(integer(&arguments["count"])?)?, Some(axis))?,
        "take" => x[0].take(x[1], Some(axis), IndexMode::Check)?,
        "take_along_axis" => x[0].take_along_axis(x[1], axis, IndexMode::Check)?,
        "count_nonzero" => x[0].count_nonzero(Some(&[axis]), false)?,
        "tril" => x[0].tril(shift()?)?,
        "triu" => x[0].triu(shift()?)?,
        "masked" => x[0].masked(x[1])?,
        "searchsorted" => x[0].reshape(&[-1])?.sort(0, false)?.searchsorted(x[1], Side::Left, None)?,
        "unique_values" => x[0].unique_values()?,
        "isin" => x[0].isin(x[1], false)?,
        "matmul" => x[0].matmul(x[1])?,
        "var" => x[0].var(Some(&[axis]), false, 0.0)?,
        "std" => x[0].std(Some(&[axis]), false, 0.0)?,
        _ => return Err(format!("there is no operation `{name}`").into()),
    })
}

/// A base array, loaded, and the steps to the view of it.
fn view(folder: &Path, input: &Value, queue: &Queue) -> Outcome<UsmArray> {
    let file = input["base"].as_str().ok_or("a view without a base")?;
    let mut array = UsmArray::load_npy_on(folder.join(file), queue, UsmKind::Shared)?;
    for step in list(&input["steps"])? {
        array = match step[0].as_str() {
            Some("permute") => array.permute_dims(&integers(&step[1])?)?,
            Some("slice") => {
                let items = list(&step[1])?.iter().map(slice).collect::<Outcome<Vec<_>>>()?;
                array.slice(&items)?
            }
            Some("broadcast") => {
                let shape = integers(&step[1])?.into_iter().map(usize::try_from);
                array.broadcast_to(&shape.collect::<Result<Vec<_>, _>>()?)?
            }
            _ => return Err(format!("there is no step {step}").into()),
        };
    }
    Ok(array)
}

/// `[start, stop, step]`, of which the first two may be null.
fn slice(bounds: &Value) -> Outcome<SliceItem> {
    let bound = |value: &Value| if value.is_null() { Ok(None) } else { integer(value).map(Some) };
    Ok(SliceItem::Slice { start: bound(&bounds[0])?, stop: bound(&bounds[1])?, step: integer(&bounds[2])? })
}

fn list(value: &Value) -> Outcome<&Vec<Value>> {
    value.as_array().ok_or_else(|| format!("{value} is no list").into())
}

fn integer(value: &Value) -> Outcome<isize> {
    let number = value.as_i64().ok_or_else(|| format!("{value} is no integer"))?;
    Ok(isize::try_from(number)?)
}

fn integers(value: &Value) -> Outcome<Vec<isize>> {
    list(value)?.iter().map(integer).collect()
}
