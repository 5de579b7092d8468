"""CUDA devices: memory of PyTorch and CuPy without a copy, and the libraries' products, transforms and decompositions, where the machine
has a card; what holds without one always."""

import gc
import subprocess
import sys

import numpy as np
import pytest

import stridewise as sw

DEVICE = "cuda:gpu:0"
try:
    sw.Device(DEVICE)
    CARD = True
except sw.DeviceSelectionError:
    CARD = False
card = pytest.mark.skipif(not CARD, reason="no CUDA device")
RNG = np.random.default_rng(7)


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no card")
    return torch


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


def ours(x, kind="device"):
    return sw.asarray(x, device=DEVICE, usm_type=kind, copy=True)


def test_arrays_of_other_devices_have_no_cuda_interface():
    x = sw.ones(3, device="cpu")
    assert not hasattr(x, "__cuda_array_interface__")


class Described:
    def __init__(self, **changes):
        interface = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3, "strides": None}
        self.__cuda_array_interface__ = interface | changes


@pytest.mark.parametrize(
    "changes, error",
    [
        ({"version": 4}, ValueError),
        ({"data": 4096}, ValueError),
        ({"typestr": 7}, ValueError),
        ({"mask": 1}, ValueError),
        ({"stream": 0}, ValueError),
        ({"shape": [4]}, ValueError),
        # An address that no driver knows.
        ({}, (BufferError, ValueError)),
    ],
)
def test_what_an_interface_says_is_looked_at(changes, error):
    with pytest.raises(error):
        sw.asarray(Described(**changes))


def test_a_stream_is_none_for_the_processor():
    x = sw.ones(3, device="cpu")
    with pytest.raises(ValueError, match="stream"):
        x.__dlpack__(stream=1)
    assert x.__dlpack_device__() == (1, 0)


@card
@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_torch_takes_ours_in_place(torch, kind, dtype):
    values = RNG.integers(0, 2, (5, 7)).astype(dtype)
    x = ours(values, kind)[1:, ::2]
    options = {} if kind == "device" else {"dl_device": (2, 0)}
    capsule = x.__dlpack__(stream=1, max_version=(1, 1), **options)
    y = torch.utils.dlpack.from_dlpack(capsule)
    assert y.is_cuda and y.data_ptr() == x._pointer and y.stride() == x.strides
    assert np.array_equal(y.cpu().numpy(), values[1:, ::2])
    y.zero_()
    assert not sw.asnumpy(x).any()
    x[...] = 1
    assert y.cpu().numpy().all()


@card
def test_ours_take_torchs_in_place(torch):
    y = torch.arange(24, device="cuda", dtype=torch.float32).reshape(4, 6)
    x = sw.from_dlpack(y)
    assert x.device.filter_string == DEVICE and x.usm_type == "device" and x._pointer == y.data_ptr()
    assert np.array_equal(sw.asnumpy(x), y.cpu().numpy())
    y += 1  # In the default stream, which ours wait for.
    assert np.array_equal(sw.asnumpy(x * 2), 2 * y.cpu().numpy())
    x += 5
    assert np.array_equal(y.cpu().numpy(), np.arange(24).reshape(4, 6) + 6)
    copied = sw.asarray(y)
    assert copied._pointer != y.data_ptr() and copied.device.filter_string == DEVICE
    # The tensor lives as long as an array is on it.
    pointer = y.data_ptr()
    del y
    gc.collect()
    assert x._pointer == pointer and sw.asnumpy(x)[0, 0] == 6


@card
def test_streams_of_others_wait_for_ours_and_ours_for_theirs(torch):
    n = 1 << 24
    side = torch.cuda.Stream()
    for repeat in range(20):
        x = sw.full(n, repeat, dtype="float32", device=DEVICE)
        for _ in range(5):
            x = sw.sqrt(x * x)
        with torch.cuda.stream(side):
            y = torch.from_dlpack(x)
            total = y.sum()
            y.fill_(3)
            z = sw.from_dlpack(y + y)
        assert total.item() == repeat * n
        assert float(sw.sum(z)) == 6 * n
        torch.cuda.synchronize()


