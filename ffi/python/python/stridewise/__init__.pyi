"""Types of the module `stridewise`; what its names do is said where they are."""

# The module has names of its own for `bool`, `abs`, `max`, `sum` and others, so Python's stand here under a name with `_`.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final, Literal, NamedTuple, Protocol, TypeAlias, final, overload

from typing_extensions import disjoint_base

from . import (
    dppy as dppy,
    emath as emath,
    fft as fft,
    kernel_api as kernel_api,
    lib as lib,
    linalg as linalg,
    program as program,
    random as random,
    special as special,
    utils as utils,
)
from ._arrangements import (
    False_ as False_,
    True_ as True_,
    array_equiv as array_equiv,
    bartlett as bartlett,
    blackman as blackman,
    compress as compress,
    delete as delete,
    diag_indices as diag_indices,
    diag_indices_from as diag_indices_from,
    diagflat as diagflat,
    dsplit as dsplit,
    ediff1d as ediff1d,
    euler_gamma as euler_gamma,
    fill_diagonal as fill_diagonal,
    hamming as hamming,
    hanning as hanning,
    hsplit as hsplit,
    i0 as i0,
    index_exp as index_exp,
    indices as indices,
    iscomplex as iscomplex,
    isreal as isreal,
    isscalar as isscalar,
    ix_ as ix_,
    kaiser as kaiser,
    ndarray as ndarray,
    modf as modf,
    row_stack as row_stack,
    promote_types as promote_types,
    s_ as s_,
    setxor1d as setxor1d,
    tri as tri,
    tril_indices_from as tril_indices_from,
    trim_zeros as trim_zeros,
    triu_indices_from as triu_indices_from,
    vander as vander,
    vsplit as vsplit,
)
from ._fusing import fuse as fuse
from ._histograms import (
    histogram2d as histogram2d,
    histogram_bin_edges as histogram_bin_edges,
    histogramdd as histogramdd,
)
from ._names import (
    absolute as absolute,
    amax as amax,
    amin as amin,
    angle as angle,
    append as append,
    arccos as arccos,
    arccosh as arccosh,
    arcsin as arcsin,
    arcsinh as arcsinh,
    arctan as arctan,
    arctan2 as arctan2,
    arctanh as arctanh,
    around as around,
    array as array,
    array_equal as array_equal,
    array_split as array_split,
    asanyarray as asanyarray,
    ascontiguousarray as ascontiguousarray,
    asfortranarray as asfortranarray,
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    bitwise_not as bitwise_not,
    bool_ as bool_,
    column_stack as column_stack,
    concatenate as concatenate,
    conjugate as conjugate,
    cross as cross,
    cumprod as cumprod,
    cumsum as cumsum,
    degrees as degrees,
    diag as diag,
    diagonal as diagonal,
    dot as dot,
    dstack as dstack,
    fabs as fabs,
    fix as fix,
    fliplr as fliplr,
    flipud as flipud,
    fmax as fmax,
    fmin as fmin,
    geomspace as geomspace,
    heaviside as heaviside,
    hstack as hstack,
    identity as identity,
    inner as inner,
    invert as invert,
    iscomplexobj as iscomplexobj,
    isrealobj as isrealobj,
    kron as kron,
    left_shift as left_shift,
    logspace as logspace,
    mod as mod,
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
    ndim as ndim,
    outer as outer,
    piecewise as piecewise,
    polyfit as polyfit,
    power as power,
    ptp as ptp,
    radians as radians,
    ravel as ravel,
    right_shift as right_shift,
    rint as rint,
    rollaxis as rollaxis,
    rot90 as rot90,
    round as round,
    select as select,
    shape as shape,
    size as size,
    split as split,
    stack as stack,
    trace as trace,
    transpose as transpose,
    trapezoid as trapezoid,
    true_divide as true_divide,
    vdot as vdot,
    vstack as vstack,
)
from ._parts import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
    block as block,
    c_ as c_,
    choose as choose,
    copyto as copyto,
    fromfunction as fromfunction,
    fromiter as fromiter,
    insert as insert,
    isfortran as isfortran,
    iterable as iterable,
    mask_indices as mask_indices,
    may_share_memory as may_share_memory,
    mgrid as mgrid,
    ndenumerate as ndenumerate,
    ndindex as ndindex,
    ogrid as ogrid,
    packbits as packbits,
    partition as partition,
    putmask as putmask,
    r_ as r_,
    real_if_close as real_if_close,
    require as require,
    resize as resize,
    shares_memory as shares_memory,
    sort_complex as sort_complex,
    unpackbits as unpackbits,
    unwrap as unwrap,
)
from ._platforms import (
    Platform as Platform,
    SyclContext as SyclContext,
    SyclContextCreationError as SyclContextCreationError,
    SyclDevice as SyclDevice,
    SyclDeviceCreationError as SyclDeviceCreationError,
    SyclEvent as SyclEvent,
    SyclKernelInvalidRangeError as SyclKernelInvalidRangeError,
    SyclKernelSubmitError as SyclKernelSubmitError,
    SyclPlatform as SyclPlatform,
    SyclQueue as SyclQueue,
    SyclQueueCreationError as SyclQueueCreationError,
    SyclSubDeviceCreationError as SyclSubDeviceCreationError,
    SyclTimer as SyclTimer,
    backend_type as backend_type,
    device_type as device_type,
    event_status_type as event_status_type,
    get_composite_devices as get_composite_devices,
    get_device_cached_queue as get_device_cached_queue,
    get_platforms as get_platforms,
    global_mem_cache_type as global_mem_cache_type,
    kernel_arg_type as kernel_arg_type,
    lsplatform as lsplatform,
    global_mem_cache_type as _cache_type,
)
from ._polynomials import (
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    roots as roots,
)
from ._seeing import analyze as analyze, explain as explain, profile as profile
from ._usage import LiveArray as _LiveArray, MemoryUsage as _MemoryUsage, memory_scope as memory_scope
from ._sets import (
    argwhere as argwhere,
    flatnonzero as flatnonzero,
    intersect1d as intersect1d,
    ravel_multi_index as ravel_multi_index,
    setdiff1d as setdiff1d,
    tril_indices as tril_indices,
    triu_indices as triu_indices,
    union1d as union1d,
    unique as unique,
    unravel_index as unravel_index,
)
from ._vectorizing import vectorize as vectorize
from ._wider import (
    average as average,
    bincount as bincount,
    corrcoef as corrcoef,
    cov as cov,
    einsum as einsum,
    eye as eye,
    histogram as histogram,
    interp as interp,
    isin as isin,
    linspace as linspace,
    load as load,
    median as median,
    meshgrid as meshgrid,
    nan_to_num as nan_to_num,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    pad as pad,
    percentile as percentile,
    put_along_axis as put_along_axis,
    quantile as quantile,
    save as save,
    take_along_axis as take_along_axis,
)
from ._arithmetic import (
    bitwise_count as bitwise_count,
    divmod as divmod,
    float_power as float_power,
    fmod as fmod,
    frexp as frexp,
    gcd as gcd,
    lcm as lcm,
    ldexp as ldexp,
    logaddexp2 as logaddexp2,
    matvec as matvec,
    spacing as spacing,
    vecmat as vecmat,
)
from ._files import (
    asarray_chkfinite as asarray_chkfinite,
    frombuffer as frombuffer,
    fromfile as fromfile,
    fromstring as fromstring,
    genfromtxt as genfromtxt,
    loadtxt as loadtxt,
    savetxt as savetxt,
    savez as savez,
    savez_compressed as savez_compressed,
)
from ._kinds import (
    ScalarType as ScalarType,
    base_repr as base_repr,
    binary_repr as binary_repr,
    byte as byte,
    cdouble as cdouble,
    common_type as common_type,
    complexfloating as complexfloating,
    csingle as csingle,
    double as double,
    errstate as errstate,
    floating as floating,
    generic as generic,
    get_printoptions as get_printoptions,
    geterr as geterr,
    half as half,
    inexact as inexact,
    int_ as int_,
    intc as intc,
    integer as integer,
    intp as intp,
    issubdtype as issubdtype,
    little_endian as little_endian,
    long as long,
    longlong as longlong,
    min_scalar_type as min_scalar_type,
    mintypecode as mintypecode,
    number as number,
    printoptions as printoptions,
    sctypeDict as sctypeDict,
    set_printoptions as set_printoptions,
    seterr as seterr,
    short as short,
    show_config as show_config,
    show_runtime as show_runtime,
    signedinteger as signedinteger,
    single as single,
    typecodes as typecodes,
    typename as typename,
    ubyte as ubyte,
    uint as uint,
    uintc as uintc,
    uintp as uintp,
    ulong as ulong,
    ulonglong as ulonglong,
    unsignedinteger as unsignedinteger,
    ushort as ushort,
)
from .kernel_api import kernel as kernel

