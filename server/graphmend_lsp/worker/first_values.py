"""Random first values of large weights in a fraction of the time and memory: some draws, repeated.

Which values a run starts from is arbitrary as long as its seed is ours, and to draw a hundred million of them takes longer
than all that TorchDynamo does. Their distribution is what was asked for, and no two weights hold the same ones in the same
place. Where the program sets a seed or gives a generator, the values are its own and are drawn. On Linux the repetition
costs no memory either: the weight's pages are the same few pages of a file in memory, until one is written to.
Imports torch; original and mended program of one proof start from the same values.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

PAGES = (
    521,
    1031,
    2053,
    4099,
    8209,
    16411,
    32771,
)  # of draws, 2 MiB and more: primes, so that rows of whole pages differ
LARGE = 1 << 20  # bytes of a tensor from which on repeating pays
OFFSET = 64  # bytes from the start of a page at which the system's allocator puts what it maps for itself
TRIM, MAPPED = -1, -3  # parameters of mallopt
METHODS = ("normal_", "uniform_")


@contextlib.contextmanager
def repeated_draws(seed: int) -> Iterator[None]:
    """Within, ``Tensor.normal_`` and ``uniform_`` of large tensors repeat what they drew, while the seed is still `seed`."""
    import torch

    tiles = _Tiles()
    _allot(LARGE)
    inherited = [name for name in METHODS if name not in vars(torch.Tensor)]  # others the program has put there
    for name in inherited:
        setattr(torch.Tensor, name, _repeating(getattr(torch.Tensor, name), seed, tiles))
    try:
        yield
    finally:
        for name in inherited:
            delattr(torch.Tensor, name)
        _allot(32 << 20)  # as far as it goes up by itself in a process that frees large blocks
        tiles.close()


def _repeating(original: Callable[..., Any], seed: int, tiles: _Tiles) -> Callable[..., Any]:
    import torch

    plain = (torch.Tensor, torch.nn.Parameter)

    def fill(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if (
            torch.compiler.is_compiling()
            or type(tensor) not in plain
            or tensor.device.type != "cpu"
            or tensor.layout != torch.strided
            or tensor.numel() * tensor.element_size() < LARGE
            or not tensor.is_contiguous()
            or not all(value is None or isinstance(value, (int, float)) for value in (*args, *kwargs.values()))
            or torch.initial_seed() != seed
            or torch._C._len_torch_dispatch_stack()
            or (tensor.requires_grad and torch.is_grad_enabled())
        ):
            return original(tensor, *args, **kwargs)
        key = (original, tensor.dtype, args, tuple(sorted(kwargs.items())))
        tiles.spread(key, lambda tile: original(tile, *args, **kwargs), tensor)
        with torch.no_grad():
            original(tensor.detach().view(-1)[:1], *args, **kwargs)  # for torch, too, it has been written to
        return tensor

    return fill


class _Tiles:
    """What was drawn, by how: as files in memory where there are such."""

    def __init__(self) -> None:
        self._drawn: dict[Any, tuple[int | None, Any]] = {}  # file and tensor
        self._uses = 0
        self._map = (
            _mmap() if sys.platform == "linux" and not os.environ.get("LD_PRELOAD") else None
        )  # other allocators

    def spread(self, key: Any, draw: Callable[[Any], Any], tensor: Any) -> None:
        """Fill the tensor by repeating what `draw` makes of a smaller one; each time from another place on."""
        page, pages = mmap.PAGESIZE, _pages(tensor)
        if (key, pages) not in self._drawn:
            self._drawn[key, pages] = self._new(tensor.dtype, pages * page)
            draw(self._drawn[key, pages][1])
        file, drawn = self._drawn[key, pages]
        self._uses += 1
        at, period = (self._uses * 389 % pages * page + OFFSET) % (pages * page), pages * page
        place = tensor.data_ptr()
        end = place + tensor.numel() * tensor.element_size()
        while place < end:
            size = min(period - at, end - place)
            whole = size // page * page
            mappable = file is not None and place % page == at % page
            if mappable and whole and not at % page and self._mapped(place, whole, file, at):
                size = whole
            else:
                size = min(size, page - at % page) if mappable else size  # up to where pages can be mapped
                ctypes.memmove(place, drawn.data_ptr() + at, size)
            place += size
            at = (at + size) % period

    def close(self) -> None:
        """The files are no longer needed; what is mapped stays."""
        for file, _ in self._drawn.values():
            if file is not None:
                os.close(file)
        self._drawn.clear()

    def _new(self, dtype: Any, size: int) -> tuple[int | None, Any]:
        import torch

        if self._map is not None:
            with contextlib.suppress(OSError):
                file = os.memfd_create("graphmend-values")
                os.ftruncate(file, size)
                return file, torch.frombuffer(mmap.mmap(file, size), dtype=dtype)
        return None, torch.empty(size, dtype=torch.uint8).view(dtype)

    def _mapped(self, place: int, size: int, file: int | None, at: int) -> bool:
        assert self._map is not None
        flags = mmap.MAP_PRIVATE | 0x10  # MAP_FIXED
        return bool(self._map(place, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, at) == place)


def _pages(tensor: Any) -> int:
    """Of how many pages the draws must be for a matrix to have the rank that it would have."""
    width = tensor.shape[-1]
    rank = min(width, tensor.numel() // width)
    return next((pages for pages in PAGES if pages > rank), PAGES[-1])


def _allot(size: int) -> None:
    """Have the system's allocator map each block of so many bytes for itself, so that blocks begin where pages can be mapped."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MAPPED, size)
        mallopt(TRIM, 64 << 20)


def _mmap() -> Any:
    try:
        call = ctypes.CDLL(None, use_errno=True).mmap
    except (OSError, AttributeError):
        return None
    call.restype = ctypes.c_void_p
    call.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    return call
