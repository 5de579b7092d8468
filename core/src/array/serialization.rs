//! Arrays by the traits of `serde`: the dtype, the shape and the elements in row-major order. Complex numbers are pairs, 16-bit
//! floats the numbers that they are.

use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde::ser::{Error as _, Serialize, SerializeSeq, SerializeStruct, Serializer};

use super::{Array, UsmArray};
use crate::dtype::{Dtype, DtypeKind, Element};
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::memory::heap;
use crate::runtime::Queue;
use crate::scalar::Scalar;

const NAME: &str = "Array";
const FIELDS: [&str; 3] = ["dtype", "shape", "elements"];

/// An element, as a format has it.
struct Written(Scalar);

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Scalar::Bool(value) => serializer.serialize_bool(value),
            Scalar::I8(value) => serializer.serialize_i8(value),
            Scalar::I16(value) => serializer.serialize_i16(value),
            Scalar::I32(value) => serializer.serialize_i32(value),
            Scalar::I64(value) => serializer.serialize_i64(value),
            Scalar::U8(value) => serializer.serialize_u8(value),
            Scalar::U16(value) => serializer.serialize_u16(value),
            Scalar::U32(value) => serializer.serialize_u32(value),
            Scalar::U64(value) => serializer.serialize_u64(value),
            Scalar::F16(value) => serializer.serialize_f32(value.to_f32()),
            Scalar::Bf16(value) => serializer.serialize_f32(value.to_f32()),
            Scalar::F32(value) => serializer.serialize_f32(value),
            Scalar::F64(value) => serializer.serialize_f64(value),
            Scalar::C64(value) => (value.re, value.im).serialize(serializer),
            Scalar::C128(value) => (value.re, value.im).serialize(serializer),
        }
    }
}

struct Elements<T>(Vec<T>);

impl<T: Element> Serialize for Elements<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut elements = serializer.serialize_seq(Some(self.0.len()))?;
        self.0.iter().try_for_each(|element| elements.serialize_element(&Written(element.to_scalar())))?;
        elements.end()
    }
}

/// The elements are copied to the host, in memory of any kind, and waited for. The place of an array is not written.
/// With the feature `serde`.
impl Serialize for UsmArray {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct(NAME, FIELDS.len())?;
        fields.serialize_field("dtype", self.dtype().name())?;
        fields.serialize_field("shape", self.shape())?;
        crate::with_dtype!(self.dtype(), T => {
            let elements = self.to_vec::<T>().map_err(S::Error::custom)?;
            fields.serialize_field("elements", &Elements(elements))?;
        });
        fields.end()
    }
}

/// With the feature `serde`.
impl<T: Element> Serialize for Array<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_untyped().serialize(serializer)
    }
}

/// An element of a dtype, read.
#[derive(Clone, Copy)]
struct Read(Dtype);

impl<'de> DeserializeSeed<'de> for Read {
    type Value = Scalar;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scalar, D::Error> {
        Ok(match self.0.kind() {
            DtypeKind::Bool => Scalar::Bool(bool::deserialize(deserializer)?),
            DtypeKind::Signed | DtypeKind::Unsigned => match self.0 {
                Dtype::I8 => Scalar::I8(Deserialize::deserialize(deserializer)?),
                Dtype::I16 => Scalar::I16(Deserialize::deserialize(deserializer)?),
                Dtype::I32 => Scalar::I32(Deserialize::deserialize(deserializer)?),
                Dtype::U8 => Scalar::U8(Deserialize::deserialize(deserializer)?),
                Dtype::U16 => Scalar::U16(Deserialize::deserialize(deserializer)?),
                Dtype::U32 => Scalar::U32(Deserialize::deserialize(deserializer)?),
                Dtype::U64 => Scalar::U64(Deserialize::deserialize(deserializer)?),
                _ => Scalar::I64(Deserialize::deserialize(deserializer)?),
            },
            DtypeKind::Float if self.0 == Dtype::F64 => Scalar::F64(f64::deserialize(deserializer)?),
            DtypeKind::Float => Scalar::F32(f32::deserialize(deserializer)?).cast(self.0),
            DtypeKind::Complex => {
                let (re, im) = <(f64, f64)>::deserialize(deserializer)?;
                Scalar::C128(crate::Complex::new(re, im)).cast(self.0)
            }
        })
    }
}

/// A list of elements of a dtype, in any number. How many a format says that there are is not trusted.
struct List<T>(std::marker::PhantomData<T>);

impl<'de, T: Element> DeserializeSeed<'de> for List<T> {
    type Value = Vec<T>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}
