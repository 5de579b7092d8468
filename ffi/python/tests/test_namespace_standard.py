"""The namespace against the array API standard: every name, and every signature, as array-api-strict has them."""

import inspect
import warnings

import pytest

import stridewise as sw

strict = pytest.importorskip("array_api_strict")

#: The standard's version 2025.12, by its chapters.
STANDARD = {
    "constants": "e inf nan newaxis pi",
    "creation": """arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu
        zeros zeros_like""",
    "dtypes": """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128""",
    "dtype functions": "astype can_cast finfo iinfo isdtype result_type",
    "elementwise": """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or
        bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
        greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
        logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
        round sign signbit sin sinh square sqrt subtract tan tanh trunc""",
    "indexing": "take take_along_axis",
    "inspection": "__array_namespace_info__",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": """broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis permute_dims repeat
        reshape roll squeeze stack tile unstack""",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "sets": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility": "all any diff",
    "version": "__array_api_version__",
    "extensions": "fft linalg",
}
LINALG = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer
    pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm""".split()
FFT = "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn".split()
NAMES = [name for names in STANDARD.values() for name in names.split()]


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert hasattr(sw, name)
    assert hasattr(strict, name), "the list is not the standard's"


def test_no_name_of_the_standard_is_forgotten():
    # What is strict's own, and no part of the standard.
    own = {"ArrayAPIStrictFlags", "Device", "__version__"} | {name for name in strict.__all__ if "strict_flags" in name}
    assert set(strict.__all__) - own <= set(NAMES)
    assert set(strict.linalg.__all__) <= set(LINALG)
    assert set(strict.fft.__all__) <= set(FFT)


#: What every class of Python has, and what is strict's own.
NO_METHODS = {
    "__annotations__", "__array__", "__buffer__", "__dict__", "__firstlineno__", "__module__", "__slots__",
    "__static_attributes__", "__weakref__",
}  # fmt: skip


def test_methods_of_arrays():
    names = {name for name in dir(strict.asarray(1.0)) if not name.startswith("_") or name.startswith("__")}
    for name in names - NO_METHODS:
        assert hasattr(sw.usm_ndarray, name), name


def signatures():
    """Every function of the standard: our namespace, theirs, and the name."""
    for name in NAMES:
        if callable(getattr(strict, name)) and not inspect.isclass(getattr(strict, name)):
            if name not in {"float32"} and not isinstance(getattr(strict, name), type(strict.float32)):
                yield pytest.param(sw, strict, name, id=name)
    for name in LINALG:
        yield pytest.param(sw.linalg, strict.linalg, name, id=f"linalg.{name}")
    for name in FFT:
        yield pytest.param(sw.fft, strict.fft, name, id=f"fft.{name}")


def plain(default):
    """A default value, where strict has an object of its own for an argument that was left out."""
    return None if "Undef" in type(default).__name__ else default


@pytest.mark.parametrize("ours, theirs, name", list(signatures()))
def test_signatures(ours, theirs, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = inspect.signature(getattr(theirs, name)).parameters
    ours = inspect.signature(getattr(ours, name)).parameters
    positional = [p for p in theirs.values() if p.kind != p.KEYWORD_ONLY]
    # What can be given by position stands at the same place, and is as much a keyword.
    assert [(p.name, p.kind) for p in ours.values()][: len(positional)] == [(p.name, p.kind) for p in positional] or all(
        p.kind == p.POSITIONAL_ONLY for p in positional
    ), f"{list(ours.values())} instead of {list(theirs.values())}"
    assert [p.kind for p in ours.values()][: len(positional)] == [p.kind for p in positional]
    for their in theirs.values():
        our = ours[their.name]
        # What the standard has by keyword alone may have a place, too, as NumPy gives it.
        placed = (our.POSITIONAL_OR_KEYWORD, our.KEYWORD_ONLY)
        assert our.kind == their.kind or (our.kind, their.kind) == placed, their.name
        # Nor is a default wrong where the standard has none.
        assert their.default is their.empty or plain(our.default) == plain(their.default), their.name
    for our in ours.values():
        if our.name not in theirs:
            assert our.kind in (our.KEYWORD_ONLY, our.POSITIONAL_OR_KEYWORD) and our.default is not our.empty, our.name


def test_namespace_of_arrays():
    assert sw.ones(2).__array_namespace__() is sw
    assert sw.ones(2).__array_namespace__(api_version="2025.12") is sw
    assert sw.__array_api_version__ == "2025.12"
    with pytest.raises(ValueError):
        sw.ones(2).__array_namespace__(api_version="2019.01")


def test_information():
    info = sw.__array_namespace_info__()
    capabilities = info.capabilities()
    assert capabilities["boolean indexing"] is True and capabilities["data-dependent shapes"] is True
    deepest = capabilities["max dimensions"]
    assert sw.ones((1,) * deepest).ndim == deepest
    with pytest.raises(ValueError):
        sw.ones((1,) * (deepest + 1))
    devices = info.devices()
    assert isinstance(devices, tuple) and devices + [None] == [*devices, None] and devices + (None,) == (*devices, None)
    assert isinstance(devices, tuple) and info.default_device() in devices
    for device in devices:
        assert sw.ones(2, device=device).device == device
        defaults = info.default_dtypes(device=device)
        assert set(defaults) == {"real floating", "complex floating", "integral", "indexing"}
        assert sw.ones(2, device=device).dtype == defaults["real floating"]
        assert sw.asarray([1], device=device).dtype == defaults["integral"]
        assert sw.asarray([1j], device=device).dtype == defaults["complex floating"]
        assert sw.argsort(sw.ones(2, device=device)).dtype == defaults["indexing"]
        for name, dtype in info.dtypes(device=device).items():
            assert dtype is getattr(sw, name)
            assert sw.ones(2, dtype=dtype, device=device).dtype == dtype


@pytest.mark.parametrize(
    "kind",
    [None, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
     ("bool", "real floating"), ()],
)  # fmt: skip
def test_dtypes(kind):
    theirs = strict.__array_namespace_info__().dtypes(kind=kind)
    ours = sw.__array_namespace_info__().dtypes(device="host", kind=kind)
    assert set(ours) == set(theirs)
    if kind is not None:
        for name in strict.__array_namespace_info__().dtypes():
            assert sw.isdtype(getattr(sw, name), kind) == (name in theirs)


def test_dtypes_refuse():
    for call in [
        lambda: sw.isdtype(sw.float32, "float"),
        lambda: sw.__array_namespace_info__().dtypes(kind="float"),
        lambda: sw.can_cast(sw.float32, sw.float64, casting="maybe"),
        lambda: sw.result_type(),
    ]:
        with pytest.raises(ValueError):
            call()
    for call in [
        lambda: sw.isdtype("text", "bool"),
        lambda: sw.finfo(sw.int32),
        lambda: sw.iinfo(sw.float32),
        lambda: sw.result_type("text"),
    ]:
        with pytest.raises(TypeError):
            call()
