"""NumPy's own tests on our module: `python numpy_suite.py [-v] [FILE …]`, files below the folder of NumPy; without any, those of `FILES`.

Our functions and arrays take the place of NumPy's in the namespace of a file of tests, its classes and its parameters; dtypes, scalars
and what compares stay NumPy's. A call with parameters of NumPy's that our function has not is one of NumPy's function on our arrays, which
leads to ours or to an error. A test has passed if our functions computed in it, and is not applicable if it asks for what arrays here do
not have, by a rule of `NAMES`, `KINDS` and `SAID`, or calls nothing of ours. -v names what failed, and why.
"""

import collections
import functools
import inspect
import linecache
import pathlib
import re
import sys
import types

import numpy as np
import pytest

import stridewise as sw

FILES = (
    "lib/tests/test_function_base.py", "lib/tests/test_shape_base.py", "_core/tests/test_shape_base.py", "_core/tests/test_numeric.py",
    "lib/tests/test_arraysetops.py", "lib/tests/test_nanfunctions.py", "lib/tests/test_index_tricks.py", "linalg/tests/test_linalg.py",
    "random/tests/test_random.py", "lib/tests/test_polynomial.py", "lib/tests/test_histograms.py",
)  # fmt: skip
#: Names of NumPy's that make a test not applicable, by what they are of.
NAMES = {
    "object dtype": "object_ frompyfunc", "strings": "str_ bytes_ char character strings flexible", "masked arrays": "ma",
    "dates": "datetime64 timedelta64 isnat datetime_data is_busday busday_count busday_offset", "matrix": "matrix asmatrix bmat mat",
    "structures": "void rec recarray record", "long double": "longdouble clongdouble float128 complex256", "poly1d": "poly1d polynomial",
    "NumPy's internals": "_core core lib nditer nested_iters broadcast flatiter ufunc setbufsize getbufsize seterrcall geterrcall array_repr "
    "array_str array2string format_float_positional format_float_scientific info _NoValue test fromregex",
}  # fmt: skip
NAMES = {name: rule for rule, names in NAMES.items() for name in names.split()}
#: Kinds of NumPy's dtypes likewise; and what an error says that comes of a method, or of a class made in a test.
KINDS = {"O": "object dtype", "S": "strings", "U": "strings", "T": "strings", "M": "dates", "m": "dates", "V": "structures"}
SAID = {
    r"not an acceptable base type|`dtype` is <class 'numpy\.(nd|rec|mem)?(array|map|matrix)'": "subclasses of arrays",
    r'`dtype` is ">|`new_order` is ': "byte order", r"an element of type (str|bytes)": "strings",
    r"has no attribute '(metadata|dtypes|lapack_lite|__array_wrap__)'|__array__ method not producing": "NumPy's internals",
    r"`dtype` is (<class '(object|numpy\.object_|decimal|fractions)|\"\|?O|dtype\('O)": "object dtype",
    r"an element of type (NoneType|set|dict|object|Decimal|Fraction)": "object dtype",
    r"`dtype` is \"(<?[mM]8|datetime|timedelta)": "dates",
    r"DID NOT WARN": "warnings, which arrays here do not give",
    r"`dtype` is (<class '(str|bytes|numpy\.(str_|bytes_))|\"[<>|]?[SUa]\d*\")": "strings",
    r"`dtype` is (\"([gG]|<f16|<c32|longdouble)\"|<class 'numpy.c?longdouble)": "long double",
    r"`dtype` is (\[|\"\w+,|\"\|V)": "structures",
}  # fmt: skip
#: NumPy's names that are its own here, too: what says what is, and computes nothing.
KEPT = frozenset("dtype errstate exceptions testing finfo iinfo newaxis inf nan pi e typecodes sctypeDict ScalarType bool bool_".split())
MODULES = {np: sw, np.linalg: sw.linalg, np.random: sw.random, np.fft: sw.fft}
HOMES = {id(value): (part, name) for part in reversed(MODULES) for name, value in vars(part).items() if not name.startswith("_")}
calls = 0
signature = functools.cache(inspect.signature)


def inapplicable(rule):
    pytest.skip(rule)