impl<'de, T: Element> Visitor<'de> for List<T> {
    type Value = Vec<T>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of elements of {}", T::DTYPE)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut elements = Vec::new();
        while let Some(value) = items.next_element_seed(Read(T::DTYPE))? {
            // Of the dtype always.
            let Some(element) = value.get::<T>() else { continue };
            heap::push("elements", &mut elements, element).map_err(A::Error::custom)?;
        }
        Ok(elements)
    }
}

/// What is read of an array: the dtype comes first, as it is written, and as in any format that sorts its fields.
#[derive(Default)]
struct Fields {
    dtype: Option<Dtype>,
    shape: Option<Vec<usize>>,
    /// The elements in one dimension.
    row: Option<UsmArray>,
}

impl Fields {
    fn dtype<E: de::Error>(&mut self, name: &str) -> Result<(), E> {
        self.dtype = Some(name.parse().map_err(E::custom)?);
        Ok(())
    }

    /// Reads the elements by a function of the list's seed.
    fn elements<E: de::Error>(&mut self, read: impl ReadList<E>) -> Result<(), E> {
        let Some(dtype) = self.dtype else {
            return Err(E::custom(Error::value(
                "elements",
                "before the dtype",
                "the dtype, and then the elements",
                "write the dtype first",
            )));
        };
        self.row = Some(crate::with_dtype!(dtype, T => {
            let elements = read.list::<T>()?;
            let queue = Queue::default_queue().map_err(E::custom)?;
            let row = UsmArray::from_slice(&queue, &[elements.len()], &elements, queue.device().default_kind());
            row.map_err(E::custom)?
        }));
        Ok(())
    }

    fn finish<E: de::Error>(self) -> Result<UsmArray, E> {
        let row = self.row.ok_or_else(|| E::missing_field("elements"))?;
        let shape = self.shape.ok_or_else(|| E::missing_field("shape"))?;
        shaped(&row, &shape).map_err(E::custom)
    }
}

/// Elements in a shape, which is that of as many.
fn shaped(row: &UsmArray, shape: &[usize]) -> Result<UsmArray> {
    let layout = Layout::contiguous(shape, Order::C)?;
    if layout.len() != row.len() {
        return Err(Error::shape(
            "elements",
            format!("{} of them", row.len()),
            format!("{}, as shape {shape:?} has", layout.len()),
            "check the shape",
        ));
    }
    Ok(row.with_layout(layout))
}

/// Where a list of elements comes from: a field of a map, or an item of a sequence.
trait ReadList<E> {
    fn list<T: Element>(self) -> Result<Vec<T>, E>;
}
struct OfMap<'a, A>(&'a mut A);
impl<'de, A: MapAccess<'de>> ReadList<A::Error> for OfMap<'_, A> {
    fn list<T: Element>(self) -> Result<Vec<T>, A::Error> {
        self.0.next_value_seed(List(std::marker::PhantomData))
    }
}
struct OfSequence<'a, A>(&'a mut A);
impl<'de, A: SeqAccess<'de>> ReadList<A::Error> for OfSequence<'_, A> {
    fn list<T: Element>(self) -> Result<Vec<T>, A::Error> {
        let list = self.0.next_element_seed(List(std::marker::PhantomData))?;
        list.ok_or_else(|| A::Error::invalid_length(2, &"three fields of an array"))
    }
}

struct ArrayVisitor;

impl<'de> Visitor<'de> for ArrayVisitor {
    type Value = UsmArray;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array: its dtype, shape and elements")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UsmArray, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "dtype" if fields.dtype.is_none() => fields.dtype(&map.next_value::<String>()?)?,
                "shape" if fields.shape.is_none() => fields.shape = Some(map.next_value()?),
                "elements" if fields.row.is_none() => fields.elements(OfMap(&mut map))?,
                "dtype" => return Err(A::Error::duplicate_field("dtype")),
                "shape" => return Err(A::Error::duplicate_field("shape")),
                "elements" => return Err(A::Error::duplicate_field("elements")),
                other => return Err(A::Error::unknown_field(other, &FIELDS)),
            }
        }
        fields.finish()
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UsmArray, A::Error> {
        let mut fields = Fields::default();
        let missing = |number| A::Error::invalid_length(number, &"three fields of an array");
        fields.dtype(&items.next_element::<String>()?.ok_or_else(|| missing(0))?)?;
        fields.shape = Some(items.next_element()?.ok_or_else(|| missing(1))?);
        fields.elements(OfSequence(&mut items))?;
        fields.finish()
    }
}

/// On the default queue.
/// With the feature `serde`.
impl<'de> Deserialize<'de> for UsmArray {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(NAME, &FIELDS, ArrayVisitor)
    }
}

/// On the default queue. An array of another dtype is an error.
/// With the feature `serde`.
impl<'de, T: Element> Deserialize<'de> for Array<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UsmArray::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}
