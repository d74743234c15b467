//! Figures as plain Python objects: anything that can be serialised, and matrices as arrays.
//!
//! Not by way of JSON: it has no infinite numbers, and some of these figures are infinite by nature.

use lipmetric::Matrix;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::ser::{self, Serialize};
use std::fmt;

/// A matrix as an array, without another copy.
pub(crate) fn array(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = [matrix.rows(), matrix.cols()];
    PyArray1::from_vec(py, matrix.into_vec()).reshape(shape)
}

/// Anything that can be serialised: numbers, texts, lists and dictionaries.
pub(crate) fn plain<'py, T: Serialize + ?Sized>(py: Python<'py>, value: &T) -> PyResult<Bound<'py, PyAny>> {
    value.serialize(Plain(py)).map_err(|e| e.0)
}

#[derive(Clone, Copy)]
struct Plain<'py>(Python<'py>);

#[derive(Debug)]
struct Failed(PyErr);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(PyTypeError::new_err(message.to_string()))
    }
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

type Made<'py> = Result<Bound<'py, PyAny>, Failed>;

/// A number, a truth value or a text.
fn leaf<'py, T: IntoPyObject<'py>>(py: Python<'py>, value: T) -> Made<'py> {
    value.into_bound_py_any(py).map_err(Failed)
}

macro_rules! leaves {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, value: $type) -> Made<'py> {
            leaf(self.0, value)
        })*
    };
}

impl<'py> ser::Serializer for Plain<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Failed;
    type SerializeSeq = Items<'py>;
    type SerializeTuple = Items<'py>;
    type SerializeTupleStruct = Items<'py>;
    type SerializeTupleVariant = Items<'py>;
    type SerializeMap = Entries<'py>;
    type SerializeStruct = Entries<'py>;
    type SerializeStructVariant = Entries<'py>;

    leaves!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8,
        serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32, serialize_f64: f64,
        serialize_char: char, serialize_str: &str, serialize_bytes: &[u8]
    );

    fn serialize_none(self) -> Made<'py> {
        Ok(self.0.None().into_bound(self.0))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Made<'py> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Made<'py> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Made<'py> {
        leaf(self.0, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Made<'py> {
        named(self.0, variant, value.serialize(self)?)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'py>, Failed> {
        Ok(Items { list: PyList::empty(self.0), variant: None })
    }

    fn serialize_tuple(self, length: usize) -> Result<Items<'py>, Failed> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Items<'py>, Failed> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'py>, Failed> {
        Ok(Items { list: PyList::empty(self.0), variant: Some(variant) })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'py>, Failed> {
        Ok(Entries { dict: PyDict::new(self.0), key: None, variant: None })
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Entries<'py>, Failed> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Entries<'py>, Failed> {
        Ok(Entries { dict: PyDict::new(self.0), key: None, variant: Some(variant) })
    }
}

/// What a variant of an enumeration holds, under the variant's name.
fn named<'py>(py: Python<'py>, variant: &str, value: Bound<'py, PyAny>) -> Made<'py> {
    let dict = PyDict::new(py);
    dict.set_item(variant, value)?;
    Ok(dict.into_any())
}

/// A list on its way.
struct Items<'py> {
    list: Bound<'py, PyList>,
    variant: Option<&'static str>,
}

impl<'py> Items<'py> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        Ok(self.list.append(value.serialize(Plain(self.list.py()))?)?)
    }

    fn done(self) -> Made<'py> {
        match self.variant {
            Some(variant) => named(self.list.py(), variant, self.list.clone().into_any()),
            None => Ok(self.list.into_any()),
        }
    }
}

/// A dictionary on its way.
struct Entries<'py> {
    dict: Bound<'py, PyDict>,
    key: Option<Bound<'py, PyAny>>,
    variant: Option<&'static str>,
}

impl<'py> Entries<'py> {
    fn set<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Failed> {
        Ok(self.dict.set_item(key, value.serialize(Plain(self.dict.py()))?)?)
    }

    fn done(self) -> Made<'py> {
        match self.variant {
            Some(variant) => named(self.dict.py(), variant, self.dict.clone().into_any()),
            None => Ok(self.dict.into_any()),
        }
    }
}

macro_rules! items {
    ($($trait:ident $method:ident),*) => {
        $(impl<'py> ser::$trait for Items<'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = Failed;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
                self.push(value)
            }

            fn end(self) -> Made<'py> {
                self.done()
            }
        })*
    };
}
items!(SerializeSeq serialize_element, SerializeTuple serialize_element);
items!(SerializeTupleStruct serialize_field, SerializeTupleVariant serialize_field);

macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl<'py> ser::$trait for Entries<'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = Failed;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Failed> {
                self.set(key, value)
            }

            fn end(self) -> Made<'py> {
                self.done()
            }
        })*
    };
}
fields!(SerializeStruct, SerializeStructVariant);

impl<'py> ser::SerializeMap for Entries<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        self.key = Some(key.serialize(Plain(self.dict.py()))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        let key = self.key.take();
        Ok(self.dict.set_item(key, value.serialize(Plain(self.dict.py()))?)?)
    }

    fn end(self) -> Made<'py> {
        self.done()
    }
}
