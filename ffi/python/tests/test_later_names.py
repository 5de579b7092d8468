"""NumPy's and SciPy's names that are imported when they are asked for, beside theirs: arithmetic, kinds, files, solvers, bits of memory."""

import os
import subprocess
import sys

import numpy as np
import pytest

import stridewise as sw
from conftest import same

F = np.array([0.0, -0.0, 1, -1, 2.5, -7.5, np.inf, -np.inf, np.nan, 1e300, -1e-310, 5e-324, 1e308, 0.1])
I = np.array([0, 1, -1, 7, -8, 12, 100, -128])
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def beside(name, *args, rtol=0.0, of=None):
    """A function of both modules, and NumPy's of our arrays."""
    with np.errstate(all="ignore"):
        theirs = getattr(np, name)(*args)
    given = [sw.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
    for module in (sw, np):
        ours = getattr(module, name)(*given)
        for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (ours, theirs)), strict=True):
            other = np.asarray(other)
            assert isinstance(one, sw.usm_ndarray) and one.shape == other.shape and one.dtype == other.dtype, (name, args)
            np.testing.assert_allclose(sw.asnumpy(one), other, rtol=rtol, atol=0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats(dtype):
    with np.errstate(all="ignore"):
        a = F.astype(dtype)
    eps = float(np.finfo(dtype).eps)
    for turn in range(1, 14, 3):
        beside("fmod", a, np.roll(a, turn))
        beside("logaddexp2", a, np.roll(a, turn), rtol=4 * eps)
    for part in (a, a.reshape(2, 7)[:, ::2], a[2], a[:0]):
        beside("frexp", np.asarray(part))
        if dtype != "float16":
            # NumPy's of 16 bits have no sign, and are half as large for some numbers.
            beside("spacing", np.asarray(part))
    for powers in (I, I * 10, -I * 9, np.array([-1074, 1023, 1024, -1080, 5, 0, 3, 2])):
        beside("ldexp", a[:8], powers.astype("int32"))
        beside("ldexp", a[6:], powers.astype("int32"))
    beside("ldexp", a, 3)
    beside("float_power", np.abs(a[:6]), 2)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    a = I.astype(dtype)
    for turn in range(8):
        for name in ("fmod", "gcd", "lcm"):
            beside(name, a, np.roll(a, turn))
    for call in (("bitwise_count", a), ("gcd", a, 6), ("lcm", a[:, None], a[:3]), ("fmod", a, 3), ("divmod", a, np.roll(a, 1) | 1), ("gcd", a[:0], a[:0])):
        beside(*call)


def test_arithmetic_of_other_kinds():
    beside("float_power", np.abs(I) + 1, -1)
    beside("float_power", np.array([1j, 2.0]), 2, rtol=1e-15)
    m = np.random.default_rng(4).normal(size=(2, 3, 4))
    beside("matvec", m, m[0, 0], rtol=1e-14)
    beside("vecmat", m[0, :, 0] + 1j, m, rtol=1e-14)
    for name, args in [("gcd", (F, F)), ("bitwise_count", (F,)), ("ldexp", (F, F)), ("frexp", (F * 1j,)), ("fmod", (F * 1j, F))]:
        with pytest.raises(TypeError, match="dtype"):
            getattr(sw, name)(*map(sw.asarray, args))


def test_results_go_to_where_they_are_asked():
    x, goal = sw.asarray(F[:6]), np.zeros(6)
    assert np.fmod(x, 2.0, out=goal) is goal
    np.testing.assert_array_equal(goal, np.fmod(F[:6], 2))
    fraction, power = np.frexp(x, out=(None, sw.zeros(6, dtype="int32")))
    same(power, np.frexp(F[:6])[1])
    same(fraction, np.frexp(F[:6])[0])
    for ufunc in (np.fmax, np.heaviside, np.gcd, np.lcm, np.logaddexp2):
        a = np.array([3, 4, 6]) if ufunc in (np.gcd, np.lcm) else np.array([3.0, np.nan, 6])
        goal = sw.zeros(3, dtype=str(a.dtype))
        assert ufunc(sw.asarray(a), 2, out=goal) is goal
        np.testing.assert_allclose(sw.asnumpy(goal), ufunc(a, 2))
        with pytest.raises(TypeError, match="`order`.*asnumpy"):
            ufunc(sw.asarray(a), 2, order="F")


def test_kinds():
    kinds = ("generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating")
    for dtype in [*INTEGERS, "bool", "float32", "float64", "complex64"]:
        for kind in kinds:
            expected = np.issubdtype(dtype, getattr(np, kind))
            assert sw.issubdtype(dtype, getattr(sw, kind)) is sw.issubdtype(sw.dtype(dtype), getattr(np, kind)) is expected
    assert sw.issubdtype(float, "float64") and not sw.issubdtype(sw.floating, sw.float64) and sw.issubdtype(sw.floating, sw.inexact)
    for name in "byte short intc int_ intp longlong ubyte ushort uintc uint uintp ulonglong half single double csingle cdouble".split():
        assert getattr(sw, name).name == np.dtype(getattr(np, name)).name
    for code in "?bBhHiIlLqQpPnNefdFD":
        assert sw.dtype(code).name == np.dtype(code).name
    for number in (0, 255, 256, -1, -129, 2**40, 1.5, 1e10, 1e300, 1j, 1e300j, True):
        assert sw.min_scalar_type(number).name == np.min_scalar_type(number).name
    assert sw.common_type(sw.zeros(1, dtype="int8"), sw.zeros(1, dtype="complex64")) == sw.complex128
    assert sw.mintypecode("fD") == np.mintypecode("fD") and sw.mintypecode(["f", "e"]) == np.mintypecode(["f", "e"]) and sw.mintypecode("Fd") == "D"
    for number, base, padding in [(5, 2, 0), (-255, 16, 2), (0, 3, 0), (0, 2, 4)]:
        assert sw.base_repr(number, base, padding) == np.base_repr(number, base, padding)
    for number, width in [(3, None), (-3, None), (3, 5), (-3, 5), (0, 4), (-8, 4)]:
        assert sw.binary_repr(number, width) == np.binary_repr(number, width)
    with pytest.raises(ValueError, match="width"):
        sw.binary_repr(-9, 4)


def test_errors_of_numbers_are_ignored():
    with sw.errstate(divide="raise", invalid="ignore"):
        assert sw.asnumpy(sw.asarray(1.0) / 0) == np.inf
    assert sw.seterr(all="warn") == sw.geterr() == dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")
    with pytest.raises(ValueError, match="divide"):
        sw.errstate(divide="no")
    with pytest.raises(TypeError, match="divides"):
        sw.errstate(divides="raise")


def test_how_arrays_are_written():
    x = sw.asarray(np.linspace(0, 1, 5) / 3)
    usual = repr(x), str(x)
    try:
        sw.set_printoptions(precision=3, suppress=True)
        assert str(x) == np.array2string(sw.asnumpy(x), precision=3, suppress_small=True)
        assert repr(x) == "usm_ndarray([0.   , 0.083, 0.167, 0.25 , 0.333])"
        assert repr(sw.astype(x, "float32")).endswith("dtype=float32)")
        with sw.printoptions(precision=1, linewidth=20) as options:
            assert options["precision"] == 1 and str(x) == np.array2string(sw.asnumpy(x), precision=1, max_line_width=20, suppress_small=True)
        assert sw.get_printoptions()["precision"] == 3
        with pytest.raises(TypeError, match="nanstr.*asnumpy"):
            sw.set_printoptions(nanstr="none")
        with pytest.raises(TypeError, match="precisions"):
            sw.set_printoptions(precisions=1)
    finally:
        sw.set_printoptions(precision=8, suppress=False)
    assert (repr(x), str(x)) == usual


def test_files(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    ours = sw.asarray(x)
    same(sw.frombuffer(x.tobytes()), np.frombuffer(x.tobytes()))
    same(sw.frombuffer(b"\1\2\3\4\5\6", "int16", 2, 2), np.frombuffer(b"\1\2\3\4\5\6", "int16", 2, 2))
    for bad in ({"dtype": "int32"}, {"offset": 9}, {"dtype": "int8", "count": 7}, {"dtype": "int8", "offset": -1}):
        with pytest.raises(ValueError, match="expected"):
            sw.frombuffer(b"123456", **bad)
    x.tofile(tmp_path / "raw")
    for options in ({}, {"count": 2}, {"offset": 16}, {"dtype": "int32", "count": 99}):
        same(sw.fromfile(tmp_path / "raw", **options), np.fromfile(tmp_path / "raw", **options))
    with open(tmp_path / "raw", "rb") as file:
        file.seek(8)
        same(sw.fromfile(file, count=1), x[0, 1:2])
    with pytest.raises(FileNotFoundError):
        sw.fromfile(tmp_path / "none")
    # A number is not taken for a descriptor, which would be closed.
    descriptor = os.open(tmp_path / "raw", os.O_RDONLY)
    for options in ({}, {"sep": ","}):
        with pytest.raises(TypeError, match="`file` is "):
            sw.fromfile(descriptor, **options)
    os.close(descriptor)
    for text, sep in [("1, 2,3", ","), ("1 2\n 3 ", " "), ("", ",")]:
        if text:
            same(sw.fromstring(text, sep=sep), np.fromstring(text, sep=sep))
    same(sw.fromstring("1;2;3", "int32", 2, sep=";"), np.array([1, 2], "int32"))
    sw.savetxt(tmp_path / "a.txt", ours, delimiter=",", fmt="%.3f")
    same(sw.loadtxt(tmp_path / "a.txt", delimiter=","), x)
    same(sw.loadtxt(tmp_path / "a.txt", delimiter=",", dtype=sw.float32, skiprows=1), x[1].astype("f4"))
    (tmp_path / "b.txt").write_text("1,,3\n4,5,6\n")
    same(sw.genfromtxt(tmp_path / "b.txt", delimiter=","), np.genfromtxt(tmp_path / "b.txt", delimiter=","))
    for save in (sw.savez, sw.savez_compressed):
        save(tmp_path / "c.npz", ours, named=ours)
        with np.load(tmp_path / "c.npz") as archive:
            np.testing.assert_array_equal(archive["arr_0"], x)
            np.testing.assert_array_equal(archive["named"], x)
    with pytest.raises(ValueError, match="finite"):
        sw.asarray_chkfinite([1.0, np.inf])
    assert sw.asarray_chkfinite(ours) is ours


def test_memory():
    x = sw.zeros((4, 6))
    n = np.asarray(x)
    parts = [(slice(None),), (slice(0, 2),), (slice(2, 4),), (slice(None), slice(None, None, 2)), (slice(None), slice(1, None, 2)), (slice(None, None, -1), 0), (3, slice(5, 6)), (slice(0, 0),)]
    for one in parts:
        for other in parts:
            assert sw.shares_memory(x[one], x[other]) is np.shares_memory(n[one], n[other]), (one, other)
            assert sw.may_share_memory(x[one], x[other]) is np.may_share_memory(n[one], n[other]), (one, other)
    assert sw.shares_memory(x, n) and np.shares_memory(x, n) and not sw.shares_memory(x, sw.copy(x)) and not sw.may_share_memory(x, 1)
    f = sw.require(x, requirements=["F", "O"])
    assert f.flags.f_contiguous and not sw.shares_memory(f, x) and sw.require(x, requirements="C") is x
    with pytest.raises(ValueError, match="requirements"):
        sw.require(x, requirements=["C", "F"])


def test_solvers():
    scipy = pytest.importorskip("scipy.linalg")
    rng = np.random.default_rng(9)
    for a in (rng.normal(size=(4, 4)), rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))):
        x, b = sw.asarray(a), rng.normal(size=(4, 2))
        close = lambda ours, theirs: np.testing.assert_allclose(sw.asnumpy(ours), theirs, rtol=1e-8, atol=1e-10)
        for trans in (0, 1, 2, "T"):
            for lower in (False, True):
                for unit in (False, True):
                    theirs = scipy.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit)
                    close(sw.linalg.solve_triangular(x, b, trans=trans, lower=lower, unit_diagonal=unit), theirs)
        lu, places = sw.linalg.lu_factor(x)
        theirs = scipy.lu_factor(a)
        close(lu, theirs[0])
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(sw.asnumpy(places), theirs[1])
        for trans in (0, 1, 2):
            close(sw.linalg.lu_solve((lu, places), b, trans=trans), scipy.lu_solve(theirs, b, trans=trans))
        h = a @ a.conj().T
        for lower in (False, True):
            close(sw.linalg.cho_solve(sw.linalg.cho_factor(sw.asarray(h), lower=lower), b), np.linalg.solve(h, b))
        for matrix in (a, h, a @ a, a + a.conj().T):
            close(sw.linalg.sqrtm(sw.asarray(matrix)), scipy.sqrtm(matrix))
        low = a.copy()
        low[3] = low[0] + low[1]
        null, space = sw.linalg.null_space(sw.asarray(low)), sw.linalg.orth(sw.asarray(low))
        assert null.shape == (4, 1) and space.shape == (4, 3)
        close(sw.asarray(low) @ null, np.zeros((4, 1)))
        close(sw.conj(space.T) @ space, np.eye(3))
        close(space @ (sw.conj(space.T) @ sw.asarray(low)), low)
    for name in ("toeplitz", "hankel"):
        for args in ([[1, 2, 3]], [[1, 2, 3], [9.5, 5, 6, 7]], [[1j, 2]]):
            same(getattr(sw.linalg, name)(*args), getattr(scipy, name)(*args))
    same(sw.linalg.circulant([1, 2, 3]), scipy.circulant([1, 2, 3]))
    same(sw.linalg.block_diag(sw.asarray(a.real), [1, 2], 3), scipy.block_diag(a.real, [1, 2], 3))
    t = rng.normal(size=(6, 4, 2, 3, 4))
    for function, *args in [(np.linalg.tensorsolve, t, np.ones((6, 4))), (np.linalg.tensorinv, t.reshape(24, 8, 3), 1)]:
        np.testing.assert_allclose(sw.asnumpy(function(sw.asarray(args[0]), *args[1:])), function(*args), rtol=1e-8)
    for call in (
        lambda: sw.linalg.solve_triangular(sw.zeros((2, 3)), [1, 2]), lambda: sw.linalg.tensorinv(sw.zeros((4, 4)), 0), lambda: sw.linalg.block_diag(sw.zeros((1, 1, 1))),
        lambda: sw.linalg.solve_triangular(sw.eye(2), [1, 2], trans=5), lambda: sw.linalg.tensorsolve(sw.zeros((2, 3)), sw.zeros(2)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="expected"):
            call()


_CALLS = {
    "mgrid": lambda m: (m.mgrid[0:3, 0:1:3j], m.mgrid[1:9:2], m.mgrid[0:2, 1:3]), "ogrid": lambda m: m.ogrid[0:3, -1:1:5j],
    "r_": lambda m: (m.r_[1:4, 0, 4.5], m.r_["0,2", [1, 2], [3, 4]], m.r_["1,2,0", [1, 2], [3, 4]], m.r_[m.asarray([1, 2]), 5], m.r_["-1", m.ones((2, 2)), m.zeros((2, 1))]),
    "c_": lambda m: (m.c_[m.asarray([1, 2]), m.asarray([3.5, 4])], m.c_[m.ones((2, 2)), m.zeros((2, 1))], m.c_[1:4]),
    "fromfunction": lambda m: (m.fromfunction(lambda i, j: i * 10 + j, (2, 3)), m.fromfunction(lambda i: i, (3,), dtype="int64")),
    "fromiter": lambda m: (m.fromiter(range(4), "float32"), m.fromiter((k * k for k in range(9)), "int64", 3)),
    "mask_indices": lambda m: m.mask_indices(3, m.triu, 1), "vectorize": lambda m: (m.vectorize(lambda a, b: a if a > b else b - a)(m.asarray([1, 5]), m.asarray([[2], [3]])), m.vectorize(lambda a: a + 0.5, otypes=["float32"])(m.asarray([1, 2]))),
    "vectorize two": lambda m: m.vectorize(lambda a: (a, a * 2.5))(m.asarray([1, 2])), "unwrap": lambda m: m.unwrap(m.asarray([0.0, 7, 14])),
    "block": lambda m: m.block([[m.ones((2, 2)), m.zeros((2, 1))], [m.asarray([[7.0, 8, 9]])]]),
}  # fmt: skip


@pytest.mark.parametrize("name", _CALLS)
def test_names_beside_numpys(name):
    ours, theirs = _CALLS[name](sw), _CALLS[name](np)
    for one, other in zip(*(x if isinstance(x, (tuple, list)) else (x,) for x in (ours, theirs)), strict=True):
        same(one, other)


def test_places():
    assert list(sw.ndindex(2, 3)) == list(np.ndindex(2, 3)) and list(sw.ndindex((2, 0))) == [] and list(sw.ndindex()) == [()]
    x = np.arange(4).reshape(2, 2)
    assert [(place, int(value)) for place, value in sw.ndenumerate(sw.asarray(x))] == [(place, int(value)) for place, value in np.ndenumerate(x)]
    assert sw.iterable([1]) and not sw.iterable(1) and sw.isfortran(sw.zeros((2, 3), order="F")) and not sw.isfortran(sw.zeros(3))
    for wrong in ([2, 3], "2", 2.5):
        with pytest.raises(TypeError, match="expected integers, or a tuple of them"):
            sw.ndindex(wrong)
    for call in (lambda: sw.insert([0, 1, 2], [1.0, 2.0], 9), lambda: sw.delete([0, 1, 2], [1.0])):
        with pytest.raises(IndexError, match="`obj` has 1.0; expected an integer, a slice, integers or a mask"):
            call()
    for part in (slice(np.float32(0.1), np.float32(0.33), np.float32(0.1)),):
        assert sw.mgrid[part].dtype == np.mgrid[part].dtype and sw.mgrid[part, part].dtype == np.mgrid[part, part].dtype
    with pytest.raises(ValueError, match="count"):
        sw.fromiter([1], "int8", 2)


@pytest.mark.parametrize("signature, function, arguments", [
    ("(),()->()", lambda m: lambda a, b: a - b if a > b else a + b, ([0, 3, 6, 9], [1, 3, 5, 7])), ("(n)->()", lambda m: m.mean, ([[1, 3], [2, 4]],)),
    ("(n)->(n)", lambda m: lambda a: a - a.mean(), ([[1.0, 3], [2, 4]],)), ("()->(),()", lambda m: lambda a: (a, a + 1), ([1, 2],)),
    ("(a), (b) -> (a, b)", lambda m: m.outer, ([[1, 0], [2, 0]], [1, 2, 3])), ("(n)->(m)", lambda m: lambda a: a[:-1], ([[1, 2, 3], [2, 3, 4]],)),
    ("(m,n),(n)->(m)", lambda m: m.matmul, (np.arange(12).reshape(2, 2, 3), [1, 2, 3])),
])  # fmt: skip
def test_functions_of_parts(signature, function, arguments):
    ours = sw.vectorize(function(sw), signature=signature)(*map(sw.asarray, arguments))
    theirs = np.vectorize(function(np), signature=signature)(*arguments)
    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (ours, theirs)), strict=True):
        same(one, other)


