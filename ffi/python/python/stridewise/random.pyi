"""Types of the module `stridewise.random`."""

from collections.abc import Sequence
from typing import Any, final

from . import Device, Queue, usm_ndarray

__all__ = ["Generator", "default_rng"]

@final
class Generator:
    def __new__(cls, seed: int, *, counter: int = 0) -> Generator: ...
    @property
    def counter(self) -> int: ...
    @counter.setter
    def counter(self, value: int) -> None: ...
    @property
    def seed(self) -> int: ...
    def binomial(
        self,
        n: usm_ndarray | float,
        p: usm_ndarray | float,
        size: int | Sequence[int] | None = None,
        *,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def choice(
        self,
        a: usm_ndarray | int | Sequence[Any],
        size: int | Sequence[int] | None = None,
        replace: bool = True,
        p: usm_ndarray | Sequence[float] | None = None,
        axis: int = 0,
        *,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def exponential(
        self,
        scale: usm_ndarray | float = 1.0,
        size: int | Sequence[int] | None = None,
        *,
        dtype: Any | None = None,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def gamma(
        self,
        shape: usm_ndarray | float,
        scale: usm_ndarray | float = 1.0,
        size: int | Sequence[int] | None = None,
        *,
        dtype: Any | None = None,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def integers(
        self,
        low: int,
        high: int | None = None,
        size: int | Sequence[int] | None = None,
        *,
        dtype: Any | None = None,
        endpoint: bool = False,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def normal(
        self,
        loc: usm_ndarray | float = 0.0,
        scale: usm_ndarray | float = 1.0,
        size: int | Sequence[int] | None = None,
        *,
        dtype: Any | None = None,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def permutation(
        self,
        x: usm_ndarray | int | Sequence[Any],
        axis: int = 0,
        *,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def poisson(
        self,
        lam: usm_ndarray | float = 1.0,
        size: int | Sequence[int] | None = None,
        *,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def random(
        self,
        size: int | Sequence[int] | None = None,
        *,
        dtype: Any | None = None,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def shuffle(self, x: usm_ndarray, axis: int = 0) -> None: ...
    def spawn(self, n_children: int) -> list[Generator]: ...
    def standard_exponential(
        self,
        size: int | Sequence[int] | None = None,
        *,
        dtype: Any | None = None,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def standard_gamma(
        self,
        shape: usm_ndarray | float,
        size: int | Sequence[int] | None = None,
        *,
        dtype: Any | None = None,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def standard_normal(
        self,
        size: int | Sequence[int] | None = None,
        *,
        dtype: Any | None = None,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...
    def uniform(
        self,
        low: usm_ndarray | float = 0.0,
        high: usm_ndarray | float = 1.0,
        size: int | Sequence[int] | None = None,
        *,
        dtype: Any | None = None,
        device: Device | Queue | str | None = None,
        usm_type: str | None = None,
        sycl_queue: Queue | None = None,
        queue: Queue | None = None,
    ) -> usm_ndarray: ...

def default_rng(seed: int | Generator | None = None) -> Generator: ...
