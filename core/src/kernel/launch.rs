//! Launching a kernel: arguments are checked against its parameters, and what a backend takes is made of them.

use std::sync::OnceLock;
use std::time::Duration;

use smallvec::SmallVec;

use crate::array::{Array, UsmArray};
use crate::backend::{Support, is_switched_on};
use crate::dtype::Element;
use crate::error::{Error, Result, counted};
use crate::form::{Kernel, LaunchOptions, MAX_OBJECT_LEN, Memory, NdRange, Object, Parameter, Space};
use crate::lazy::{Bound, launch_kernel};
use crate::promotion::Weak;
use crate::runtime::{Event, Queue, Seconds, common_queue};
use crate::scalar::Scalar;

/// Turns the checked mode of kernels on.
pub(crate) const CHECK_VARIABLE: &str = "STRIDEWISE_CHECK";

/// The variable that says how long kernels may take.
const LIMIT_VARIABLE: &str = "STRIDEWISE_KERNEL_SECONDS";
pub(crate) const LIMIT: Seconds = Seconds {
    variable: LIMIT_VARIABLE,
    expected: "a number of seconds above 0",
    otherwise: "kernels may take as long as they take",
    is_right: |time| !time.is_zero(),
};

fn is_checked() -> bool {
    static CHECK: OnceLock<bool> = OnceLock::new();
    *CHECK.get_or_init(|| is_switched_on(CHECK_VARIABLE))
}

/// The time limit of launches that have none of their own.
pub(crate) fn kernel_seconds() -> Option<Duration> {
    static SECONDS: OnceLock<Option<Duration>> = OnceLock::new();
    *SECONDS.get_or_init(|| LIMIT.read())
}

/// An argument of a launch.
#[derive(Clone, Debug)]
pub enum Argument<'a> {
    /// An array of the parameter's dtype and dimensions, of any layout.
    Array(&'a UsmArray),
    /// A number of the parameter's dtype.
    Scalar(Scalar),
    /// A number that takes the parameter's dtype.
    Weak(Weak),
    /// The extents of local memory.
    Local(Vec<usize>),
}

impl<'a> From<&'a UsmArray> for Argument<'a> {
    fn from(array: &'a UsmArray) -> Self {
        Self::Array(array)
    }
}
impl<'a, T: Element> From<&'a Array<T>> for Argument<'a> {
    fn from(array: &'a Array<T>) -> Self {
        Self::Array(array.as_untyped())
    }
}
impl From<Scalar> for Argument<'_> {
    fn from(value: Scalar) -> Self {
        Self::Scalar(value)
    }
}
impl<T: Into<Weak>> From<T> for Argument<'_> {
    fn from(value: T) -> Self {
        Self::Weak(value.into())
    }
}

