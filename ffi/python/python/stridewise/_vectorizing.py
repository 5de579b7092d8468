"""Functions of numbers, or of parts of arrays, as functions of arrays. Imported when it is asked for."""

import itertools as _itertools
import re as _re

import stridewise as _sw

from ._operands import _array, _queue

__all__ = ["vectorize"]

_PART = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = _re.compile(rf"({_PART}(?:,{_PART})*)->({_PART}(?:,{_PART})*)")


def _read(signature):
    """The names of the dimensions of each argument, and of each result."""
    found = _SIGNATURE.fullmatch(_re.sub(r"\s+", "", signature)) if isinstance(signature, str) else None
    if found is None:
        raise ValueError(
            f"invalid value: `signature` is {signature!r}; expected the dimensions of each argument and of each result in parentheses, as "
            "'(m,n),(n)->(m)'"
        )
    return [[_re.findall(r"\w+", part) for part in _re.findall(_PART, side)] for side in found.groups()]


def _measure(sizes, names, shape, what):
    """Notes the extents of named dimensions, the last ones of a shape, which have one extent each."""
    if len(shape) < len(names):
        raise ValueError(f"shape mismatch: {what} is of shape {shape}; expected the dimensions {', '.join(names)} of `signature` at its end")
    for name, extent in zip(names, shape[len(shape) - len(names) :]):
        if sizes.setdefault(name, extent) != extent:
            raise ValueError(f"shape mismatch: {what} is of shape {shape}; expected {sizes[name]} for its dimension {name} of `signature`, as before")