def test_vectorize_as_a_decorator_and_of_no_elements():
    @sw.vectorize(signature="(n)->(n)", otypes=["float32"])
    def doubled(x):
        """Twice."""
        return x * 2

    assert doubled([1, 2]).dtype == sw.float32 and doubled.__name__ == "doubled" and doubled.__doc__ == "Twice." and doubled.signature == "(n)->(n)"
    assert sw.vectorize(lambda x: x, signature="(n)->(n)", otypes="i")(sw.zeros((0, 3))).shape == (0, 3)
    assert sw.vectorize(lambda a, b=1: a + b, signature="()->()", excluded={"b"})([1, 2], b=5).tolist() == [6, 7]


@pytest.mark.parametrize("call, error, what", [
    (lambda: sw.vectorize(3), TypeError, "`pyfunc` is 3; expected a function"),
    (lambda: sw.vectorize(signature="()->()")(3), TypeError, "`pyfunc` is 3; expected a function"),
    (lambda: sw.vectorize(abs, signature="(x)(y)->()"), ValueError, "`signature` is .*; expected the dimensions"),
    (lambda: sw.vectorize(abs, signature="(x),(y)->"), ValueError, "`signature` is"),
    (lambda: sw.vectorize(sw.add, signature="(n),(n)->(n)")([1]), TypeError, "beside 1 arguments; expected 2"),
    (lambda: sw.vectorize(sw.add, signature="(n),(n)->(n)")(1, [2]), ValueError, r"argument 0 is of shape \(\); expected the dimensions n"),
    (lambda: sw.vectorize(sw.add, signature="(n),(n)->(n)")([1], [2, 3]), ValueError, "argument 1 is of shape .2,.; expected 1 for its dimension n"),
    (lambda: sw.vectorize(lambda x: x[:-1], signature="(n)->(n)")([1, 2]), ValueError, "result 0 is of shape .1,.; expected 2"),
    (lambda: sw.vectorize(lambda x: (x, x), signature="()->()")([1, 2]), ValueError, "`pyfunc` has 2 results; expected 1"),
    (lambda: sw.vectorize(lambda x: x, signature="()->()")(sw.zeros(0)), ValueError, "`otypes` is None"),
    (lambda: sw.vectorize(lambda x: [x], signature="()->(n)", otypes="i")(sw.zeros(0)), ValueError, "the dimensions n; expected some"),
])  # fmt: skip
def test_what_vectorize_refuses(call, error, what):
    with pytest.raises(error, match=what):
        call()