def check(value):
    """Leaves a test whose argument is nothing of arrays here."""
    for each in value[:50] if isinstance(value, (list, tuple)) else ():
        check(each)
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        inapplicable("subclasses of arrays")
    if type(value).__name__ in ("Decimal", "Fraction") or value is object:
        inapplicable("object dtype")
    dtype = value if isinstance(value, (np.dtype, type)) else getattr(value, "dtype", None)
    if isinstance(value, str) and re.fullmatch(r"[<>=|]?([OSUVTMm]\d*(\[\w+\])?|datetime64.*|timedelta64.*|object)", value):
        dtype = value
    if dtype is None or isinstance(dtype, sw.dtype) or dtype in (int, float, complex, bool):
        return
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        return
    if dtype.kind in KINDS and not (isinstance(value, type) and dtype.kind == "O"):
        inapplicable(KINDS[dtype.kind])
    if dtype.char in "gG" or not dtype.isnative:
        inapplicable("long double" if dtype.char in "gG" else "byte order")


def has_ours(args, kwargs):
    values = [each for value in (*args, *kwargs.values()) for each in (value if isinstance(value, (list, tuple)) else (value,))]
    return any(isinstance(value, sw.usm_ndarray) for value in values)


def fits(function, args, kwargs):
    try:
        return signature(function).bind(*args, **kwargs)
    except TypeError:
        return None


@functools.cache
def counted(function, theirs=None):
    """One of our functions, which counts its calls and takes our arrays in the place of NumPy's; without it, NumPy's on our arrays."""

    def call(*args, **kwargs):
        global calls
        for value in (*args, *kwargs.values()):
            check(value)
        calls += 1
        args, kwargs = tuple(map(ours, args)), {key: ours(value) for key, value in kwargs.items()}
        if function is not None and fits(function, args, kwargs):
            return function(*args, **kwargs)
        # Of lists and numbers alone, the first is an array of ours, so that NumPy asks it.
        if not has_ours(args, kwargs) and args and isinstance(args[0], (list, tuple, int, float, np.generic)):
            args = (sw.asarray(args[0]), *args[1:])
        if not has_ours(args, kwargs):
            kwargs = {key: sw.asarray(value) if key in ("a", "x", "ary", "arr") else value for key, value in kwargs.items()}
        asks = isinstance(theirs, np.ufunc) or hasattr(theirs, "_implementation") or isinstance(getattr(theirs, "__self__", None), np.ufunc)
        return theirs(*args, **kwargs) if asks and has_ours(args, kwargs) else function(*args, **kwargs)

    return functools.wraps(function or theirs)(call)


class Ours(types.ModuleType):
    """What stands for a module of NumPy's."""

    def __init__(self, theirs):
        super().__init__(theirs.__name__)
        self._theirs = theirs

    def __getattr__(self, name):
        global calls
        if name in NAMES:
            inapplicable(NAMES[name])
        theirs = getattr(self._theirs, name)
        if name in KEPT or isinstance(theirs, type) and issubclass(theirs, (np.generic, Exception)):
            return theirs
        if id(theirs) in STANDS:
            return STANDS[id(theirs)]
        found = getattr(MODULES[self._theirs], name)
        if isinstance(found, types.FunctionType | types.BuiltinFunctionType):
            return Universal(found, theirs) if isinstance(theirs, np.ufunc) else counted(found, theirs)
        calls += found is not sw.ndarray
        return found


class Universal:
    """What stands for a ufunc: our function, and NumPy's methods, which ask our arrays."""

    def __init__(self, found, theirs):
        self._call, self._theirs, self.__name__ = counted(found, theirs), theirs, theirs.__name__

    def __call__(self, *args, **kwargs):
        return self._call(*args, **kwargs)

    def __getattr__(self, name):
        found = getattr(self._theirs, name)
        return counted(None, found) if callable(found) else found


STANDS = {id(module): Ours(module) for module in MODULES}


def ours(value):
    """What stands for a value in a test: our array for NumPy's, our function for one of its names."""
    if type(value) is np.ndarray and value.dtype.kind in "biufc" and value.dtype.isnative and value.dtype.char not in "gG":
        return sw.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(map(ours, value))
    if type(value) is dict:
        return {key: ours(each) for key, each in value.items()}
    if isinstance(value, functools.partial):
        return functools.partial(ours(value.func), *value.args, **value.keywords)
    part, name = HOMES.get(id(value), (None, ""))
    if id(value) in STANDS or part is None or name in KEPT or isinstance(value, (np.generic, int, float, type(None), np.dtype)):
        return STANDS.get(id(value), value)
    if isinstance(value, type) and (issubclass(value, (np.generic, Exception)) or value in (float, int, complex)):
        return value
    return (lambda *_, **__: inapplicable(NAMES[name])) if name in NAMES else getattr(STANDS[id(part)], name, value)


