"""Kernels that break a rule: each is refused where it does, and checked mode names the place."""

import textwrap

import numpy as np
import pytest

import stridewise as sw
import stridewise.dppy as dppy
from stridewise.kernel_api import (
    AtomicRef, LocalAccessor, NdRange, PrivateArray, Range, call_kernel, device_func, group_barrier, reduce_over_group,
)  # fmt: skip

TABLE = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype=np.int32)


@device_func
def inner(x, scale=2):
    return x * scale, x


#: Kernels, each with the rule that it breaks, where (from the caret of the line `    ^^^`), and what the message says.
ILL = [
    ("definite-assignment", "`x` is read", """
        def f(item, a):
            if a[0] > 1:
                x = 1
            a[0] = x
                   ^"""),
    ("definite-assignment", "`t` is read", """
        def f(item, a):
            for k in range(3):
                a[k] = t
                       ^
                t = a[k]"""),
    ("names", "`nonsense` is not defined", """
        def f(item, a):
            a[0] = 1 + nonsense
                       ^^^^^^^^"""),
    ("names", "`sorted` cannot be called", """
        def f(item, a):
            a[0] = sorted(a)
                   ^^^^^^^^^"""),
    ("names", "no `get_local_id`", """
        def f(item, a):
            a[item.get_local_id(0)] = 1
              ^^^^^^^^^^^^^^^^^"""),
    ("names", "the array `a` has no `sum`", """
        def f(item, a):
            a[0] = a.sum()
                   ^^^^^"""),
    ("index-count", "addressed by 2 indices", """
        def f(item, a):
            a[0, 1] = 1
            ^^^^^^^"""),
    ("index-count", "`b` has 2 dimensions, and is written by 1 index", """
        def f(item, a, b):
            b[0] = a[0]
            ^^^^"""),
    ("index-count", "axis 1 of 1 dimensions", """
        def f(item, a):
            a[0] = item.get_id(1)
                   ^^^^^^^^^^^^^^"""),
    ("index-count", "axis 3 of 1 dimensions", """
        def f(item, a):
            a[0] = a.shape[3]
                           ^"""),
    ("types", "addressed by a number (float64)", """
        def f(item, a):
            a[a[0] * 2] = 1
            ^^^^^^^^^^^"""),
    ("types", "is the array `a`", """
        def f(item, a):
            a[0] = 2 * a
                   ^^^^^"""),
    ("types", "a loop over a number (float64)", """
        def f(item, a):
            for k in range(a[0]):
                           ^^^^
                a[k] = 1"""),
    ("types", "a kernel that returns something", """
        def f(item, a):
            return a[0]
            ^^^^^^^^^^^"""),
    ("types", "`c` is the array `a`", """
        def f(item, a):
            c = a
            if a[0] > 1:
                c = 3
                    ^
            a[0] = c"""),
    ("types", "ZeroDivisionError", """
        def f(item, a):
            a[0] = 1 / 0
                   ^^^^^"""),
    ("types", "`bitwise_and` is not defined for float64", """
        def f(item, a):
            a[0] = a[0] & 1
                   ^^^^^^^^"""),
    ("types", "1+2i", """
        def f(item, a):
            a[0] = 1 + 2j
            ^^^^"""),
    ("types", "for a group", """
        def f(item, a):
            group_barrier(item)
            ^^^^^^^^^^^^^^^^^^^"""),
    ("limit", "more than 1024 bits", """
        def f(item, a):
            a[0] = 10 ** 10 ** 10
                   ^^^^^^^^^^^^^^"""),
    ("types", "an Item is indexed", """
        def f(b, a):
            b[0] = 1
            ^"""),
    ("limit", "more than 64 bits", """
        def f(item, a):
            a[0] = 2**70
                   ^^^^^"""),
    ("types", "as a condition", """
        def f(item, a):
            a[0] = 1 if TABLE else 2
                        ^^^^^"""),
    ("names", "cannot be called", """
        def f(item, a):
            a[0] = TABLE(3)
                   ^^^^^^^^"""),
    ("structure", "`With` is not for kernels", """
        def f(item, a):
            with a:
            ^^^^^^^
                pass"""),
    ("structure", "`ListComp` is not for kernels", """
        def f(item, a):
            b = [k for k in range(3)]
                ^^^^^^^^^^^^^^^^^^^^^"""),
    ("structure", "a slice", """
        def f(item, a):
            a[1:3] = 1
              ^^^"""),
    ("structure", "an `else` of a loop", """
        def f(item, a):
            for k in range(3):
                pass
            else:
                a[0] = 1
                ^^^^^^^^"""),
    ("structure", "something else than `range`", """
        def f(item, a):
            for x in a:
                     ^
                pass"""),
    ("structure", "`break` outside of a loop", """
        def f(item, a):
            break
            ^^^^^"""),
    ("structure", "`continue` outside of a loop", """
        def f(item, a):
            for k in range(3):
                pass
            if a[0] > 1:
                continue
                ^^^^^^^^"""),
    ("structure", "`print`", """
        def f(item, a):
            print(a[0])
            ^^^^^^^^^^^"""),
    ("structure", "a LocalAccessor that is made in a kernel", """
        def f(item, a):
            tile = LocalAccessor(3, a.dtype)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("structure", "`nothing` is a kernel", """
        def f(item, a):
            nothing(item, a)
            ^^^^^^^^^^^^^^^^"""),
    ("arguments", "called with other arguments", """
        def f(item, a):
            a[0] = inner(1, 2, 3)[0]
                   ^^^^^^^^^^^^^^"""),
    ("arguments", "other arguments than it takes", """
        def f(item, a):
            p = PrivateArray(3)
                ^^^^^^^^^^^^^^^"""),
    ("arguments", "takes (item, a, b, c, d), and is launched with 2 arguments", """
        def f(item, a, b, c, d):
        ^^^^^^^^^^^^^^^^^^^^^^^^
            pass"""),
    ("read-only", "`TABLE` is written", """
        def f(item, a):
            TABLE[0] = 1
            ^^^^^^^^"""),
]  # fmt: skip


def split(text):
    """A kernel without its carets, and where they point: line, column and length, from 1 on."""
    lines, place = [], None
    for line in textwrap.dedent(text).strip("\n").split("\n"):
        if line.strip() and set(line.strip()) == {"^"}:
            place = (len(lines), line.index("^") + 1, line.count("^"))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n", place


@pytest.mark.parametrize("rule, message, text", ILL, ids=[f"{rule}: {message}" for rule, message, _ in ILL])
def test_ill_formed_kernels_are_refused_where_they_are(rule, message, text):
    nothing = sw.kernel("def nothing(item, a): pass")
    text, (line, column, length) = split(text)
    k = sw.kernel(text)
    arrays = [sw.zeros(4)] + ([sw.zeros((2, 2))] if "a, b" in text else [])
    with pytest.raises(sw.KernelError) as raised:
        call_kernel(k, Range(4), *arrays)
    error = raised.value
    assert isinstance(error, ValueError)
    assert (error.rule, error.lineno, error.column, error.length) == (rule, line, column, length), str(error)
    assert message in error.message and error.help and error.filename == k._source.file
    shown = str(error).split("\n")
    assert shown[0] == f"{error.message} [{rule}]"
    source = text.split("\n")[line - 1]
    at = next(i for i, row in enumerate(shown) if row.strip() == source.strip())
    assert shown[at + 1].strip() == "^" * length
    assert shown[at + 1].index("^") - shown[at].index(source.strip()) == column - 1 - (len(source) - len(source.lstrip()))
    assert nothing._known == 0 and k._known == 0


#: The same for launches over groups.
ILL_GROUPS = [
    ("uniform-control", "a barrier that some items of a group may not come to", """
        def f(item, a):
            if item.get_local_id(0) > 1:
                group_barrier(item.get_group())
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("uniform-control", "a collective that some items", """
        def f(item, a):
            i = item.get_global_id(0)
            if a[i] > 1:
                return
            a[i] = reduce_over_group(item.get_group(), 1)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("types", "no fold by `bitwise_and` for float64", """
        def f(item, a):
            a[0] = reduce_over_group(item.get_group(), a[0], "bitwise_and")
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("types", "for what folds", """
        def f(item, a):
            a[0] = reduce_over_group(item.get_group(), a[0], "subtract")
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("types", "no atomic `and` on float64", """
        def f(item, a):
            AtomicRef(a, 0).fetch_and(1)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("types", "extents", """
        def f(item, a):
            p = PrivateArray(len(a), a.dtype)
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("limit", "1048576", """
        def f(item, a):
            p = PrivateArray((2000, 2000), a.dtype)
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
]  # fmt: skip


@pytest.mark.parametrize("rule, message, text", ILL_GROUPS, ids=[f"{rule}: {message}" for rule, message, _ in ILL_GROUPS])
def test_ill_formed_kernels_of_groups(rule, message, text):
    text, place = split(text)
    with pytest.raises(sw.KernelError) as raised:
        call_kernel(sw.kernel(text), NdRange(4, 2), sw.zeros(4))
    error = raised.value
    found = message in error.message or message in error.help
    assert (error.rule, (error.lineno, error.column, error.length)) == (rule, place) and found, str(error)


@device_func
def endless(x):
    return endless(x) + 1


def first(x):
    return x


@device_func
def fails(x):
    return x + missing  # noqa: F821


def test_errors_in_files_and_in_functions_that_are_called():
    with pytest.raises(sw.KernelError, match="`endless` calls itself") as raised:

        @sw.kernel
        def recursive(item, a):
            a[0] = endless(a[0])

    assert raised.value.rule == "recursion" and "note: `endless` is called here" in str(raised.value)

    @sw.kernel
    def undecorated(item, a):
        a[0] = first(a[0])

    with pytest.raises(sw.KernelError, match="device_func"):
        call_kernel(undecorated, Range(1), sw.zeros(1))

    @sw.kernel
    def outer(item, a):
        a[0] = fails(a[0])

    with pytest.raises(sw.KernelError, match="`missing` is not defined") as raised:
        call_kernel(outer, Range(1), sw.zeros(1))
    error = raised.value
    assert error.filename == __file__
    lines = open(__file__, encoding="utf-8").read().split("\n")
    assert lines[error.lineno - 1][error.column - 1 :].startswith("missing")
    assert "a[0] = fails(a[0])" in str(error) and f'File "{__file__}", line {error.lineno}' in str(error)


def test_expressions_and_blocks_that_are_too_deep():
    deep = "def f(item, a):\n  a[0] = " + " + ".join(["a[0]"] * 2000)
    blocks = "def f(item, a):\n" + "".join("  " * (k + 1) + f"if a[{k % 4}] > 0:\n" for k in range(90)) + "  " * 91 + "pass\n"
    many = "def f(item, a):\n  if a[0] > 0: pass\n" + "  elif a[0] > 1: pass\n" * 200
    call_kernel(sw.kernel(deep), Range(4), sw.zeros(4))
    nested = "def f(item, a):\n  a[0] = " + "-" * 1500 + "a[0]"
    for text in (nested, many):
        with pytest.raises(sw.KernelError) as raised:
            call_kernel(sw.kernel(text), Range(4), sw.zeros(4))
        assert raised.value.rule == "limit"
    call_kernel(sw.kernel(blocks), Range(4), sw.zeros(4))


def test_kernels_of_dppy_take_no_item():
    k = dppy.kernel("def f(a, b): a[dppy.get_global_id(0)] = b")
    with pytest.raises(sw.KernelError, match=r"takes \(a, b\), and is launched with 1 argument "):
        k[4, dppy.DEFAULT_LOCAL_SIZE](sw.zeros(4))


def test_columns_are_characters():
    with pytest.raises(sw.KernelError) as raised:
        call_kernel(sw.kernel("def f(item, a):\n  größe = 'äöü'; a[0] = ünbekannt"), Range(1), sw.zeros(1))
    assert (raised.value.column, raised.value.length) == (25, 9)


def test_what_is_no_source():
    for text, rule in [("x = 3", "syntax"), ("def f(:", "syntax"), ("def f(a):\0 pass", "syntax"), ("def f(a): pass\ndef g(a): pass", "syntax"),
                       ("def f(*a): pass", "structure"), ("def f(a, *, b): pass", "structure")]:  # fmt: skip
        with pytest.raises(sw.KernelError) as raised:
            sw.kernel(text)
        assert raised.value.rule == rule
    with pytest.raises(sw.KernelError, match="give it as a string"):
        sw.kernel(eval("lambda item: None"))
    with pytest.raises(TypeError, match="above a `def`"):
        sw.kernel(3)
    namespace = {}
    exec("def made(item, a): a[0] = 1", namespace)
    with pytest.raises(sw.KernelError, match="kernel\\("):
        sw.kernel(namespace["made"])


# Checked mode.


CHECKS = [
    ("out-of-bounds", "def f(item, a):\n  i = item.get_global_id(0)\n  a[i + 1] = 1\n", (3, 3, 12)),
    ("race", "def f(item, a):\n  a[0] += item.get_global_id(0)\n", (2, 3, 4)),
    ("assertion", "def f(item, a):\n  i = item.get_global_id(0)\n  assert i < 2, 'i is large'\n", (3, 10, 5)),
    ("uninitialised-local", "def f(item, a):\n  t = dppy.local.array(4, a.dtype)\n  a[item.get_global_id(0)] = t[0]\n", (3, 30, 4)),
]


@pytest.mark.parametrize("rule, text, place", CHECKS, ids=[check[0] for check in CHECKS])
def test_checked_mode_names_the_place(rule, text, place):
    k = sw.kernel(text)
    event = k.launch(NdRange(4, 4), sw.zeros(4, device="host"), check=True)
    with pytest.raises(sw.KernelError) as raised:
        event.wait()
    error = raised.value
    assert error.rule == rule, str(error)
    assert error.lineno == place[0], str(error)
    assert "^" in str(error)
    if rule != "assertion":
        call_kernel(k, NdRange(4, 4), sw.zeros(4, device="host"))