def test_names_are_imported_late():
    """The modules that few programs use are imported by their first name."""
    program = (
        "import sys, stridewise as sw; late = {'_parts', '_histograms', '_polynomials', '_arithmetic', '_kinds', '_files', '_fusing', '_solvers', 'emath', 'special'};"
        "assert not late & {name.removeprefix('stridewise.') for name in sys.modules}; sw.insert; sw.linalg.toeplitz; sw.emath;"
        "assert {'stridewise._parts', 'stridewise._solvers', 'stridewise.emath'} <= set(sys.modules) and 'numpy' not in sys.modules; assert sw.insert is sw.insert"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_modules_that_are_imported_when_they_are_asked_for():
    program = (
        "import sys\nimport stridewise as sw\n"
        "late = {f'stridewise.{name}' for name in ('dppy', 'fft', 'kernel_api', '_kernel', 'lib', 'linalg', 'program')} | {'ctypes', 'enum'}\n"
        "assert not late & set(sys.modules) and 'linalg' in dir(sw), late & set(sys.modules)\n"
        "from stridewise import *\n"
        "assert linalg is sw.linalg and kernel is kernel_api.kernel and lib.stride_tricks and late <= set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


LOGARITHMS = {
    "triangle": [[1.0, 1.0], [0.0, 4.0]], "jordan": [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]], "symmetric": [[2.0, 1.0], [1.0, 3.0]],
    "hermitian": [[2.0, 1j], [-1j, 3.0]], "rotation": [[0.0, -1.0], [1.0, 0.0]], "negative": [[-1.0, 2.0], [0.0, 3.0]], "indefinite": [[1.0, 2.0], [2.0, 1.0]],
    "large": [[1e4, 3.0], [1.0, 0.1]], "complex": [[1 + 2j, 0.5], [0.25j, -1 + 1j]], "one": [[5.0]], "identity": [[1.0, 0.0], [0.0, 1.0]], "integers": [[2, 1], [0, 3]],
    "near the axis": [[-1.0, -0.05], [0.05, -1.0]],
}  # fmt: skip


@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithms_of_matrices(name):
    scipy = pytest.importorskip("scipy.linalg")
    matrix = np.array(LOGARITHMS[name])
    found = sw.linalg.logm(LOGARITHMS[name])
    expected = scipy.logm(matrix)
    np.testing.assert_allclose(sw.asnumpy(found), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    # The exponential is the way back.
    np.testing.assert_allclose(sw.asnumpy(sw.linalg.expm(found)), matrix, rtol=1e-8, atol=1e-9 * np.abs(matrix).max())
    if matrix.dtype == "f8":
        narrow = sw.linalg.logm(matrix.astype("f4"))
        assert narrow.dtype == (sw.complex64 if np.iscomplexobj(expected) else sw.float32)


def test_logarithms_of_stacks_and_none():
    stack = np.array([LOGARITHMS["triangle"], LOGARITHMS["symmetric"], LOGARITHMS["rotation"]])
    found = sw.asnumpy(sw.linalg.logm(stack))
    for one, matrix in zip(found, stack):
        np.testing.assert_allclose(one, sw.asnumpy(sw.linalg.logm(matrix)), rtol=1e-9, atol=1e-12)
    assert sw.linalg.logm(sw.zeros((0, 0))).shape == (0, 0)
    for singular in ([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]], [[0.0]]):
        with pytest.raises(sw.linalg.LinAlgError, match="eigenvalue of zero"):
            sw.linalg.logm(singular)
    with pytest.raises(sw.linalg.LinAlgError, match="eigenvectors"):
        sw.linalg.logm([[-1.0, 1.0], [0.0, -1.0]])
    with pytest.raises(ValueError, match="square"):
        sw.linalg.logm([[1.0, 2.0]])