__version__: Final[_str]
_fft: Any
_linalg: Any
_random: Any
__array_api_version__: Final[_str]

@final
class dtype:
    def __new__(cls, name: _DTypeLike) -> dtype: ...
    def __eq__(self, value: object, /) -> _bool: ...
    def __hash__(self, /) -> _int: ...
    def __ne__(self, value: object, /) -> _bool: ...
    @property
    def __numpy_dtype__(self) -> Any: ...
    @property
    def alignment(self) -> _int: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def kind(self) -> _str: ...
    @property
    def name(self) -> _str: ...
    @property
    def str(self) -> _str: ...
    @property
    def base(self) -> dtype: ...
    @property
    def byteorder(self) -> _str: ...
    @property
    def char(self) -> _str: ...
    @property
    def fields(self) -> None: ...
    @property
    def hasobject(self) -> _bool: ...
    @property
    def isnative(self) -> _bool: ...
    @property
    def names(self) -> None: ...
    @property
    def num(self) -> _int: ...
    @property
    def shape(self) -> tuple[()]: ...
    @property
    def subdtype(self) -> None: ...
    @property
    def type(self) -> Any: ...
    def newbyteorder(self, new_order: _str = "S", /) -> dtype: ...

_dtype: TypeAlias = dtype

# A dtype of another library, as far as types tell it: NumPy's have these, texts have not.
class _OtherDtype(Protocol):
    @property
    def itemsize(self) -> _int: ...
    @property
    def str(self) -> _str: ...

# The names that a dtype has, and its type strings.
_DTypeName: TypeAlias = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128", "int", "uint", "float", "complex",
    "byte", "ubyte", "short", "ushort", "intc", "uintc", "long", "ulong", "longlong", "ulonglong", "intp", "uintp", "half", "single",
    "double", "csingle", "cdouble",
    "?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "E", "f", "d", "F", "D",
    "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
    "<b1", "<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16",
    "|b1", "|i1", "|u1",
]
_DTypeLike: TypeAlias = dtype | _DTypeName | type[Any] | _OtherDtype
_Order: TypeAlias = Literal["C", "F", "A", "K", "c", "f", "a", "k"]
_DeviceLike: TypeAlias = Any

# An array of NumPy's, as far as types tell it.
class _NumPyArray(Protocol):
    @property
    def __array_interface__(self) -> dict[_str, Any]: ...

# What functions write to.
_Target: TypeAlias = usm_ndarray | _NumPyArray
# What functions take as an array.
_Array: TypeAlias = _Target | list[Any] | tuple[Any, ...] | range | _complex

@disjoint_base
class _Memory:
    def __bytes__(self, /) -> bytes: ...
    def __len__(self, /) -> _int: ...
    @property
    def __sycl_usm_array_interface__(self) -> dict[_str, Any]: ...
    @property
    def _pointer(self) -> _int: ...
    def copy_from_device(self, /, sycl_usm_ary: Any) -> None: ...
    def copy_from_host(self, /, obj: Any) -> None: ...
    def copy_to_host(self, /, obj: Any = None) -> Any: ...
    def get_usm_type(self, syclobj: Queue | Context | None = None) -> _str: ...
    def get_usm_type_enum(self, syclobj: Queue | Context | None = None) -> _int: ...
    def __sizeof__(self) -> _int: ...
    @property
    def _context(self) -> Context: ...
    @property
    def _queue(self) -> Queue: ...
    @property
    def reference_obj(self) -> None: ...
    @property
    def is_foreign(self) -> _bool: ...
    def memset(self, /, val: _int = 0) -> None: ...
    @property
    def nbytes(self) -> _int: ...
    @property
    def queue(self) -> Queue: ...
    @property
    def size(self) -> _int: ...
    @property
    def sycl_context(self) -> Context: ...
    @property
    def sycl_device(self) -> Device: ...
    @property
    def sycl_queue(self) -> Queue: ...
    def tobytes(self, /) -> bytes: ...
    @property
    def usm_type(self) -> _str: ...
    def with_queue(self, /, queue: Queue | None) -> _Memory: ...

class CompilationError(ValueError): ...

@final
class Context:
    def __new__(cls, devices: Any = None) -> Context: ...
    def __eq__(self, value: object, /) -> _bool: ...
    def __hash__(self, /) -> _int: ...
    def __ne__(self, value: object, /) -> _bool: ...
    @property
    def backend(self) -> _str: ...
    @property
    def device_count(self) -> _int: ...
    @property
    def devices(self) -> list[Device]: ...
    def get_devices(self, /) -> list[Device]: ...
    def queue(self, /, device: _DeviceLike | None = None) -> Queue: ...

