//! Graphs in files: what is read does what was saved, to the bit, and what is no such file is refused.

use std::fs;
use std::path::PathBuf;

use stridewise::Graph;
use stridewise::kernel::{Global, Item, Local, NdRange};
use stridewise::prelude::*;

/// A file of a test, gone at its end.
struct Place(PathBuf);

impl Place {
    fn of(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("stridewise-{name}-{}.graph", std::process::id())))
    }

    /// The graph that a file of this one has.
    fn again(&self, graph: &Graph) -> Result<Graph> {
        graph.save(&self.0)?;
        self.load(graph.queue())
    }

    fn load(&self, queue: &Queue) -> Result<Graph> {
        // SAFETY: `save` has written the file, or what these tests have changed in it is found before anything runs.
        unsafe { Graph::load(queue, &self.0) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A queue of the host at each level of instructions that the processor has.
fn queues() -> Result<Vec<Queue>> {
    let levels = ["host:scalar", "host:neon", "host:avx2", "host:avx512"];
    levels.into_iter().filter_map(|level| Device::select(level).ok()).map(|device| device.queue()).collect()
}

fn same(left: &UsmArray, right: &UsmArray, what: &str) -> Result<()> {
    assert_eq!((left.dtype(), left.shape()), (right.dtype(), right.shape()), "{what}");
    let bytes = |array: &UsmArray| -> Result<Vec<u8>> {
        let dense = array.copy()?;
        let mut bytes = vec![0; dense.bytes()];
        dense.usm_data()?.copy_to_host(dense.offset() * dense.itemsize(), &mut bytes)?;
        Ok(bytes)
    };
    assert_eq!(bytes(left)?, bytes(right)?, "{what}");
    Ok(())
}

const GROUP: usize = 64;

/// Sums of three neighbours of the group turned round; NaN where they are below 0.
#[stridewise::kernel]
fn turned(item: Item<1>, x: &Global<f32>, scale: f32, y: &mut Global<f32>) {
    let tile: Local<f32> = Local::new([GROUP]);
    let l = item.local_id(0);
    tile[l] = x[item.global_id(0)] * scale;
    item.barrier();
    let mut sum = 0.0;
    for k in 0..3 {
        sum += tile[(GROUP as i64 - 1 - l + k) % GROUP as i64];
    }
    if sum > 0.0 {
        y[item.global_id(0)] = sum.sqrt();
    } else {
        y[item.global_id(0)] = f32::NAN;
    }
}

type Work = fn(&Array<f32>) -> Result<UsmArray>;

/// Something of each family, over 64 × 60 elements.
const WORKS: [(&str, Work); 19] = [
    ("a map", |x| Ok((x.sin() * 2.5 - 1.0 / x).into())),
    ("constants", |x| Ok((x.maximum(f32::NAN) + f32::INFINITY).into())),
    ("a choice", |x| where_(&x.greater(0.5).into(), x.as_untyped(), (-x).as_untyped())),
    ("a mean", |x| Ok(x.mean_axis(0)?.into())),
    ("a variance", |x| Ok(x.var_axis(1, 0.0)?.into())),
    ("the places of maxima", |x| Ok(x.argmax_axis(1)?.into())),
    ("a cumulative sum", |x| Ok(x.cumulative_sum_initial(1)?.into())),
    ("a sort", |x| Ok(x.sort(1, Sort::ascending())?.into())),
    ("places of a sort", |x| Ok(x.argsort(0, Sort::descending())?.into())),
    ("a median", |x| Ok(x.median_axis(1)?.into())),
    ("rows by places", |x| {
        Ok(x.take(&Array::<i64>::on(x.queue()).arange(0, 30, 2)?, Some(0), IndexMode::Wrap)?.into())
    }),
    ("a store at places", |x| {
        let (mut y, places) = (x.copy()?, Array::<i64>::on(x.queue()).arange(0, 30, 2)?);
        y.put(&places, 7.0_f32, Some(0), IndexMode::Clip)?;
        Ok(y.into())
    }),
    ("a product", |x| Ok(x.matmul(&x.t()).into())),
    ("a roll", |x| Ok((x.roll(3, 0)? + x.flip(1)?).into())),
    ("16-bit floats", |x| Ok((x.astype::<f16>() + x.astype::<f16>()).astype::<bf16>().into())),
    ("complex numbers", |x| Ok((x.astype::<Complex<f32>>() * Complex::new(0.5, -2.0)).into())),
    ("random numbers", |x| {
        let noise: Array<f32> = Generator::new(3).on(x.queue()).normal((64, 60), 0.0, 1.0)?;
        Ok((noise + x).into())
    }),
    ("a copy", |x| Ok(x.copy()?.into())),
    ("a kernel", |x| {
        let mut y = Array::<f32>::on(x.queue()).empty((64, 60))?;
        let (flat, mut out) = (x.reshape(64 * 60)?, y.reshape(64 * 60)?);
        turned(x.queue(), NdRange::in_groups(&[64 * 60], &[GROUP]), &flat, 3.0, &mut out)?;
        y += 1.0;
        Ok(y.into())
    }),
];

#[test]
fn a_graph_from_a_file_computes_the_same_bits_of_other_inputs() -> Result<()> {
    let place = Place::of("families");
    for queue in queues()? {
        let make = |seed| Generator::new(seed).on(&queue).uniform::<f32>((64, 60), -1.0, 1.0);
        let (x, other) = (make(1)?, make(2)?);
        for (name, work) in WORKS {
            let what = format!("{name} on {queue}");
            let (graph, ()) = queue.capture(|q| {
                q.input("x", &x)?;
                q.output("y", work(&x)?)
            })?;
            let again = place.again(&graph)?;
            assert_eq!(again.to_string(), graph.to_string(), "{what}");
            for input in [&x, &other] {
                let (first, second) = (graph.run(&[input.as_untyped()])?, again.run(&[input.as_untyped()])?);
                same(&first[0], &second[0], &what)?;
                if name != "random numbers" {
                    same(&work(input)?, &second[0], &what)?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_graph_goes_on_from_the_state_that_it_was_saved_with() -> Result<()> {
    let place = Place::of("state");
    for queue in queues()? {
        let plate = Array::<f32>::on(&queue).zeros((70, 80))?;
        plate.slice(s![20..40, 10..30])?.fill(1.0)?;
        let (graph, ()) = queue.capture(|q| {
            let mut inner = plate.slice(s![1..69, 1..79])?;
            let (above, below) = (plate.slice(s![..68, 1..79])?, plate.slice(s![2.., 1..79])?);
            inner.assign(&(&inner + 0.2 * (above + below - 2.0 * &inner)))?;
            q.output("plate", &plate)
        })?;
        graph.repeat(5)?;
        let again = place.again(&graph)?;
        // What the one does from now on is not the other's.
        graph.repeat(7)?;
        let file_s = |steps: usize| -> Result<UsmArray> {
            let again = place.load(&queue)?;
            again.repeat(steps - 1)?;
            Ok(again.run(&[])?.remove(0))
        };
        again.repeat(6)?;
        same(&again.run(&[])?.remove(0), plate.as_untyped(), "seven steps more")?;
        same(&file_s(7)?, plate.as_untyped(), "from the file once more")?;
        assert_ne!(file_s(1)?.to_vec::<f32>()?, plate.to_vec()?);
    }
    Ok(())
}

#[test]
fn inputs_are_as_they_were_and_keep_their_layout() -> Result<()> {
    let place = Place::of("inputs");
    let base = Array::<f64>::arange(0.0, 1000.0, 1.0)?;
    let view = base.slice(s![900..100; -7])?;
    let (graph, _) = view.queue().capture(|q| {
        q.input("view", &view)?;
        let sum = view.sum_axis(0)?;
        q.output("sum", &sum)?;
        Ok(sum)
    })?;
    let expected = view.sum()?;
    let again = place.again(&graph)?;
    base.share().fill(0.0)?;
    again.replay()?.wait()?;
    let like = Array::<f64>::ones(1000)?.slice(s![900..100; -7])?;
    assert_eq!(again.run(&[like.as_untyped()])?[0].to_vec::<f64>()?, [like.len() as f64]);
    assert!(matches!(again.run(&[Array::<f64>::ones(like.len())?.as_untyped()]), Err(Error::Shape(_))));
    let once_more = place.again(&again)?;
    assert_eq!(once_more.to_string(), graph.to_string());
    assert!(expected > 0.0);
    Ok(())
}

#[test]
fn what_is_no_whole_file_of_this_version_is_refused() -> Result<()> {
    let place = Place::of("damaged");
    let x = Array::<f32>::ones(3000)?;
    let queue = x.queue().clone();
    let (graph, _) = queue.capture(|_| x.share().assign(&(&x + 1.0)))?;
    graph.save(&place.0)?;
    let whole = fs::read(&place.0).unwrap();
    let refused = |bytes: &[u8], word: &str| {
        fs::write(&place.0, bytes).unwrap();
        let error = place.load(&queue).unwrap_err();
        assert!(matches!(error, Error::Io(_)), "{error}");
        assert!(error.to_string().contains(word), "{word} in {error}");
    };
    refused(b"", "something else");
    refused(b"something else", "something else");
    refused(&[b'x'; 10_000], "something else");
    let line = whole.iter().position(|&byte| byte == b'\n').unwrap();
    for end in (0..whole.len()).step_by(97).chain([line, line + 1, line + 8, line + 16, whole.len() - 1]) {
        let word = match end {
            0..16 => "something else",
            16.. if end <= line => "stridewise graph",
            _ => "damaged",
        };
        refused(&whole[..end], word);
    }
    // Every byte of the description, and its length and sum.
    for at in line + 1..whole.len() - 12_000 {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        refused(&bytes, "damaged");
    }
    let other = [b"stridewise graph 9.9.9".as_slice(), &whole[line - 25..]].concat();
    refused(&other, "9.9.9");
    fs::write(&place.0, &whole).unwrap();
    place.load(&queue)?.replay()?.wait()?;
    // No folder, and no file.
    assert!(matches!(graph.save("/no/such/folder/a.graph"), Err(Error::Io(_))));
    // SAFETY: there is no such file.
    assert!(matches!(unsafe { Graph::load(&queue, "/no/such/folder/a.graph") }, Err(Error::Io(_))));
    Ok(())
}

#[test]
fn graphs_of_nothing_are_files_too() -> Result<()> {
    let (place, queue) = (Place::of("nothing"), Queue::default_queue()?);
    let (graph, ()) = queue.capture(|_| Ok(()))?;
    let again = place.again(&graph)?;
    assert!(again.is_empty());
    again.repeat(3)?.wait()
}

#[test]
fn other_devices_say_that_they_have_no_such_files() -> Result<()> {
    let (place, queue) = (Place::of("devices"), stridewise::emulated::emulate().build()?.queue()?);
    let x = Array::<f32>::on(&queue).ones(100)?;
    let (graph, _) = queue.capture(|_| x.share().assign(&(&x + 1.0)))?;
    assert!(matches!(graph.save(&place.0), Err(Error::Unsupported(_))));
    assert!(matches!(place.load(&queue), Err(Error::Unsupported(_))));
    Ok(())
}
