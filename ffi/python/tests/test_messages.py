"""What errors say of arguments of functions that are written in Python: the argument's name, what was found, what was expected."""

import pytest

import stridewise as sw


@pytest.mark.parametrize(
    ("call", "error", "start"),
    [
        (lambda x: sw.bartlett("a"), TypeError, "`count` is 'a'; expected an integer"),
        (lambda x: sw.array_split(x, 2, axis=7), IndexError, "`x` is an array of float64 of shape (3,), `sections` is 2, `axis` is 7"),
        (lambda x: sw.linalg.multi_dot(3), TypeError, "`arrays` is 3; expected a sequence of arrays"),
    ],
)
def test_a_message(call, error, start):
    with pytest.raises(error) as found:
        call(sw.arange(3.0))
    assert str(found.value).startswith(start), str(found.value)
    # It is Python's own class, or one of ours.
    assert type(found.value).__name__ == error.__name__


def test_errors_of_the_caller_stay():
    def key(*_):
        raise TypeError("mine")

    class Broken:
        __array__ = __iter__ = __len__ = __index__ = key

    for call in (sw.vstack, sw.bartlett, sw.asarray, sw.linalg.multi_dot):
        with pytest.raises(TypeError) as found:
            call(Broken())
        assert "mine" in str(found.value) or "`" in str(found.value)