impl Kernel {
    /// Launches the kernel over an index space, behind whatever accesses its arrays now and behind the events named. Recorded
    /// work on the arrays is submitted first.
    ///
    /// # Errors
    /// [`Error::Value`] for a wrong number or kind of arguments, or groups that the device does not take; [`Error::Dtype`] and
    /// [`Error::Axis`] where an array has not its parameter's dtype or dimensions; [`Error::Borrow`] where one that is written
    /// is read-only; [`Error::ExecutionPlacement`] where one is on another queue; [`Error::Unsupported`] where the device does
    /// not run the kernel; what the submission reports.
    pub fn launch(
        &self,
        queue: &Queue,
        range: impl Into<NdRange>,
        arguments: &[Argument<'_>],
        depends: &[Event],
    ) -> Result<Event> {
        self.launch_with(queue, range, arguments, depends, LaunchOptions::default())
    }

    /// As [`launch`](Self::launch), in checked mode: items are watched, and the event fails where one breaks a rule
    /// ([`Error::Kernel`] names it, the line and the item). It takes hundreds of times as long. With `STRIDEWISE_CHECK=1` in the
    /// environment every launch is one.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch); [`Error::Unsupported`] where the device has no checked mode.
    pub fn launch_checked(
        &self,
        queue: &Queue,
        range: impl Into<NdRange>,
        arguments: &[Argument<'_>],
        depends: &[Event],
    ) -> Result<Event> {
        let options = LaunchOptions { checked: true, ..LaunchOptions::default() };
        self.launch_with(queue, range, arguments, depends, options)
    }

    /// As [`launch`](Self::launch), with what is said of how it is run. With `STRIDEWISE_KERNEL_SECONDS` in the environment every
    /// launch on a device that can end one has that time limit, unless it has one of its own.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch); [`Error::Unsupported`] where the device has no checked mode, or cannot end a kernel.
    pub fn launch_with(
        &self,
        queue: &Queue,
        range: impl Into<NdRange>,
        arguments: &[Argument<'_>],
        depends: &[Event],
        mut options: LaunchOptions,
    ) -> Result<Event> {
        options.checked |= is_checked();
        if options.time_limit.is_none() && kernel_seconds().is_some() {
            let limited = LaunchOptions { time_limit: kernel_seconds(), ..options };
            if !matches!(queue.device().backend().supports_kernel(self, limited), Support::No(_)) {
                options = limited;
            }
        }
        self.submit(queue, &range.into(), arguments, depends, (options, false))
    }

    /// As [`launch`](Self::launch), of a kernel of the engine's own; whether its loops are known to end soon.
    pub(crate) fn launch_own(
        &self,
        queue: &Queue,
        range: impl Into<NdRange>,
        arguments: &[Argument<'_>],
        ends: bool,
    ) -> Result<Event> {
        let options = LaunchOptions { checked: is_checked(), time_limit: None };
        self.submit(queue, &range.into(), arguments, &[], (options, ends))
    }

    fn submit(
        &self,
        queue: &Queue,
        range: &NdRange,
        arguments: &[Argument<'_>],
        depends: &[Event],
        options: (LaunchOptions, bool),
    ) -> Result<Event> {
        let info = queue.device().info();
        let limits = &info.limits;
        if (1..self.private_bytes()).contains(&limits.private_item_bytes) {
            return Err(Error::value(
                "private memory",
                format!("{} bytes for each item of `{}`", self.private_bytes(), self.name()),
                format!("{} bytes at most for an item", limits.private_item_bytes),
                "use smaller private arrays, or local memory",
            ));
        }
        let space = Space::new(self, range, limits.max_work_group_size, limits.private_memory_bytes)?;
        self.check_dtypes(queue)?;
        let parameters = &self.form().parameters;
        if arguments.len() != parameters.len() {
            return Err(Error::value(
                "arguments",
                arguments.len(),
                format!("{} arguments for kernel `{}`", parameters.len(), self.name()),
                "give one for each parameter, in their order",
            ));
        }
        let mut bound = SmallVec::<[Bound<'_>; 8]>::new();
        let mut queues = SmallVec::<[(&str, &Queue); 9]>::new();
        queues.push(("queue", queue));
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let argument = self.bind(parameter, argument)?;
            if let Bound::Array(object, array) = argument {
                queues.push((self.form().object(object).name.as_str(), array.queue()));
            }
            bound.push(argument);
        }
        common_queue(&queues)?;
        self.check_local_memory(&bound, info.limits.local_memory_bytes)?;
        launch_kernel(queue, self, space, &bound, options, depends)
    }

    /// The device computes in all dtypes of the kernel.
    fn check_dtypes(&self, queue: &Queue) -> Result<()> {
        let support = queue.device().dtype_support();
        match self.dtypes().iter().copied().find(|&dtype| !support.supports(dtype)) {
            None => Ok(()),
            Some(dtype) => Err(Error::dtype(
                "kernel",
                format!("`{}`, which computes in {dtype}", self.name()),
                format!("dtypes that {} computes in", queue.device()),
                format!("use {}, or another device", support.downgrade(dtype)),
            )),
        }
    }

    fn bind<'a>(&self, parameter: &Parameter, argument: &Argument<'a>) -> Result<Bound<'a>> {
        let form = self.form();
        let (name, expected) = match parameter {
            Parameter::Scalar { name, value } => {
                let dtype = form.dtype(*value);
                match argument {
                    Argument::Scalar(scalar) if scalar.dtype() == dtype => return Ok(Bound::Scalar(*scalar)),
                    Argument::Weak(weak) => return weak.to_scalar(dtype).map(Bound::Scalar),
                    _ => (name, format!("a scalar of {dtype}")),
                }
            }
            Parameter::Object(object) => {
                let info = form.object(*object);
                let ndim = info.memory.ndim();
                match (&info.memory, argument) {
                    (Memory::Global { .. }, Argument::Array(array)) => {
                        self.check_array(*object, array)?;
                        return Ok(Bound::Array(*object, array));
                    }
                    (Memory::LocalArgument { .. }, Argument::Local(shape)) if shape.len() == ndim => {
                        return Ok(Bound::Local(info.dtype, shape.as_slice().into()));
                    }
                    (Memory::LocalArgument { .. }, _) => {
                        (&info.name, format!("{ndim} extents of local memory"))
                    }
                    _ => {
                        (&info.name, format!("an array of {} of {}", counted(ndim, "dimension"), info.dtype))
                    }
                }
            }
        };
        Err(Error::value(
            name.clone(),
            format!("{argument:?}"),
            expected,
            "give the arguments in the order of the parameters",
        ))
    }

    fn check_array(&self, object: Object, array: &UsmArray) -> Result<()> {
        let info = self.form().object(object);
        if array.dtype() != info.dtype {
            return Err(Error::dtype(
                info.name.clone(),
                array.dtype(),
                format!("an array of {}", info.dtype),
                "convert it first, with `astype`, or build the kernel for its dtype",
            ));
        }
        if array.ndim() != info.memory.ndim() {
            return Err(Error::axis(
                info.name.clone(),
                format!("an array of {}", counted(array.ndim(), "dimension")),
                counted(info.memory.ndim(), "dimension"),
                "reshape it first, or build the kernel for as many indices",
            ));
        }
        if self.writes(object) { array.check_writable(info.name.clone()) } else { Ok(()) }
    }

    fn check_local_memory(&self, bound: &[Bound<'_>], most: u64) -> Result<()> {
        let of_form = self.form().objects.iter().filter_map(|object| match &object.memory {
            Memory::Local { shape } => Some((object.dtype, shape.as_slice())),
            _ => None,
        });
        let of_launch = bound.iter().filter_map(|argument| match argument {
            Bound::Local(dtype, shape) => Some((*dtype, shape.as_slice())),
            _ => None,
        });
        let mut bytes = 0_u64;
        for (dtype, shape) in of_form.chain(of_launch) {
            let len = shape.iter().try_fold(dtype.size() as u64, |len, &e| len.checked_mul(e as u64));
            bytes = bytes.saturating_add(len.unwrap_or(u64::MAX));
        }
        let limit = most.min(16 * MAX_OBJECT_LEN as u64);
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::value(
            "local memory",
            format!("{bytes} bytes for each group of `{}`", self.name()),
            format!("{limit} bytes at most"),
            "use smaller groups, or less local memory",
        ))
    }
}
