"""What several threads do with one array: set its shape and flags, compute with it, go through it."""

import sys
import threading

import pytest

import stridewise as sw

N = 1 << 16
SHAPES = [(N,), (N // 4, 4), (4, N // 4), (2, 2, N // 4), (-1, 16)]


@pytest.fixture(autouse=True)
def many_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*tasks):
    """Runs tasks at once, and raises what one of them raised."""
    begin, failures = threading.Barrier(len(tasks)), []

    def run(task):
        begin.wait()
        try:
            task()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_shapes_are_set_while_others_set_and_compute():
    x = sw.ones(N, dtype="i4")
    shapes = {(N,), (N // 4, 4), (4, N // 4), (2, 2, N // 4), (N // 16, 16)}

    def set_shapes():
        for step in range(400):
            x.shape = SHAPES[step % len(SHAPES)]

    def compute():
        for _ in range(100):
            assert int(sw.sum(x)) == N
            y = x + x
            assert y.shape in shapes and int(sw.sum(y)) == 2 * N
            assert x.shape in shapes and x.size == N and len(x) in {shape[0] for shape in shapes}

    together(set_shapes, compute, set_shapes, compute)
    x.shape = (4, -1)
    assert x.shape == (4, N // 4)


def test_flags_and_shapes_are_both_set():
    for round in range(200):
        x = sw.ones(N, dtype="i1")

        def set_shape(x=x):
            x.shape = (2, -1)

        def set_flag(x=x):
            x.flags.writable = False

        together(set_shape, set_flag)
        assert x.shape == (2, N // 2) and not x.flags.writable, round


def test_a_flag_that_is_set_stops_what_comes_later():
    x = sw.zeros(N, dtype="i4")

    def write():
        for step in range(300):
            try:
                x[...] = step
            except ValueError as error:
                assert "read-only" in str(error)

    def freeze():
        for step in range(600):
            x.flags.writable = step % 2 == 0

    together(write, freeze)
    x.flags.writable = False
    with pytest.raises(ValueError):
        x[...] = 1


def test_one_iterator_gives_each_part_once():
    x = sw.arange(3000)
    parts, found = iter(x), [[], []]
    together(*(lambda mine=mine: mine.extend(parts) for mine in found))
    assert sorted(int(part) for mine in found for part in mine) == list(range(3000))
    assert next(parts, None) is None
