"""Random programs: kernels do what Python makes of them."""

import os

import numpy as np
import pytest

import stridewise as sw
from kernels import on_devices, same_as_plain
from stridewise.kernel_api import device_func


class Program:
    """A random function of numbers, loops and branches; names are read where they have a value on every path."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.lines, self.fresh = [], 0
        self.names = ["x", "y", "i"]
        self.emit(1, "i = item.get_id(0)")
        self.emit(1, "x, y = a[i], 3")
        self.block(1, 3)
        for place in range(4):
            self.emit(1, f"out[i, {place}] += {self.pick(self.names)}")

    def emit(self, depth, line):
        self.lines.append("    " * depth + line)

    def pick(self, choices):
        return choices[self.random.integers(len(choices))]

    def text(self):
        return "def program(item, a, out):\n" + "\n".join(self.lines) + "\n"

    def number(self, depth=2):
        kind = self.pick("nnnlo+*-/%wcfe") if depth else self.pick("nnl")
        if kind == "n":
            return self.pick(self.names)
        if kind == "l":
            return self.pick(["0", "1", "2", "5", "-3", "0.5", "-2.25", "7"])
        if kind == "o":
            return f"out[i, {self.random.integers(4)}]"
        x, y = self.number(depth - 1), self.number(depth - 1)
        if kind == "/":
            return f"({x} / {self.pick(['2', '4', '-8.0'])})"
        if kind == "%":
            return f"({x} {self.pick(['%', '//'])} {self.pick(['3', '-5', '2.5'])})"
        if kind == "w":
            return f"({x} if {self.test(depth - 1)} else {y})"
        if kind == "c":
            return f"{self.pick(['min', 'max'])}({x}, {y})"
        if kind == "f":
            return f"{self.pick(['clamp', 'twice'])}({x})"
        if kind == "e":
            return f"a[int({x}) % 16]"
        return f"({x} {kind} {y})"

    def test(self, depth=2):
        kind = self.pick("cccban") if depth else "c"
        x, y = self.number(min(depth, 1)), self.number(min(depth, 1))
        if kind == "c":
            return f"{x} {self.pick(['<', '<=', '==', '!=', '>', '>='])} {y}"
        if kind == "b":
            return f"({x} < {y} <= {self.number(1)})"
        if kind == "n":
            return f"not ({self.test(depth - 1)})"
        return f"({self.test(depth - 1)} {self.pick(['and', 'or'])} {self.test(depth - 1)})"

    def inside(self, depth, level, loop):
        known = list(self.names)
        self.block(depth, level, loop)
        self.names = known

    def block(self, depth, level, loop=None):
        self.emit(depth, "pass")
        for _ in range(self.random.integers(1, 5)):
            kind = self.pick("aaauusiwfjt") if level else self.pick("aaut")
            if kind == "a":
                name = self.pick(["x", "y", "z", "u", "v"])
                self.emit(depth, f"{name} = {self.number()} % 97")
                self.names += [name] if name not in self.names else []
            elif kind == "t":
                self.emit(depth, f"x, y = y, {self.number()} % 89")
            elif kind == "u":
                self.emit(depth, f"{self.pick(['x', 'y'])} {self.pick(['+=', '-='])} {self.number()} % 13")
            elif kind == "s":
                self.emit(depth, f"out[i, {self.random.integers(4)}] = {self.number()} % 1009")
            elif kind == "i":
                self.emit(depth, f"if {self.test()}:")
                self.inside(depth + 1, level - 1, loop)
                if self.random.random() < 0.3:
                    self.emit(depth, f"elif {self.test()}:")
                    self.inside(depth + 1, level - 1, loop)
                if self.random.random() < 0.5:
                    self.emit(depth, "else:")
                    self.inside(depth + 1, level - 1, loop)
            elif kind == "f":
                counter = self.pick(["k", "m", f"k{depth}"])
                bounds = self.pick(["4", "1, i % 5", "6, -1, -2", "i % 3, 7, 3"])
                self.emit(depth, f"for {counter} in range({bounds}):")
                known = list(self.names)
                self.names += [counter] if counter not in self.names else []
                self.inside(depth + 1, level - 1, "for")
                self.names = known
            elif kind == "w":
                self.fresh += 1
                rounds = f"n{self.fresh}"
                self.emit(depth, f"{rounds} = 0")
                self.emit(depth, f"while {rounds} < {self.random.integers(1, 5)} and ({self.test()}):")
                self.emit(depth + 1, f"{rounds} += 1")
                self.inside(depth + 1, level - 1, "while")
            elif kind == "j" and loop and self.random.random() < 0.5:
                self.emit(depth, f"if {self.test()}:")
                self.emit(depth + 1, self.pick(["break", "continue"] if depth > 1 else ["return"]))


@device_func
def clamp(x):
    if x < -50:
        return -50
    if x > 50:
        return 50
    return x


@device_func
def twice(x):
    y = x
    y += x
    return y % 97


@on_devices
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_random_programs_are_what_python_makes_of_them(device, dtype):
    # Where a compiler of the device's has each program first, a fifth of them, unless the variable asks for the whole.
    whole = device.startswith("host") or os.environ.get("STRIDEWISE_KERNELS") == "whole"
    for seed in range(0, 150, 1 if whole else 5):
        text = Program(seed).text()
        namespace = {"clamp": clamp, "twice": twice}
        exec(text, namespace)
        k = sw.kernel(text)
        k.__wrapped__ = namespace["program"]
        a = np.random.default_rng(seed).integers(-40, 40, 16).astype(dtype)
        out = np.arange(64).reshape(16, 4).astype(dtype)
        try:
            same_as_plain(device, k, (16,), a, out)
        except BaseException as error:
            raise AssertionError(f"seed {seed}, {type(error).__name__}: {error}\n{text}") from error
