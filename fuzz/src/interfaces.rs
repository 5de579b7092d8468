//! What array interfaces and buffers say: type strings, numbers of `__sycl_usm_array_interface__`, and memory described by
//! strides in bytes.

use std::sync::atomic::Ordering;

use stridewise::Dtype;
use stridewise_exchange::host::{Strided, host_queue};
use stridewise_exchange::interface::{Interface, usm_strides};
use stridewise_exchange::typestr::{dtype_of_format, dtype_of_typestr, format, typestr};

use crate::lent::{self, Lent};
use crate::random::Rng;
use crate::reach;

pub(crate) fn run(data: &[u8]) {
    let mut rng = Rng::new(data);
    while !rng.is_used_up() {
        match rng.below(4) {
            0 => texts(&mut rng),
            1 => strided(&mut rng),
            _ => numbers(&mut rng),
        }
    }
}

/// A type string or something like one.
fn text(rng: &mut Rng) -> String {
    if rng.chance(70)
        && let Some(known) = typestr(*rng.pick(Dtype::ALL))
    {
        let mut text = known.to_owned();
        if rng.chance(30) {
            text.replace_range(..1, rng.pick::<&str>(&["<", ">", "|", "=", "", "é"]));
        }
        return text;
    }
    let count = rng.below(6);
    let bytes = rng.many(count, Rng::byte);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn texts(rng: &mut Rng) {
    let text = text(rng);
    if let Ok(dtype) = dtype_of_typestr(&text) {
        // All but the byte order is what the dtype is called, and that is this machine's or none.
        let mut letters = text.chars();
        let order = letters.next().unwrap();
        assert_eq!(Some(letters.as_str()), typestr(dtype).map(|text| &text[1..]), "{text:?}");
        let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };
        assert!(order != foreign || dtype.size() == 1, "{text:?}");
    }
    let count = rng.below(4);
    let bytes = rng
        .many(count, |rng| if rng.chance(70) { *rng.pick(b"@=<>!?bBhHiIlLqQnNefdZgsP") } else { rng.byte() });
    let text = String::from_utf8_lossy(&bytes);
    if let Ok(dtype) = dtype_of_format(&text) {
        let own = format(dtype).unwrap().to_str().unwrap();
        assert_eq!(dtype_of_format(own).unwrap(), dtype, "{text:?}");
        let letters = text.trim_start_matches(['@', '=', '<', '>', '!']);
        assert!(text.len() - letters.len() <= 1, "{text:?}");
    }
}

/// A number as a dictionary of Python's may have it, of any size.
fn any(rng: &mut Rng) -> i128 {
    match rng.below(12) {
        0 => i128::from(rng.next()) << rng.below(64),
        1 => -(i128::from(rng.next()) << rng.below(64)),
        _ => rng.number().into(),
    }
}