@card
def test_cupy_takes_ours_and_ours_take_cupys(cupy):
    values = RNG.standard_normal((6, 5))
    x = ours(values)
    for theirs in (cupy.from_dlpack(x), cupy.asarray(x)):
        assert theirs.data.ptr == x._pointer
        assert np.array_equal(cupy.asnumpy(theirs), values)
    theirs[...] = 2
    assert (sw.asnumpy(x) == 2).all()
    y = cupy.arange(12.0).reshape(3, 4).T
    for mine in (sw.from_dlpack(y), sw.asarray(y, copy=False), sw.asarray(Like(y), copy=False)):
        assert mine._pointer == y.data.ptr and np.array_equal(sw.asnumpy(mine), cupy.asnumpy(y))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        big = cupy.zeros(1 << 24)
        for _ in range(10):
            big += 1
        assert float(sw.sum(sw.asarray(Like(big), copy=False))) == 10 * (1 << 24)


class Like:
    """Nothing but the interface of an array of CuPy's."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


@card
def test_managed_memory_goes_out_as_what_is_asked_for():
    x = ours(np.arange(6.0), "shared")
    assert x.__dlpack_device__() == (1, 0)
    for device in ((1, 0), (13, 0), (2, 0)):
        stream = {} if device[0] == 1 else {"stream": 1}
        x.__dlpack__(max_version=(1, 1), dl_device=device, **stream)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(3, 0))
    with pytest.raises(ValueError, match="stream"):
        ours(np.arange(6.0)).__dlpack__(stream=0)
    for stream in (None, -1, 1, 2):
        ours(np.arange(6.0)).__dlpack__(stream=stream)


@card
def test_ten_thousand_exchanges_leave_memory_where_it_was(torch):
    def exchange(count):
        for number in range(count):
            x = sw.from_dlpack(torch.full((1000,), float(number % 7), device="cuda"))
            y = torch.from_dlpack(x + 1)
        assert y[0].item() == (count - 1) % 7 + 1

    exchange(1000)
    torch.cuda.synchronize()
    before, used = torch.cuda.mem_get_info()[0], torch.cuda.memory_allocated()
    exchange(10_000)
    gc.collect()
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() <= used + 4096
    assert torch.cuda.mem_get_info()[0] >= before - (4 << 20)


TOLERANCE = {"float32": 2e-4, "float64": 1e-10, "complex64": 2e-4, "complex128": 1e-10}


def close(got, expected, dtype):
    got = sw.asnumpy(got) if not isinstance(got, np.ndarray) else got
    assert got.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max())) if expected.size else 1.0
    assert np.abs(got - expected).max() <= TOLERANCE[dtype] * scale, np.abs(got - expected).max()


def random(*shape, dtype):
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if "complex" in dtype else x).astype(dtype)


DTYPES = list(TOLERANCE)


@card
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype):
    for shapes in [((130, 70), (70, 90)), ((3, 40, 50), (50, 60)), ((2, 3, 40, 50), (3, 50, 20))]:
        a, b = (random(*shape, dtype=dtype) for shape in shapes)
        x, y = ours(a), ours(b)
        close(x @ y, a @ b, dtype)
        close(sw.matrix_transpose(y) @ sw.matrix_transpose(x), np.swapaxes(a @ b, -1, -2), dtype) if len(
            shapes[0]
        ) == 2 else None
    a, b = random(64, 48, dtype=dtype), random(64, 32, dtype=dtype)
    close(ours(a).T @ ours(b), a.T @ b, dtype)
    close(sw.einsum("ij,kj->ik", ours(a), ours(a)), a @ a.T, dtype)


@card
@pytest.mark.parametrize("name, most", [("float16", 2e-2), ("bfloat16", 1e-1)])
def test_short_products(name, most):
    a = RNG.standard_normal((256, 256)).astype("float32")
    x = sw.astype(ours(a), name)
    exact = sw.asnumpy(sw.astype(x, "float32")).astype("float64")
    got = x @ x
    assert str(got.dtype) == name
    got = sw.asnumpy(sw.astype(got, "float32"))
    assert np.abs(got - exact @ exact).max() <= most * np.abs(exact @ exact).max()


@card
@pytest.mark.parametrize("dtype", DTYPES)
def test_transforms(dtype):
    x = random(4, 30, dtype=dtype)
    y = ours(x)
    fft = sw.fft
    for n in (None, 16, 37):
        close(fft.fft(y, n=n), np.fft.fft(x, n=n), dtype)
        close(fft.ifft(y, n=n, axis=0, norm="ortho"), np.fft.ifft(x, n=n, axis=0, norm="ortho"), dtype)
        close(fft.irfft(y, n=n), np.fft.irfft(x, n=n), dtype)
        close(fft.hfft(y, n=n), np.fft.hfft(x, n=n), dtype)
        if "complex" not in dtype:
            close(fft.rfft(y, n=n), np.fft.rfft(x, n=n), dtype)
            close(fft.ihfft(y, n=n, norm="forward"), np.fft.ihfft(x, n=n, norm="forward"), dtype)
    close(fft.fft2(y) if hasattr(fft, "fft2") else fft.fftn(y), np.fft.fft2(x), dtype)
    close(fft.irfftn(fft.rfftn(y.real if "complex" in dtype else y), s=(4, 30), axes=(0, 1)), x.real, dtype)
    assert fft.fft(y).device.filter_string == DEVICE
    assert np.array_equal(sw.asnumpy(y), x)


@card
@pytest.mark.parametrize("kind", ["device", "shared"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 5, 64])
@pytest.mark.parametrize("stack", [(), (2, 3)])
def test_decompositions(dtype, n, stack, kind):
    a = random(*stack, n, n, dtype=dtype) + 2 * np.sqrt(n) * np.eye(n, dtype=dtype)
    hermitian = a @ np.swapaxes(a, -1, -2).conj() + np.eye(n, dtype=dtype)
    x, h, linalg = ours(a, kind), ours(hermitian, kind), sw.linalg
    scale = np.abs(hermitian).max()

    def t(x):
        return np.swapaxes(x, -1, -2)

    lower, upper = sw.asnumpy(linalg.cholesky(h)), sw.asnumpy(linalg.cholesky(h, upper=True))
    close(lower, np.linalg.cholesky(hermitian), dtype)
    close(upper, t(np.linalg.cholesky(hermitian)).conj(), dtype)
    close(linalg.inv(x), np.linalg.inv(a), dtype)
    b = random(*stack, n, 3, dtype=dtype)
    close(linalg.solve(x, ours(b, kind)), np.linalg.solve(a, b), dtype)
    vector = random(n, dtype=dtype)
    close(linalg.solve(x, ours(vector, kind)), np.linalg.solve(a, vector[:, None])[..., 0], dtype)
    det = np.linalg.det(a.astype("complex128"))
    assert np.allclose(sw.asnumpy(linalg.det(x)), det, rtol=1e-3 if "4" in dtype and "64" != dtype[-2:] else 1e-2)
    sign, logabsdet = linalg.slogdet(x)
    assert np.allclose(sw.asnumpy(sign) * np.exp(sw.asnumpy(logabsdet).astype("float64")), det, rtol=1e-2)
    values, vectors = linalg.eigh(h)
    close(values, np.linalg.eigvalsh(hermitian), dtype)
    v = sw.asnumpy(vectors)
    close((v * sw.asnumpy(values)[..., None, :]) @ t(v).conj() / scale, hermitian / scale, dtype)
    close(linalg.eigvalsh(h), np.linalg.eigvalsh(hermitian), dtype)
    for rows, columns in ((n, n), (n + 4, n), (n, n + 3)):
        m = random(*stack, rows, columns, dtype=dtype)
        y = ours(m, kind)
        u, s, vh = map(sw.asnumpy, linalg.svd(y, full_matrices=False))
        close(s, np.linalg.svd(m, compute_uv=False), dtype)
        close((u * s[..., None, :]) @ vh, m, dtype)
        close(linalg.svdvals(y), s, dtype)
        u, s, vh = map(sw.asnumpy, linalg.svd(y))
        assert u.shape[-2:] == (rows, rows) and vh.shape[-2:] == (columns, columns)
        k = min(rows, columns)
        close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], m, dtype)
        close(u @ t(u).conj(), np.broadcast_to(np.eye(rows), u.shape), dtype)
        q, r = map(sw.asnumpy, linalg.qr(y))
        close(q @ r, m, dtype)
        close(t(q).conj() @ q, np.broadcast_to(np.eye(k), (*stack, k, k)), dtype)
        assert np.array_equal(r, np.triu(r))
        p, lower, upper = map(sw.asnumpy, linalg.lu(y))
        close(p @ lower @ upper, m, dtype)
        assert np.array_equal(p @ t(p), np.broadcast_to(np.eye(rows), p.shape))
        # A complex pivot is the largest by the sum of its parts.
        assert np.abs(lower).max() < 1.5
        assert np.array_equal(lower, np.tril(lower)) and np.array_equal(upper, np.triu(upper))
        close(linalg.pinv(y), np.linalg.pinv(m), dtype)
    assert linalg.inv(x).device.filter_string == DEVICE


@card
def test_what_cannot_be_decomposed_is_refused_as_on_the_host():
    singular = ours(np.stack([np.eye(3), np.ones((3, 3))]))
    for call in (sw.linalg.inv, lambda x: sw.linalg.solve(x, x)):
        with pytest.raises(np.linalg.LinAlgError, match=r"\[1\]"):
            call(singular)
    assert sw.asnumpy(sw.linalg.det(singular)).tolist() == [1.0, 0.0]
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        sw.linalg.cholesky(ours(-np.eye(3)))
    with pytest.raises(np.linalg.LinAlgError):
        sw.linalg.cholesky(ours(np.full((2, 2), np.nan)))
    with pytest.raises(np.linalg.LinAlgError, match="finite"):
        sw.linalg.svd(ours(np.full((2, 2), np.nan)))
    with pytest.raises(NotImplementedError):
        sw.linalg.eig(ours(np.eye(3)))


CHILD = """
import sys
import stridewise as sw
memory = sw.IPCMemoryHandle.open(bytes.fromhex(sys.argv[1]), "cuda:gpu:0")
x = sw.usm_ndarray((100, 50), "float32", buffer=memory)
again = sw.IPCMemoryHandle.open(bytes.fromhex(sys.argv[1]), "cuda:gpu:0")
assert again._pointer == memory._pointer
assert float(x.sum()) == 100 * 50 * float(sys.argv[2]), x
del memory, again
x *= 2
x.sycl_queue.wait()
"""


@card
@pytest.mark.parametrize("size", [1, 64, 5000, 1 << 20])
def test_another_process_works_on_our_arrays(size):
    others = [sw.full((size,), 9, dtype="float32", device=DEVICE) for _ in range(3)]
    x = sw.full((100, 50), 3, dtype="float32", device=DEVICE)
    behind = sw.full((size,), 8, dtype="float32", device=DEVICE)
    handle = sw.IPCMemoryHandle(x)
    # What is asked for after the handle was made is seen all the same.
    x += 1
    arguments = [sys.executable, "-c", CHILD, handle.to_bytes().hex(), "4"]
    subprocess.run(arguments, check=True)
    assert (sw.asnumpy(x) == 8).all()
    assert all((sw.asnumpy(other) == 9).all() for other in others) and (sw.asnumpy(behind) == 8).all()
    with pytest.raises(ValueError, match="another process"):
        sw.IPCMemoryHandle.open(handle.to_bytes(), DEVICE)
    with pytest.raises(NotImplementedError, match="accelerator"):
        sw.IPCMemoryHandle.open(handle.to_bytes(), "host")


@card
def test_memory_for_other_processes_is_of_zeros():
    memory = sw.IPCMemoryHandle.allocate(4000, device=DEVICE)
    assert memory.usm_type == "device" and memory.nbytes == 4000
    assert (sw.asnumpy(sw.usm_ndarray(1000, "float32", buffer=memory)) == 0).all()