@final
class Device:
    def __new__(cls, filter: Any = None) -> Device: ...
    @property
    def component_devices(self) -> list[Device]: ...
    @property
    def composite_device(self) -> Device | None: ...
    @property
    def default_selector_score(self) -> _int: ...
    @property
    def global_mem_cache_line_size(self) -> _int: ...
    @property
    def global_mem_cache_type(self) -> _cache_type: ...
    @property
    def has_aspect_custom(self) -> _bool: ...
    @property
    def has_aspect_emulated(self) -> _bool: ...
    @property
    def has_aspect_image(self) -> _bool: ...
    @property
    def has_aspect_is_component(self) -> _bool: ...
    @property
    def has_aspect_is_composite(self) -> _bool: ...
    @property
    def has_aspect_online_compiler(self) -> _bool: ...
    @property
    def has_aspect_online_linker(self) -> _bool: ...
    @property
    def has_aspect_usm_atomic_host_allocations(self) -> _bool: ...
    @property
    def has_aspect_usm_atomic_shared_allocations(self) -> _bool: ...
    @property
    def image_2d_max_height(self) -> _int: ...
    @property
    def image_2d_max_width(self) -> _int: ...
    @property
    def image_3d_max_depth(self) -> _int: ...
    @property
    def image_3d_max_height(self) -> _int: ...
    @property
    def image_3d_max_width(self) -> _int: ...
    @property
    def max_clock_frequency(self) -> _int: ...
    @property
    def max_num_sub_groups(self) -> _int: ...
    @property
    def max_read_image_args(self) -> _int: ...
    @property
    def max_work_item_dims(self) -> _int: ...
    @property
    def max_work_item_sizes(self) -> tuple[_int, ...]: ...
    @property
    def max_work_item_sizes1d(self) -> tuple[_int, ...]: ...
    @property
    def max_work_item_sizes2d(self) -> tuple[_int, ...]: ...
    @property
    def max_work_item_sizes3d(self) -> tuple[_int, ...]: ...
    @property
    def max_write_image_args(self) -> _int: ...
    @property
    def native_vector_width_char(self) -> _int: ...
    @property
    def native_vector_width_double(self) -> _int: ...
    @property
    def native_vector_width_float(self) -> _int: ...
    @property
    def native_vector_width_half(self) -> _int: ...
    @property
    def native_vector_width_int(self) -> _int: ...
    @property
    def native_vector_width_long(self) -> _int: ...
    @property
    def native_vector_width_short(self) -> _int: ...
    @property
    def partition_max_sub_devices(self) -> _int: ...
    @property
    def preferred_vector_width_char(self) -> _int: ...
    @property
    def preferred_vector_width_double(self) -> _int: ...
    @property
    def preferred_vector_width_float(self) -> _int: ...
    @property
    def preferred_vector_width_half(self) -> _int: ...
    @property
    def preferred_vector_width_int(self) -> _int: ...
    @property
    def preferred_vector_width_long(self) -> _int: ...
    @property
    def preferred_vector_width_short(self) -> _int: ...
    @property
    def profiling_timer_resolution(self) -> _int: ...
    @property
    def sub_group_independent_forward_progress(self) -> _bool: ...
    @property
    def sub_group_sizes(self) -> list[_int]: ...
    @property
    def sycl_platform(self) -> Platform: ...
    def can_access_peer(self, peer: Device, value: _str = "access_supported") -> _bool: ...
    def disable_peer_access(self, peer: Device) -> None: ...
    def enable_peer_access(self, peer: Device) -> None: ...
    def __eq__(self, value: object, /) -> _bool: ...
    def __hash__(self, /) -> _int: ...
    def __ne__(self, value: object, /) -> _bool: ...
    @property
    def _works_in_process_memory(self) -> _bool: ...
    @property
    def aspects(self) -> list[_str]: ...
    @property
    def backend(self) -> _str: ...
    @staticmethod
    def create_device(device: _DeviceLike | None = None) -> Device: ...
    def create_sub_devices(self, partition: _int | Sequence[_int] | _str) -> list[Device]: ...
    @property
    def default_context(self) -> Context: ...
    def describe(self, /) -> _str: ...
    @property
    def device_type(self) -> _str: ...
    @property
    def driver_version(self) -> _str: ...
    @property
    def filter_string(self) -> _str: ...
    @property
    def global_mem_cache_size(self) -> _int: ...
    @property
    def global_mem_size(self) -> _int: ...
    def get_device_id(self) -> _int: ...
    def get_filter_string(self, include_backend: _bool = True, include_device_type: _bool = True) -> _str: ...
    def get_unpartitioned_parent_device(self) -> Device: ...
    def has_aspect(self, /, name: _str) -> _bool: ...
    @property
    def has_aspect_accelerator(self) -> _bool: ...
    @property
    def has_aspect_atomic64(self) -> _bool: ...
    @property
    def has_aspect_cpu(self) -> _bool: ...
    @property
    def has_aspect_fp16(self) -> _bool: ...
    @property
    def has_aspect_fp64(self) -> _bool: ...
    @property
    def has_aspect_gpu(self) -> _bool: ...
    @property
    def has_aspect_host_debuggable(self) -> _bool: ...
    @property
    def has_aspect_queue_profiling(self) -> _bool: ...
    @property
    def has_aspect_usm_device_allocations(self) -> _bool: ...
    @property
    def has_aspect_usm_host_allocations(self) -> _bool: ...
    @property
    def has_aspect_usm_shared_allocations(self) -> _bool: ...
    @property
    def has_aspect_usm_system_allocations(self) -> _bool: ...
    @property
    def is_accelerator(self) -> _bool: ...
    @property
    def is_cpu(self) -> _bool: ...
    @property
    def is_gpu(self) -> _bool: ...
    @property
    def isa(self) -> _str: ...
    @property
    def local_mem_size(self) -> _int: ...
    def memory(self, /) -> _MemoryUsage: ...
    @property
    def max_compute_units(self) -> _int: ...
    @property
    def max_mem_alloc_size(self) -> _int: ...
    @property
    def max_work_group_size(self) -> _int: ...
    @property
    def name(self) -> _str: ...
    @property
    def parent_device(self) -> Device | None: ...
    @property
    def pool_statistics(self) -> dict[_str, Any]: ...
    def print_device_info(self, /) -> None: ...
    @property
    def queue(self) -> Queue: ...
    @property
    def sycl_context(self) -> Context: ...
    @property
    def sycl_device(self) -> Device: ...
    @property
    def sycl_queue(self) -> Queue: ...
    @property
    def topology(self) -> dict[_str, Any]: ...
    def set_memory_limit(self, limit: _int | _str | None, /) -> None: ...
    def trim(self, /) -> _int: ...
    def trim_pool(self, /, keep_bytes: _int = 0) -> None: ...
    def usm_support(self, /, usm_type: _str | None) -> _str: ...
    @property
    def vector_bytes(self) -> _int: ...
    @property
    def vendor(self) -> _str: ...
    def wait(self, /) -> None: ...

class DeviceRuntimeError(RuntimeError): ...

class DeviceSelectionError(ValueError): ...

@final
class Event:
    def __await__(self, /) -> Generator[Any, None, None]: ...
    def __new__(cls) -> Event: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def execution_status(self) -> _str: ...
    def get_wait_list(self, /) -> list[Event]: ...
    @property
    def is_done(self) -> _bool: ...
    @property
    def profiling_info_end(self) -> _int: ...
    @property
    def profiling_info_start(self) -> _int: ...
    @property
    def profiling_info_submit(self) -> _int: ...
    @property
    def status(self) -> _str: ...
    def wait(self, /) -> None: ...
    @staticmethod
    def wait_for(events: Event | Sequence[Event]) -> None: ...

class ExecutionPlacementError(Exception): ...

class device_context:
    def __init__(self, device: _DeviceLike) -> None: ...
    def __enter__(self) -> Queue: ...
    def __exit__(self, *_: Any) -> None: ...

@final
class Flags:
    def __eq__(self, value: object, /) -> _bool: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __ne__(self, value: object, /) -> _bool: ...
    def __setitem__(self, key: _str, value: _bool, /) -> None: ...
    @property
    def c_contiguous(self) -> _bool: ...
    @property
    def contiguous(self) -> _bool: ...
    @property
    def f_contiguous(self) -> _bool: ...
    @property
    def fnc(self) -> _bool: ...
    @property
    def forc(self) -> _bool: ...
    @property
    def writable(self) -> _bool: ...
    @writable.setter
    def writable(self, value: _bool) -> None: ...
    @property
    def writeable(self) -> _bool: ...
    @writeable.setter
    def writeable(self, value: _bool) -> None: ...

class HostAccessError(BufferError): ...

@final
class IPCMemoryHandle:
    def __new__(cls, usm_memory: Any) -> IPCMemoryHandle: ...
    def __enter__(self, /) -> IPCMemoryHandle: ...
    def __exit__(self, /, *_exception: Any) -> None: ...
    @staticmethod
    def allocate(nbytes: _int, *, device: _DeviceLike | None = None, queue: Queue | None = None) -> _Memory: ...
    def close(self, /) -> None: ...
    @staticmethod
    def is_available() -> _bool: ...
    @property
    def is_closed(self) -> _bool: ...
    @property
    def nbytes(self) -> _int: ...
    @staticmethod
    def open(handle_bytes: bytes, device: _DeviceLike | None = None, nbytes: _int | None = None) -> _Memory: ...
    def to_bytes(self, /) -> bytes: ...

@final
class LocalAccessor:
    def __new__(cls, dtype: Any, shape: Any) -> LocalAccessor: ...

class MemoryUSMDevice(_Memory):
    def __new__(
        cls,
        nbytes: Any,
        alignment: _int | None = 0,
        queue: Queue | None = None,
        copy: _bool | None = False,
    ) -> MemoryUSMDevice: ...