fn numbers(rng: &mut Rng) {
    let dtype = *rng.pick(Dtype::ALL);
    let text = if rng.chance(90) { typestr(dtype).unwrap_or("<f2").to_owned() } else { text(rng) };
    let ndim = if rng.chance(2) { 33 } else { rng.below(5) };
    let shape = rng.many(ndim, |rng| if rng.chance(85) { rng.below(6) as i128 } else { any(rng) });
    let strides = rng.perhaps(70, |rng| {
        let count = if rng.chance(3) { rng.below(5) } else { ndim };
        rng.many(count, any)
    });
    let interface = Interface {
        version: if rng.chance(95) { 1 } else { any(rng) },
        typestr: &text,
        shape: &shape,
        strides: strides.as_deref(),
        offset: if rng.chance(80) { rng.below(40) as i128 } else { any(rng) },
        memory_bytes: rng.perhaps(50, |rng| if rng.chance(90) { rng.below(700) } else { rng.extent() }),
    };
    let word = |number: &i128| isize::try_from(*number).is_ok();
    let steps = strides.clone().unwrap_or_else(|| reach::row_major(&shape));
    let expected = dtype_of_typestr(&text).ok().filter(|_| interface.version == 1).and_then(|dtype| {
        let len = reach::len(&shape)
            .filter(|_| steps.len() == ndim && strides.iter().flatten().all(word) && interface.offset >= 0)?;
        let reach = if len == 0 { 0..0 } else { reach::reach(&shape, &steps) };
        let low = interface.offset.saturating_add(reach.start);
        let bytes = interface.offset.saturating_add(reach.end).saturating_mul(dtype.size() as i128);
        let room = interface.memory_bytes.map_or(isize::MAX as i128, |bytes| bytes as i128);
        let inside = low >= 0 && bytes <= room.min(isize::MAX as i128);
        inside.then_some((dtype, len, if len == 0 { 0 } else { bytes }))
    });
    let made = interface.check();
    match (&made, expected) {
        (Ok(place), Some((dtype, len, bytes))) => {
            assert_eq!((place.dtype, place.layout.len() as i128, place.bytes as i128), (dtype, len, bytes));
            let given = usm_strides(&place.layout);
            assert!(given.is_none_or(|given| reach::wide(given) == steps), "{interface:?}: {given:?}");
            let address = match rng.below(4) {
                0 => any(rng),
                1 => i128::from(u64::MAX) - rng.below(700) as i128,
                _ => (rng.below(1 << 20) * 16) as i128,
            };
            let aligned = address.rem_euclid(dtype.align() as i128) == 0;
            let there = address > 0 && address + bytes <= usize::MAX as i128 && aligned;
            match place.start(address) {
                Ok(start) => {
                    assert!(bytes == 0 || (there && start as i128 == address), "{address:#x}: {place:?}")
                }
                Err(error) => assert!(bytes > 0 && !there, "{address:#x}: {error}"),
            }
        }
        (Err(error), None) => assert!(error.to_string().contains("help: "), "{error}"),
        (made, expected) => panic!("{interface:?}: {made:?}, expected {expected:?}"),
    }
}

/// Elements of real memory, as `__array_interface__` and the buffer protocol describe them.
fn strided(rng: &mut Rng) {
    let dtype = *rng.pick(Dtype::ALL);
    let size = dtype.size() as i128;
    let mut lent = Lent::new(dtype);
    let ndim = rng.below(4);
    let shape = rng.many(ndim, |rng| if rng.chance(92) { rng.below(6) as i64 } else { rng.number() });
    let byte_strides = rng.perhaps(70, |rng| {
        rng.many(ndim, |rng| {
            let number = rng.number();
            if rng.chance(90) { number.saturating_mul(dtype.size() as i64) } else { number }
        })
    });
    let start = lent.start();
    let first = if rng.chance(90) { (rng.below(20) * dtype.size()) as isize } else { rng.number() as isize };
    let read_only = rng.chance(30);
    let data = start.wrapping_offset(first);
    let described = Strided { data, dtype, shape: &shape, byte_strides: byte_strides.as_deref(), read_only };
    let counter = lent.counter();
    let back = Box::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    // SAFETY: where elements are outside the lent memory they are not followed.
    let outcome = unsafe { described.import(&host_queue().unwrap(), back) };
    let Ok(array) = outcome else {
        assert_eq!(lent.times_returned(), 0);
        // Everything that is inside the memory, whole elements and aligned, is taken.
        let steps = byte_strides.as_ref().map_or_else(
            || reach::row_major(&reach::wide(&shape)).iter().map(|step| step.saturating_mul(size)).collect(),
            |strides| reach::wide(strides),
        );
        let usual = shape.iter().all(|&extent| (0..600).contains(&extent))
            && shape.iter().zip(&steps).all(|(&extent, step)| extent <= 1 || step % size == 0);
        if let Some(places) = lent::places(first as i128, &shape, &steps).filter(|_| usual) {
            let fine = |place: &i128| {
                (0..=Lent::BYTES as i128 - size).contains(place)
                    && (start.addr() as i128 + place) % dtype.align() as i128 == 0
            };
            assert!(!places.iter().all(fine), "{described:?} is refused: {}", outcome.unwrap_err());
        }
        return;
    };
    assert_eq!((array.dtype(), array.flags().writable), (dtype, !read_only));
    let steps = match &byte_strides {
        // Along an axis of one element nothing is stepped.
        Some(strides) => reach::wide(strides),
        None => reach::row_major(&reach::wide(&shape)).iter().map(|step| step * size).collect(),
    };
    if let Some(places) = lent::places(first as i128, &shape, &steps) {
        lent.check(rng, &array, &places);
    }
    drop(array);
    assert_eq!(lent.times_returned(), 1, "{described:?}");
}