class vectorize:
    """A function of numbers as one of arrays, which are broadcast: it is called in Python for each element. With a signature, it is called
    for each part of the arrays that the signature says.

    pyfunc: the function; without one, what is made is a decorator. otypes: the dtypes of its results, as a sequence or a text of codes; None: of the
    first result. excluded: positions and names of arguments that are handed over as they are. signature: the last dimensions of each
    argument and result, as "(m,n),(n)->(m)"; what has none is a number. cache is taken and changes nothing.

    >>> sw.vectorize(lambda a, b: a if a > b else b)(sw.asarray([1, 5]), 3).tolist()
    [3, 5]
    >>> sw.vectorize(sw.sum, signature="(n)->()")(sw.asarray([[1, 2], [3, 4]])).tolist()
    [3, 7]
    """

    def __init__(self, pyfunc=None, otypes=None, doc=None, excluded=None, cache=False, signature=None):
        if pyfunc is not None and not callable(pyfunc):
            raise TypeError(f"`pyfunc` is {pyfunc!r}; expected a function; help: a decorator has its arguments by name")
        if not isinstance(excluded, (set, frozenset, list, tuple, type(None))):
            raise TypeError(f"`excluded` is {excluded!r}; expected a set of positions and names of arguments")
        self.pyfunc, self.otypes, self.excluded, self.cache, self.signature = pyfunc, otypes, set(excluded or ()), cache, signature
        self._dimensions = None if signature is None else _read(signature)
        self._doc = doc
        self._name()

    def _name(self):
        self.__doc__ = self.pyfunc.__doc__ if self._doc is None and self.pyfunc is not None else self._doc
        self.__name__ = getattr(self.pyfunc, "__name__", "vectorize")

    def __call__(self, *args, **kwargs):
        if self.pyfunc is None:
            if len(args) != 1 or kwargs or not callable(args[0]):
                raise TypeError(f"`pyfunc` is {args[0] if args else None!r}; expected a function, which the decorator is written above")
            self.pyfunc = args[0]
            self._name()
            return self
        names = [key for key in kwargs if key not in self.excluded]
        places = [place for place in range(len(args)) if place not in self.excluded]
        queue = _queue([*args, *kwargs.values()])
        arrays = [_array(x, queue) for x in [*(args[place] for place in places), *(kwargs[name] for name in names)]]

        def call(values):
            given, named = list(args), dict(kwargs)
            for place, value in zip(places, values):
                given[place] = value
            named.update(zip(names, values[len(places) :]))
            return self.pyfunc(*given, **named)

        dtypes = None if self.otypes is None else [_sw.dtype(dtype) for dtype in self.otypes]
        if self._dimensions is not None:
            return self._by_parts(call, arrays, dtypes, queue)
        if not arrays:
            return self.pyfunc(*args, **kwargs)
        return self._by_elements(call, arrays, dtypes, queue)

    def _by_elements(self, call, arrays, dtypes, queue):
        shape = _sw.broadcast_shapes(*(x.shape for x in arrays))
        lists = [_sw.reshape(_sw.broadcast_to(x, shape), -1).tolist() for x in arrays]
        found = [call(values) for values in zip(*lists)]
        if not found and dtypes is None:
            raise ValueError("invalid value: `otypes` is None for arrays of no elements; expected the dtypes of the results")
        several = isinstance(found[0], tuple) if found else len(dtypes) > 1
        columns = list(zip(*found)) if several and found else [found] * (len(dtypes) if several else 1)
        made = []
        for place, column in enumerate(columns):
            column = [x.tolist() if hasattr(x, "tolist") else x for x in column]
            first = _sw.asarray(column[0], sycl_queue=queue).dtype if dtypes is None else dtypes[place]
            values = _sw.asarray(column, sycl_queue=queue) if column else _sw.zeros(0, sycl_queue=queue)
            made.append(_sw.reshape(_sw.astype(values, first, copy=False), shape))
        return tuple(made) if several else made[0]

    def _by_parts(self, call, arrays, dtypes, queue):
        inputs, outputs = self._dimensions
        if len(arrays) != len(inputs):
            raise TypeError(f"`signature` is {self.signature!r} beside {len(arrays)} arguments; expected {len(inputs)} of them")
        sizes, many = {}, []
        for place, (x, names) in enumerate(zip(arrays, inputs)):
            _measure(sizes, names, x.shape, f"argument {place}")
            many.append(x.shape[: x.ndim - len(names)])
        many = _sw.broadcast_shapes(*many)
        arrays = [_sw.broadcast_to(x, many + x.shape[x.ndim - len(names) :]) for x, names in zip(arrays, inputs)]
        made = None
        for place in _itertools.product(*map(range, many)):
            # What has no dimensions is a number, as without a signature.
            parts = call([x[place] if names else x[place].tolist() for x, names in zip(arrays, inputs)])
            parts = parts if isinstance(parts, tuple) else (parts,)
            if len(parts) != len(outputs):
                raise ValueError(f"invalid value: `pyfunc` has {len(parts)} results; expected {len(outputs)}, as `signature` is {self.signature!r}")
            parts = [_array(part, queue) for part in parts]
            if made is None:
                for each, (part, names) in enumerate(zip(parts, outputs)):
                    _measure(sizes, names, part.shape, f"result {each}")
                made = self._empty(many, sizes, [part.dtype for part in parts] if dtypes is None else dtypes, queue)
            for each, part in zip(made, parts):
                each[place] = part
        if made is None:
            if dtypes is None:
                raise ValueError("invalid value: `otypes` is None for arrays of no elements; expected the dtypes of the results")
            missing = sorted({name for names in outputs for name in names} - sizes.keys())
            if missing:
                raise ValueError(f"invalid value: the arrays have no elements, of which the result would say the dimensions {', '.join(missing)}; expected some")
            made = self._empty(many, sizes, dtypes, queue)
        return tuple(made) if len(made) > 1 else made[0]

    def _empty(self, many, sizes, dtypes, queue):
        outputs = self._dimensions[1]
        return [_sw.empty(many + tuple(sizes[name] for name in names), dtype=dtype, sycl_queue=queue) for names, dtype in zip(outputs, dtypes)]