class MemoryUSMHost(_Memory):
    def __new__(
        cls,
        nbytes: Any,
        alignment: _int | None = 0,
        queue: Queue | None = None,
        copy: _bool | None = False,
    ) -> MemoryUSMHost: ...

class MemoryUSMShared(_Memory):
    def __new__(
        cls,
        nbytes: Any,
        alignment: _int | None = 0,
        queue: Queue | None = None,
        copy: _bool | None = False,
    ) -> MemoryUSMShared: ...

class KernelError(ValueError):
    rule: _str
    message: _str
    help: _str
    filename: _str
    lineno: _int
    column: _int
    length: _int

class OutOfBoundsError(ValueError, IndexError): ...

@final
class Graph:
    def __bool__(self, /) -> _bool: ...
    def __call__(self, /, *inputs: usm_ndarray, **named: usm_ndarray) -> Any: ...
    def __enter__(self, /) -> Graph: ...
    def __exit__(self, /, kind: Any, _error: Any, _trace: Any) -> _bool: ...
    def __len__(self, /) -> _int: ...
    def input(self, /, name: _str, array: usm_ndarray) -> None: ...
    @property
    def inputs(self) -> tuple[_str, ...]: ...
    def output(self, /, name: _str, array: usm_ndarray) -> None: ...
    @property
    def outputs(self) -> tuple[_str, ...]: ...
    @property
    def queue(self) -> Queue: ...
    @staticmethod
    def load(
        file: Any,
        *,
        device: _DeviceLike | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> Graph: ...
    def repeat(self, /, times: _int, *, progress: Callable[[_int, _int], Any] | None = None) -> Event: ...
    def replay(self, /) -> Event: ...
    def save(self, /, file: Any) -> None: ...

@final
class Queue:
    def __new__(
        cls,
        *args: Any,
        property: Any = None,
        in_order: Any = False,
        profiling: Any = False,
        device: _DeviceLike | None = None,
    ) -> Queue: ...
    def __eq__(self, value: object, /) -> _bool: ...
    def __hash__(self, /) -> _int: ...
    def __ne__(self, value: object, /) -> _bool: ...
    @property
    def backend(self) -> _str: ...
    def capture(self, /) -> Graph: ...
    @property
    def context(self) -> Context: ...
    @property
    def device(self) -> Device: ...
    def fill(
        self,
        /,
        mem: Any,
        value: Any,
        count: _int | None = None,
        dtype: _DTypeLike | None = None,
        depends: Sequence[Event] | None = None,
    ) -> Event: ...
    def flush(self, /) -> None: ...
    @property
    def driver_version(self) -> _str: ...
    def get_sycl_context(self) -> Context: ...
    def get_sycl_device(self) -> Device: ...
    @property
    def has_enable_profiling(self) -> _bool: ...
    @property
    def is_in_order(self) -> _bool: ...
    @property
    def name(self) -> _str: ...
    def mem_advise(self, /, mem: Any, count: _int, advice: Any, depends: Sequence[Event] | None = None) -> Event: ...
    def memcpy(
        self,
        /,
        dest: Any,
        src: Any,
        count: _int | None = None,
        depends: Sequence[Event] | None = None,
    ) -> Event: ...
    def memcpy_async(
        self,
        dest: Any,
        src: Any,
        count: _int | None = None,
        depends: Sequence[Event] | None = None,
        *,
        dEvents: Sequence[Event] | None = None,
    ) -> Event: ...
    def _submit_keep_args_alive(self, args: Any, dEvents: Sequence[Event]) -> Event: ...
    def memset(
        self,
        /,
        mem: Any,
        value: Any,
        count: _int | None = None,
        depends: Sequence[Event] | None = None,
    ) -> Event: ...
    def prefetch(self, /, mem: Any, count: _int = 0, depends: Sequence[Event] | None = None) -> Event: ...
    def print_device_info(self, /) -> None: ...
    def submit(
        self, /, kernel: Any, args: Sequence[Any], gS: Any, lS: Any = None, dEvents: Any = None
    ) -> Event: ...
    def submit_async(
        self, /, kernel: Any, args: Sequence[Any], gS: Any, lS: Any = None, dEvents: Any = None
    ) -> Event: ...
    def submit_barrier(self, /, depends: Sequence[Event] | None = None) -> Event: ...
    @property
    def sycl_context(self) -> Context: ...
    @property
    def sycl_device(self) -> Device: ...
    def wait(self, /) -> None: ...

@final
class RawKernelArg:
    def __new__(cls, buffer: Any) -> RawKernelArg: ...
    @staticmethod
    def is_available() -> _bool: ...

class TaskError(RuntimeError): ...

@final
class WorkGroupMemory:
    def __new__(cls, *args: Any) -> WorkGroupMemory: ...
    @staticmethod
    def is_available() -> _bool: ...
    @property
    def nbytes(self) -> _int: ...

@final
class GroupBy:
    def __len__(self, /) -> _int: ...
    @property
    def keys(self) -> usm_ndarray: ...
    @property
    def places(self) -> usm_ndarray: ...
    def count(self, /) -> usm_ndarray: ...
    def first(self, /, values: _Array) -> usm_ndarray: ...
    def max(self, /, values: _Array) -> usm_ndarray: ...
    def mean(self, /, values: _Array) -> usm_ndarray: ...
    def min(self, /, values: _Array) -> usm_ndarray: ...
    def sum(self, /, values: _Array) -> usm_ndarray: ...

@final
class Timer:
    def __new__(cls, time_scale: Any = 1.0) -> Timer: ...
    def __call__(self, /, queue: Queue) -> Timer: ...
    def __enter__(self, /) -> Timer: ...
    def __exit__(self, /, _class: Any, _exception: Any, _traceback: Any) -> None: ...
    @property
    def dt(self) -> TimerResult: ...

@final
class TimerResult:
    def __getitem__(self, key: Any, /) -> Any: ...
    def __len__(self, /) -> _int: ...
    @property
    def device_dt(self) -> _float: ...
    @property
    def host_dt(self) -> _float: ...

@final
class usm_ndarray:
    def __new__(
        cls,
        shape: _int | Sequence[_int],
        dtype: _DTypeLike | None = None,
        strides: Sequence[_int] | None = None,
        buffer: Any = None,
        offset: _int | None = None,
        order: _Order = "C",
        buffer_ctor_kwargs: dict[_str, Any] | None = None,
        *,
        array_namespace: Any = None,
    ) -> usm_ndarray: ...
    @property
    def T(self) -> usm_ndarray: ...
    def __abs__(self, /) -> usm_ndarray: ...
    def __add__(self, value: _Array, /) -> usm_ndarray: ...
    def __and__(self, value: _Array, /) -> usm_ndarray: ...
    def __array__(self, /, dtype: _DTypeLike | None = None, copy: _bool | None = None) -> Any: ...
    @property
    def __array_interface__(self) -> dict[_str, Any]: ...
    def __array_namespace__(self, /, *, api_version: _str | None = None) -> Any: ...
    __array_priority__: ClassVar[_float]
    def __bool__(self, /) -> _bool: ...
    def __complex__(self, /) -> _complex: ...
    def __contains__(self, key: _Array, /) -> _bool: ...
    def __divmod__(self, value: _Array, /) -> tuple[usm_ndarray, usm_ndarray]: ...
    def __arrow_c_array__(self, /, requested_schema: Any = None) -> tuple[Any, Any]: ...
    def __arrow_c_device_array__(self, /, requested_schema: Any = None, **_options: Any) -> tuple[Any, Any]: ...
    def __arrow_c_schema__(self, /) -> Any: ...
    def __dlpack__(
        self,
        /,
        *,
        stream: None = None,
        max_version: tuple[_int, _int] | None = None,
        dl_device: tuple[_int, _int] | None = None,
        copy: _bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self, /) -> tuple[_int, _int]: ...
    def __eq__(self, value: _Array, /) -> usm_ndarray: ...  # type: ignore[override]
    def __float__(self, /) -> _float: ...
    def __floordiv__(self, value: _Array, /) -> usm_ndarray: ...
    def __ge__(self, value: _Array, /) -> usm_ndarray: ...
    def __getitem__(self, key: Any, /) -> usm_ndarray: ...
    def __gt__(self, value: _Array, /) -> usm_ndarray: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __iadd__(self, value: _Array, /) -> usm_ndarray: ...
    def __iand__(self, value: _Array, /) -> usm_ndarray: ...
    def __ifloordiv__(self, value: _Array, /) -> usm_ndarray: ...
    def __ilshift__(self, value: _Array, /) -> usm_ndarray: ...
    def __imatmul__(self, value: _Array, /) -> usm_ndarray: ...
    def __imod__(self, value: _Array, /) -> usm_ndarray: ...
    def __imul__(self, value: _Array, /) -> usm_ndarray: ...
    def __index__(self, /) -> _int: ...
    def __int__(self, /) -> _int: ...
    def __invert__(self, /) -> usm_ndarray: ...
    def __ior__(self, value: _Array, /) -> usm_ndarray: ...
    def __ipow__(self, value: _Array, /) -> usm_ndarray: ...  # type: ignore[misc]
    def __irshift__(self, value: _Array, /) -> usm_ndarray: ...
    def __isub__(self, value: _Array, /) -> usm_ndarray: ...
    def __iter__(self, /) -> Iterator[usm_ndarray]: ...
    def __itruediv__(self, value: _Array, /) -> usm_ndarray: ...
    def __ixor__(self, value: _Array, /) -> usm_ndarray: ...
    def __le__(self, value: _Array, /) -> usm_ndarray: ...
    def __len__(self, /) -> _int: ...
    def __lshift__(self, value: _Array, /) -> usm_ndarray: ...
    def __lt__(self, value: _Array, /) -> usm_ndarray: ...
    def __matmul__(self, value: _Array, /) -> usm_ndarray: ...
    def __mod__(self, value: _Array, /) -> usm_ndarray: ...
    def __mul__(self, value: _Array, /) -> usm_ndarray: ...
    def __ne__(self, value: _Array, /) -> usm_ndarray: ...  # type: ignore[override]
    def __neg__(self, /) -> usm_ndarray: ...
    def __or__(self, value: _Array, /) -> usm_ndarray: ...
    def __pos__(self, /) -> usm_ndarray: ...
    def __pow__(self, value: _Array, mod: None = None, /) -> usm_ndarray: ...
    def __radd__(self, value: _Array, /) -> usm_ndarray: ...
    def __rand__(self, value: _Array, /) -> usm_ndarray: ...
    def __rdivmod__(self, value: _Array, /) -> tuple[usm_ndarray, usm_ndarray]: ...
    def __rfloordiv__(self, value: _Array, /) -> usm_ndarray: ...
    def __rlshift__(self, value: _Array, /) -> usm_ndarray: ...
    def __rmatmul__(self, value: _Array, /) -> usm_ndarray: ...
    def __rmod__(self, value: _Array, /) -> usm_ndarray: ...
    def __rmul__(self, value: _Array, /) -> usm_ndarray: ...
    def __ror__(self, value: _Array, /) -> usm_ndarray: ...
    def __rpow__(self, value: _Array, mod: None = None, /) -> usm_ndarray: ...
    def __rrshift__(self, value: _Array, /) -> usm_ndarray: ...
    def __rshift__(self, value: _Array, /) -> usm_ndarray: ...
    def __rsub__(self, value: _Array, /) -> usm_ndarray: ...
    def __rtruediv__(self, value: _Array, /) -> usm_ndarray: ...
    def __rxor__(self, value: _Array, /) -> usm_ndarray: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __sub__(self, value: _Array, /) -> usm_ndarray: ...
    @property
    def __sycl_usm_array_interface__(self) -> dict[_str, Any]: ...
    def __truediv__(self, value: _Array, /) -> usm_ndarray: ...
    def __xor__(self, value: _Array, /) -> usm_ndarray: ...
    @property
    def _element_offset(self) -> _int: ...
    @property
    def _is_pending(self) -> _bool: ...
    @property
    def _pointer(self) -> _int: ...
    @property
    def device(self) -> Device: ...
    @property
    def dtype(self) -> _dtype: ...
    @property
    def event(self) -> Event: ...
    @property
    def flags(self) -> Flags: ...
    def flush(self, /) -> None: ...
    @property
    def imag(self) -> usm_ndarray: ...
    @imag.setter
    def imag(self, value: _Array) -> None: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def mT(self) -> usm_ndarray: ...
    @property
    def nbytes(self) -> _int: ...
    @property
    def ndim(self) -> _int: ...
    @property
    def queue(self) -> Queue: ...
    @property
    def real(self) -> usm_ndarray: ...
    @real.setter
    def real(self, value: _Array) -> None: ...
    @property
    def shape(self) -> tuple[_int, ...]: ...
    @shape.setter
    def shape(self, value: _int | Sequence[_int]) -> None: ...
    @property
    def size(self) -> _int: ...
    @property
    def strides(self) -> tuple[_int, ...]: ...
    @property
    def sycl_context(self) -> Context: ...
    @property
    def sycl_device(self) -> Device: ...
    @property
    def sycl_queue(self) -> Queue: ...
    def to_device(self, device: _DeviceLike, /, *, stream: None = None) -> usm_ndarray: ...
    def tobytes(self, /, order: _Order = "C") -> bytes: ...
    def tolist(self, /) -> Any: ...
    @property
    def usm_data(self) -> _Memory: ...
    @property
    def usm_type(self) -> _str: ...
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    def __array_ufunc__(self, ufunc: Any, method: _str, *inputs: Any, **options: Any) -> Any: ...
    def __reversed__(self) -> Iterator[usm_ndarray]: ...
    def __round__(self, ndigits: _int | None = None) -> Any: ...
    def __sizeof__(self) -> _int: ...
    def _repr_html_(self) -> _str: ...
    def all(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        out: usm_ndarray | None = None,
        keepdims: _bool = False,
        *,
        where: _Array | None = None,
    ) -> usm_ndarray: ...
    def any(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        out: usm_ndarray | None = None,
        keepdims: _bool = False,
        *,
        where: _Array | None = None,
    ) -> usm_ndarray: ...
    def asnumpy(self, /) -> Any: ...
    def argmax(
        self,
        /,
        axis: _int | None = None,
        out: usm_ndarray | None = None,
        *,
        keepdims: _bool = False,
    ) -> usm_ndarray: ...
    def argmin(
        self,
        /,
        axis: _int | None = None,
        out: usm_ndarray | None = None,
        *,
        keepdims: _bool = False,
    ) -> usm_ndarray: ...
    def argpartition(self, kth: _int, /, axis: _int | None = -1) -> usm_ndarray: ...
    def argsort(
        self,
        /,
        axis: _int = -1,
        kind: _str | None = None,
        *,
        descending: _bool = False,
        stable: _bool = True,
    ) -> usm_ndarray: ...
    def astype(
        self,
        dtype: _DTypeLike,
        order: _Order = "K",
        casting: _str = "unsafe",
        subok: _bool = True,
        copy: _bool = True,
        device: _DeviceLike | None = None,
    ) -> usm_ndarray: ...
    @property
    def base(self) -> _Memory: ...
    def clip(
        self,
        /,
        min: _Array | None = None,
        max: _Array | None = None,
        out: usm_ndarray | None = None,
        *,
        order: _Order = "K",
    ) -> usm_ndarray: ...
    def conj(self, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
    def conjugate(self, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
    def copy(self, order: _Order = "C") -> usm_ndarray: ...
    def choose(self, choices: Any, out: usm_ndarray | None = None, mode: _str = "raise") -> usm_ndarray: ...
    def compress(self, condition: _Array, axis: _int | None = None, out: usm_ndarray | None = None) -> usm_ndarray: ...
    @property
    def ctypes(self) -> Any: ...
    @property
    def data(self) -> memoryview: ...
    def dump(self, file: Any) -> None: ...
    def dumps(self) -> bytes: ...
    def partition(self, kth: Any, axis: _int | None = -1) -> None: ...
    def put(self, indices: _Array, values: _Array, mode: _str = "raise") -> None: ...
    def setflags(self, write: _bool | None = None) -> None: ...
    def tofile(self, file: Any, sep: _str = "", format: _str = "%s") -> None: ...
    def cumprod(
        self, /, axis: _int | None = None, dtype: _DTypeLike | None = None, out: usm_ndarray | None = None
    ) -> usm_ndarray: ...
    def cumsum(
        self, /, axis: _int | None = None, dtype: _DTypeLike | None = None, out: usm_ndarray | None = None
    ) -> usm_ndarray: ...
    def diagonal(self, /, offset: _int = 0, axis1: _int = 0, axis2: _int = 1) -> usm_ndarray: ...
    def dot(x1, x2: _Array, /, out: usm_ndarray | None = None) -> usm_ndarray: ...
    def fill(self, value: Any) -> None: ...
    @property
    def flat(self) -> Any: ...
    @flat.setter
    def flat(self, value: Any) -> None: ...
    def flatten(self, order: _Order = "C") -> usm_ndarray: ...
    def item(self, *place: Any) -> Any: ...
    def max(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        out: usm_ndarray | None = None,
        keepdims: _bool = False,
        initial: _Array | None = None,
        where: _Array | None = None,
    ) -> usm_ndarray: ...
    def mean(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        dtype: _DTypeLike | None = None,
        out: usm_ndarray | None = None,
        keepdims: _bool = False,
        *,
        where: _Array | None = None,
    ) -> usm_ndarray: ...
    def min(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        out: usm_ndarray | None = None,
        keepdims: _bool = False,
        initial: _Array | None = None,
        where: _Array | None = None,
    ) -> usm_ndarray: ...
    def nonzero(self, /) -> tuple[usm_ndarray, ...]: ...
    def prod(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        dtype: _DTypeLike | None = None,
        out: usm_ndarray | None = None,
        keepdims: _bool = False,
        initial: _Array | None = None,
        where: _Array | None = None,
    ) -> usm_ndarray: ...
    def ptp(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        out: usm_ndarray | None = None,
        keepdims: _bool = False,
    ) -> usm_ndarray: ...
    def ravel(self, /, order: _Order = "C") -> usm_ndarray: ...
    def repeat(self, repeats: _int | Sequence[_int] | _Array, /, axis: _int | None = None) -> usm_ndarray: ...
    def reshape(self, *shape: Any, order: _Order = "C", copy: _bool | None = None) -> usm_ndarray: ...
    def round(self, decimals: _int = 0, out: usm_ndarray | None = None) -> usm_ndarray: ...
    def searchsorted(
        x1, x2: _Array, /, side: _str = "left", sorter: _Array | None = None
    ) -> usm_ndarray: ...
    def sort(
        self,
        axis: _int | None = -1,
        kind: _str | None = None,
        order: Any = None,
        *,
        stable: _bool = True,
    ) -> None: ...
    def squeeze(self, /, axis: _int | Sequence[_int] | None = None) -> usm_ndarray: ...
    def std(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        dtype: _DTypeLike | None = None,
        out: usm_ndarray | None = None,
        ddof: _float | None = None,
        keepdims: _bool = False,
        *,
        where: _Array | None = None,
        mean: _Array | None = None,
        correction: _float = 0.0,
    ) -> usm_ndarray: ...
    def sum(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        dtype: _DTypeLike | None = None,
        out: usm_ndarray | None = None,
        keepdims: _bool = False,
        initial: _Array | None = None,
        where: _Array | None = None,
    ) -> usm_ndarray: ...
    def swapaxes(self, axis1: _int, axis2: _int, /) -> usm_ndarray: ...
    def take(
        self,
        indices: _Array | Sequence[Any] | _int,
        /,
        axis: _int | None = None,
        out: usm_ndarray | None = None,
        mode: _str = "raise",
    ) -> usm_ndarray: ...
    def trace(
        self,
        /,
        offset: _int = 0,
        axis1: _int = 0,
        axis2: _int = 1,
        dtype: _DTypeLike | None = None,
        out: usm_ndarray | None = None,
    ) -> usm_ndarray: ...
    def transpose(self, *axes: Any) -> usm_ndarray: ...
    def var(
        self,
        /,
        axis: _int | Sequence[_int] | None = None,
        dtype: _DTypeLike | None = None,
        out: usm_ndarray | None = None,
        ddof: _float | None = None,
        keepdims: _bool = False,
        *,
        where: _Array | None = None,
        mean: _Array | None = None,
        correction: _float = 0.0,
    ) -> usm_ndarray: ...
    def explain(self, format: _str = "text") -> _str: ...
    def analyze(self, format: _str = "text") -> _str: ...
    def view(self, dtype: _DTypeLike | None = None) -> usm_ndarray: ...
    def wait(self, /) -> None: ...

class _TopKResult(NamedTuple):
    values: usm_ndarray
    indices: usm_ndarray

class _UniqueAllResult(NamedTuple):
    values: usm_ndarray
    indices: usm_ndarray
    inverse_indices: usm_ndarray
    counts: usm_ndarray

class _UniqueCountsResult(NamedTuple):
    values: usm_ndarray
    counts: usm_ndarray

class _UniqueInverseResult(NamedTuple):
    values: usm_ndarray
    inverse_indices: usm_ndarray

class _FloatInfo:
    @property
    def bits(self) -> _int: ...
    @property
    def eps(self) -> _float: ...
    @property
    def max(self) -> _float: ...
    @property
    def min(self) -> _float: ...
    @property
    def smallest_normal(self) -> _float: ...
    @property
    def dtype(self) -> _dtype: ...

class _IntInfo:
    @property
    def bits(self) -> _int: ...
    @property
    def max(self) -> _int: ...
    @property
    def min(self) -> _int: ...
    @property
    def dtype(self) -> _dtype: ...

class _Info:
    @staticmethod
    def capabilities() -> dict[_str, Any]: ...
    @staticmethod
    def default_device() -> Device: ...
    @staticmethod
    def devices() -> tuple[Device, ...]: ...
    @staticmethod
    def default_dtypes(*, device: _DeviceLike | None = None) -> dict[_str, _dtype]: ...
    @staticmethod
    def dtypes(
        *, device: _DeviceLike | None = None, kind: _str | tuple[_str, ...] | None = None
    ) -> dict[_str, _dtype]: ...

def __array_namespace_info__() -> _Info: ...
def abs(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def acos(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def acosh(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def add(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def add_at(x: _Target, indices: Any, values: _Array, /) -> None: ...
def all(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    *,
    where: _Array | None = None,
) -> usm_ndarray: ...
def allclose(
    x1: _Array, x2: _Array, /, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
) -> usm_ndarray: ...
def any(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    *,
    where: _Array | None = None,
) -> usm_ndarray: ...
def arange(
    start: _Array,
    /,
    stop: _Array | None = None,
    step: _Array = 1,
    dtype: _DTypeLike | None = None,
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def argmax(
    x: _Array,
    /,
    axis: _int | None = None,
    out: usm_ndarray | None = None,
    *,
    keepdims: _bool = False,
) -> usm_ndarray: ...
def argmin(
    x: _Array,
    /,
    axis: _int | None = None,
    out: usm_ndarray | None = None,
    *,
    keepdims: _bool = False,
) -> usm_ndarray: ...
def argpartition(x: _Array, kth: _int, /, axis: _int | None = -1) -> usm_ndarray: ...
def argsort(
    x: _Array,
    /,
    axis: _int = -1,
    kind: _str | None = None,
    *,
    descending: _bool = False,
    stable: _bool = True,
) -> usm_ndarray: ...
def as_usm_memory(obj: Any) -> _Memory: ...
def asarray(
    obj: Any,
    /,
    dtype: _DTypeLike | None = None,
    *,
    device: _DeviceLike | None = None,
    copy: _bool | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def asin(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def asinh(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def asnumpy(x: _Array, /) -> Any: ...
aspects: Final[tuple[_str, ...]]
def astype(
    x: _Array,
    dtype: _DTypeLike,
    /,
    *,
    copy: _bool = True,
    device: _DeviceLike | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def atan(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def atan2(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def atanh(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
bfloat16: Final[_dtype]
def bitwise_and(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def bitwise_invert(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def bitwise_left_shift(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def bitwise_or(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def bitwise_right_shift(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def bitwise_xor(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
bool: Final[_dtype]
def broadcast_arrays(*arrays: _Array) -> tuple[usm_ndarray, ...]: ...
def broadcast_shapes(*shapes: Sequence[_int]) -> tuple[_int, ...]: ...
def broadcast_to(x: _Array, /, shape: _int | Sequence[_int]) -> usm_ndarray: ...
def can_cast(from_: _DTypeLike | _Array, to: _DTypeLike, /, *, casting: _str = "safe") -> _bool: ...
def cbrt(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def ceil(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def clip(
    x: _Array,
    /,
    min: _Array | None = None,
    max: _Array | None = None,
    out: usm_ndarray | None = None,
    *,
    order: _Order = "K",
) -> usm_ndarray: ...
complex128: Final[_dtype]
complex64: Final[_dtype]
def concat(arrays: Iterable[_Array], /, axis: _int | None = 0) -> usm_ndarray: ...
def conj(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def convolve(x1: _Array, x2: _Array, /, mode: _str = "full") -> usm_ndarray: ...
def copy(
    x: _Array,
    /,
    *,
    order: _Order = "K",
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
    progress: Callable[[_int, _int], Any] | None = None,
) -> usm_ndarray: ...
def copysign(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def correlate(x1: _Array, x2: _Array, /, mode: _str = "valid") -> usm_ndarray: ...
def cos(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def cosh(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def count_nonzero(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
) -> usm_ndarray: ...
def cumulative_logsumexp(
    x: _Array,
    /,
    *,
    axis: _int | None = None,
    dtype: _DTypeLike | None = None,
    include_initial: _bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def cumulative_prod(
    x: _Array,
    /,
    *,
    axis: _int | None = None,
    dtype: _DTypeLike | None = None,
    include_initial: _bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def cumulative_sum(
    x: _Array,
    /,
    *,
    axis: _int | None = None,
    dtype: _DTypeLike | None = None,
    include_initial: _bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def deg2rad(x: _Array, /) -> usm_ndarray: ...
def diff(
    x: _Array, /, n: _int = 1, axis: _int = -1, prepend: _Array | None = None, append: _Array | None = None
) -> usm_ndarray: ...
def digitize(x: _Array, bins: _Array, /, right: _bool = False) -> usm_ndarray: ...
def divide(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
e: Final[_float]
def emulate(
    preset: Literal["iris_xe", "arc_a770", "rtx_3060", "rx_6600", "raspberry_pi_4"] | None = None,
    *,
    name: _str | None = None,
    fp64: _bool | None = None,
    fp16: _bool | None = None,
    memory: _int | _str | None = None,
    max_allocation: _int | _str | None = None,
    max_work_group: _int | None = None,
    local_memory: _int | _str | None = None,
    usm: _str | Sequence[_str] | None = None,
) -> Device: ...
def empty(
    shape: _int | Sequence[_int],
    dtype: _DTypeLike | None = None,
    order: _Order = "C",
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def empty_like(
    x: _Array,
    /,
    dtype: _DTypeLike | None = None,
    order: _Order = "K",
    *,
    shape: _int | Sequence[_int] | None = None,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def equal(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def erf(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def exp(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def exp2(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def expand_dims(x: _Array, /, axis: _int | Sequence[_int]) -> usm_ndarray: ...
def expm1(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def extract(condition: _Array, x: _Array, /) -> usm_ndarray: ...
def finfo(type: _DTypeLike | _Array, /) -> _FloatInfo: ...
def flip(x: _Array, /, axis: _int | Sequence[_int] | None = None) -> usm_ndarray: ...
float16: Final[_dtype]
float32: Final[_dtype]
float64: Final[_dtype]
def floor(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def floor_divide(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def from_dlpack(x: Any, /, *, device: _DeviceLike | tuple[_int, _int] | None = None, copy: _bool | None = None) -> usm_ndarray: ...
def from_numpy(
    np_arr: Any,
    /,
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def full(
    shape: _int | Sequence[_int],
    fill_value: _Array,
    dtype: _DTypeLike | None = None,
    order: _Order = "C",
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def full_like(
    x: _Array,
    /,
    fill_value: _Array,
    dtype: _DTypeLike | None = None,
    order: _Order = "K",
    *,
    shape: _int | Sequence[_int] | None = None,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def get_devices(backend: _str = "all", device_type: _str = "all") -> list[Device]: ...
def get_execution_queue(queues: Sequence[Queue]) -> Queue | None: ...
def get_num_devices(backend: _str = "all", device_type: _str = "all") -> _int: ...
def has_accelerator_devices() -> _bool: ...
def has_cpu_devices() -> _bool: ...
def has_gpu_devices() -> _bool: ...
def get_pointer_type(address: _int) -> _str: ...
def gradient(
    f: _Array, /, *spacing: _Array, axis: _int | Sequence[_int] | None = None, edge_order: _int = 1
) -> usm_ndarray | tuple[usm_ndarray, ...]: ...
def greater(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def greater_equal(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def group_by(keys: _Array, /) -> GroupBy: ...
def hypot(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def iinfo(type: _DTypeLike | _Array, /) -> _IntInfo: ...
def imag(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
inf: Final[_float]
int16: Final[_dtype]
int32: Final[_dtype]
int64: Final[_dtype]
int8: Final[_dtype]
def isclose(
    x1: _Array, x2: _Array, /, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
) -> usm_ndarray: ...
def isdtype(dtype: _dtype, kind: _dtype | _str | tuple[Any, ...]) -> _bool: ...
def isfinite(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def isinf(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def isnan(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def isneginf(x: _Array, /) -> usm_ndarray: ...
def isposinf(x: _Array, /) -> usm_ndarray: ...
def lerp(x1: _Array, x2: _Array, weight: _Array, /) -> usm_ndarray: ...
def less(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def less_equal(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def lexsort(keys: _Array | Sequence[_Array], /, axis: _int = ...) -> usm_ndarray: ...
def log(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def log10(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def log1p(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def log2(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def logaddexp(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def logical_and(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def logical_not(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def logical_or(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def logical_xor(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def live_arrays(device: _DeviceLike | None = None) -> list[_LiveArray]: ...
def logsumexp(
    x: _Array,
    /,
    *,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    keepdims: _bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def matmul(x1: _Array, x2: _Array, /, *, out: usm_ndarray | None = None) -> usm_ndarray: ...
def matrix_transpose(x: _Array, /) -> usm_ndarray: ...
def max(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    initial: _Array | None = None,
    where: _Array | None = None,
) -> usm_ndarray: ...
def maximum(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def maximum_at(x: _Target, indices: Any, values: _Array, /) -> None: ...
def mean(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    *,
    where: _Array | None = None,
) -> usm_ndarray: ...
def memmap(
    filename: Any,
    dtype: _DTypeLike | None = None,
    mode: _str = "r+",
    offset: _int = 0,
    shape: _int | Sequence[_int] | None = None,
    order: _Order = "C",
    *,
    device: _DeviceLike | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def min(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    initial: _Array | None = None,
    where: _Array | None = None,
) -> usm_ndarray: ...
def minimum(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def minimum_at(x: _Target, indices: Any, values: _Array, /) -> None: ...
def moveaxis(x: _Array, source: _int | Sequence[_int], destination: _int | Sequence[_int], /) -> usm_ndarray: ...
def multiply(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def multiply_at(x: _Target, indices: Any, values: _Array, /) -> None: ...
nan: Final[_float]
def nanmax(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    initial: _Array | None = None,
    where: _Array | None = None,
) -> usm_ndarray: ...
def nanmean(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    *,
    where: _Array | None = None,
) -> usm_ndarray: ...
def nanmin(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    initial: _Array | None = None,
    where: _Array | None = None,
) -> usm_ndarray: ...
def nanprod(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    initial: _Array | None = None,
    where: _Array | None = None,
) -> usm_ndarray: ...
def nanstd(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    ddof: _float | None = None,
    keepdims: _bool = False,
    *,
    where: _Array | None = None,
    mean: _Array | None = None,
    correction: _float = 0.0,
) -> usm_ndarray: ...
def nansum(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    initial: _Array | None = None,
    where: _Array | None = None,
) -> usm_ndarray: ...
def nanvar(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    ddof: _float | None = None,
    keepdims: _bool = False,
    *,
    where: _Array | None = None,
    mean: _Array | None = None,
    correction: _float = 0.0,
) -> usm_ndarray: ...
def negative(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
newaxis: Final[None]
def nextafter(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def nonzero(x: _Array, /) -> tuple[usm_ndarray, ...]: ...
def not_equal(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def ones(
    shape: _int | Sequence[_int],
    dtype: _DTypeLike | None = None,
    order: _Order = "C",
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def ones_like(
    x: _Array,
    /,
    dtype: _DTypeLike | None = None,
    order: _Order = "K",
    *,
    shape: _int | Sequence[_int] | None = None,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def permute_dims(x: _Array, /, axes: Sequence[_int]) -> usm_ndarray: ...
pi: Final[_float]
def place(x: _Target, mask: _Array, vals: _Array, /) -> None: ...
def polyval(p: _Array | Sequence[_complex], x: _Array, /) -> usm_ndarray: ...
def positive(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def pow(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def prod(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    initial: _Array | None = None,
    where: _Array | None = None,
) -> usm_ndarray: ...
def put(
    x: _Target,
    indices: _Array | Sequence[Any] | _int,
    vals: _Array | Sequence[Any] | _complex,
    /,
    *,
    axis: _int | None = None,
    mode: _str = "raise",
) -> None: ...
def rad2deg(x: _Array, /) -> usm_ndarray: ...
def real(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def reciprocal(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def reduce_hypot(
    x: _Array,
    /,
    *,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    keepdims: _bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def remainder(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def repeat(x: _Array, repeats: _int | Sequence[_int] | _Array, /, axis: _int | None = None) -> usm_ndarray: ...
def reshape(
    x: _Array,
    /,
    shape: _int | Sequence[_int],
    order: _Order = "C",
    *,
    copy: _bool | None = None,
) -> usm_ndarray: ...
def result_type(*arrays_and_dtypes: _DTypeLike | _Array) -> _dtype: ...
def roll(x: _Array, /, shift: _int | Sequence[_int], axis: _int | Sequence[_int] | None = None) -> usm_ndarray: ...
def rsqrt(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def searchsorted(
    x1: _Array, x2: _Array, /, side: _str = "left", sorter: _Array | None = None
) -> usm_ndarray: ...
def select_accelerator_device() -> Device: ...
def select_cpu_device() -> Device: ...
def select_default_device() -> Device: ...
def select_device_with_aspects(
    required_aspects: _str | Sequence[_str], excluded_aspects: _str | Sequence[_str] | None = None
) -> Device: ...
def select_gpu_device() -> Device: ...
def select_host_device() -> Device: ...
def sigmoid(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def sign(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def signbit(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def sin(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def sinc(x: _Array, /) -> usm_ndarray: ...
def sinh(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def sliding_window_view(
    x: _Array,
    window_shape: _int | Sequence[_int],
    /,
    *,
    axis: _int | Sequence[_int] | None = None,
) -> usm_ndarray: ...
def sort(
    x: _Array,
    /,
    axis: _int = -1,
    kind: _str | None = None,
    *,
    descending: _bool = False,
    stable: _bool = True,
) -> usm_ndarray: ...
def sqrt(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def square(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def squeeze(x: _Array, /, axis: _int | Sequence[_int] | None = None) -> usm_ndarray: ...
def std(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    ddof: _float | None = None,
    keepdims: _bool = False,
    *,
    where: _Array | None = None,
    mean: _Array | None = None,
    correction: _float = 0.0,
) -> usm_ndarray: ...
def subtract(
    x1: _Array,
    x2: _Array,
    /,
    *,
    out: usm_ndarray | None = None,
    order: _Order = "K",
) -> usm_ndarray: ...
def sum(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    initial: _Array | None = None,
    where: _Array | None = None,
) -> usm_ndarray: ...
def swapaxes(x: _Array, axis1: _int, axis2: _int, /) -> usm_ndarray: ...
def take(
    x: _Array,
    indices: _Array | Sequence[Any] | _int,
    /,
    axis: _int | None = None,
    out: usm_ndarray | None = None,
    mode: _str = "raise",
) -> usm_ndarray: ...
def tan(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def tanh(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def tensordot(x1: _Array, x2: _Array, /, axes: _int | Sequence[Any] = 2) -> usm_ndarray: ...
def tile(x: _Array, repetitions: _int | Sequence[_int], /) -> usm_ndarray: ...
def to_numpy(x: _Array, /) -> Any: ...
def top_k(x: _Array, k: _int, /, *, axis: _int | None = None, mode: _str = "largest") -> _TopKResult: ...
def tril(x: _Array, /, k: _int = 0) -> usm_ndarray: ...
def triu(x: _Array, /, k: _int = 0) -> usm_ndarray: ...
def trunc(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
uint16: Final[_dtype]
uint32: Final[_dtype]
uint64: Final[_dtype]
uint8: Final[_dtype]
def unique_all(x: _Array, /) -> _UniqueAllResult: ...
def unique_counts(x: _Array, /) -> _UniqueCountsResult: ...
def unique_inverse(x: _Array, /) -> _UniqueInverseResult: ...
def unique_values(x: _Array, /) -> usm_ndarray: ...
def unstack(x: _Array, /, *, axis: _int = 0) -> tuple[usm_ndarray, ...]: ...
def var(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
    ddof: _float | None = None,
    keepdims: _bool = False,
    *,
    where: _Array | None = None,
    mean: _Array | None = None,
    correction: _float = 0.0,
) -> usm_ndarray: ...
def vecdot(x1: _Array, x2: _Array, /, *, axis: _int = -1) -> usm_ndarray: ...
@overload
def where(condition: _Array, x1: None = None, x2: None = None, /) -> tuple[usm_ndarray, ...]: ...
@overload
def where(
    condition: _Array,
    x1: _Array,
    x2: _Array,
    /,
    *,
    order: _Order = "K",
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def zeros(
    shape: _int | Sequence[_int],
    dtype: _DTypeLike | None = None,
    order: _Order = "C",
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def zeros_like(
    x: _Array,
    /,
    dtype: _DTypeLike | None = None,
    order: _Order = "K",
    *,
    shape: _int | Sequence[_int] | None = None,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