def seen(value):
    """An array of ours as NumPy's, for what compares."""
    if isinstance(value, sw.usm_ndarray):
        return sw.asnumpy(value)
    return type(value)(map(seen, value)) if type(value) in (list, tuple) else value


class Wordless(types.ModuleType):
    """What stands for pytest: errors and warnings are compared by their classes, for their words are our own."""

    def __getattr__(self, name):
        found = getattr(pytest, name)
        return (lambda *args, match=None, **kwargs: found(*args, **kwargs)) if name in ("raises", "warns") else found


def stand(name, value):
    """What stands for a value of this name in a file of tests or a class."""
    home = getattr(value, "__module__", None) or ""
    if value is pytest:
        return Wordless("pytest")
    if name == "assert_raises_regex":
        return lambda error, _, *args, **kwargs: np.testing.assert_raises(error, *args, **kwargs)
    if not isinstance(value, types.FunctionType) or not home.startswith("numpy.") or name == "normalize_axis_tuple":
        return ours(value)
    if home.startswith("numpy.testing"):
        compares = "assert_" in name and "raises" not in name and "warns" not in name
        return functools.wraps(value)(lambda *args, **kwargs: value(*map(seen, args), **kwargs)) if compares else value
    return (lambda *_, **__: inapplicable("NumPy's internals")) if "._" in home else ours(value)


def put_in(namespace, module):
    """Puts ours in the place of NumPy's names of a file of tests, or of a class."""
    for name, value in list(vars(namespace).items()):
        if isinstance(value, type) and value.__module__ == module and value is not namespace:
            put_in(value, module)
        elif not name.startswith("__") and name != "pytestmark" and (found := stand(name, value)) is not value:
            plain = isinstance(namespace, type) and isinstance(found, types.FunctionType)
            setattr(namespace, name, staticmethod(found) if plain else found)


class Suite:
    """A plugin of pytest's that puts ours in, and counts."""

    def __init__(self):
        self.counts, self.causes, self.rules = collections.Counter(), [], collections.Counter()

    def pytest_addoption(self, parser):
        # Else each failure costs a second, in which its file is parsed.
        parser.addoption("--tb", dest="tbstyle", default="native")

    def pytest_collection_modifyitems(self, items):
        # A list of 16 GiB.
        items[:] = [item for item in items if item.name != "test_huge_list_error"]
        for module in {item.module for item in items}:
            put_in(module, module.__name__)
        for item in items:
            if hasattr(item, "callspec"):
                item.callspec.params.update({key: ours(value) for key, value in item.callspec.params.items()})

    def pytest_runtest_setup(self, item):
        global calls
        calls = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if report.when == "teardown" or report.when == "setup" and report.passed:
            return report
        error = call.excinfo and call.excinfo.value
        if report.passed:
            rule = "" if calls else "calls nothing of ours"
        elif report.skipped:
            rule = "fails with NumPy" if hasattr(report, "wasxfail") else str(error)
        elif "random" in item.path.parts and str(error).lstrip().startswith("Arrays are not"):
            rule = "NumPy's stream of random numbers"
        else:
            rule = next((rule for said, rule in SAID.items() if re.search(said, str(error))), "")
        kind = "not applicable" if rule else "passed" if report.passed else "failed"
        self.counts[kind] += 1
        self.rules[rule] += bool(rule)
        if kind == "failed":
            lines = [line for line in str(error).splitlines() if line.strip()] or [""]
            said = " ".join(lines[-2:] if "Traceback" in str(error) else lines[:3])[:220]
            where = [linecache.getline(str(item.path), entry.lineno + 1).strip() for entry in call.excinfo.traceback if entry.path == item.path]
            name = item.nodeid.partition("::")[2]
            self.causes.append(f"  {name}\n    {type(error).__name__}: {said}\n    at {where[-1] if where else ''}")
        return report


def main(arguments):
    for file in [each for each in arguments if each != "-v"] or FILES:
        suite = Suite()
        path = pathlib.Path(np.__file__).parent / file
        pytest.main(["-p", "no:cacheprovider", "-p", "no:terminal", str(path)], plugins=[suite])
        print(f"{file}: " + ", ".join(f"{suite.counts[kind]} {kind}" for kind in ("passed", "failed", "not applicable")))
        print(*(f"    {number} not applicable: {rule}" for rule, number in suite.rules.most_common() if number), sep="\n", flush=True)
        if "-v" in arguments:
            print(*suite.causes, sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
