"""Inductor in a trial: it compiles in the trial's own process, and what its C++ compiler makes serves all requests of a worker.

Only that is shared: a library is found again by a hash of its source and of the compiler's command. Which kernels a graph
becomes is found out anew in every trial, because the keys of torch's other caches do not know what an operator of the
program does. A torch that is made otherwise only takes longer. Torch is imported where it is used.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .kernels import compile_together

_CACHE = "TORCHINDUCTOR_CACHE_DIR"
_CHOSEN = "ATEN_CPU_CAPABILITY"  # with which a user chooses vector instructions
_shared: list[str] = []  # the folder, in a child that was given one


def share(folder: str) -> None:
    """Compiled code of this process and of its forks goes into that folder, and is looked for there."""
    _shared[:] = [folder]


def compile_here(vectors: bool = True) -> None:
    """Set torch up for a trial with inductor in this process: a pool of its own would outlive the trial.

    Without `vectors` kernels for the CPU compute number by number, which takes a quarter less to compile.
    """
    own = _CACHE in os.environ  # torch puts it there itself, once it has looked
    from torch._functorch import config as functorch
    from torch._inductor import config

    config.compile_threads = 1
    if not vectors:
        with contextlib.suppress(ImportError, AttributeError):
            _leave_out_vectors()
    config.fx_graph_cache = functorch.enable_autograd_cache = False
    if _shared and not own:
        os.environ[_CACHE] = _shared[0]
        with contextlib.suppress(ImportError, AttributeError):
            _share_headers(_shared[0])
            _share_checks(_shared[0])
            compile_together(
                _shared[0], "" if vectors else "// compiled with the flags that at::vec needs, which has the headers"
            )


def _leave_out_vectors() -> None:
    """Have torch write kernels without vectors; what its compiler can do else stays known."""
    from torch._inductor import cpu_vec_isa
    from torch._inductor.codegen import cpp

    none = cpu_vec_isa.invalid_vec_isa
    vars(cpp)["cpu_vec_isa"] = SimpleNamespace(**{**vars(cpu_vec_isa), "pick_vec_isa": lambda: none})


def _share_headers(folder: str) -> None:
    """Torch precompiles its headers (4 s, 155 MB) into a folder that it chooses when it is imported: there where it has some, as
    after the user's own runs with inductor, which use the same; else in this folder, which goes with the worker."""
    from torch._inductor import codecache

    if not {"_HEADER_DIR", "_HEADER_LOCK_DIR"} <= vars(codecache).keys():
        return
    with contextlib.suppress(OSError):
        if any(name.endswith(".gch") for name in os.listdir(vars(codecache)["_HEADER_DIR"])):
            return
    headers = os.path.join(folder, "headers")
    vars(codecache).update(_HEADER_DIR=headers, _HEADER_LOCK_DIR=os.path.join(headers, "locks"))


def _share_checks(folder: str) -> None:
    """Whether the compiler can make code for a kind of vector instructions is tried out once, and of no kind behind the one
    that torch takes, the first."""
    from torch._inductor import config, cpu_vec_isa

    cpu_vec_isa.VecISA.check_build = _remembered(folder, cpu_vec_isa.VecISA.check_build)
    if config.cpp.simdlen is None and _CHOSEN not in os.environ:
        cpu_vec_isa.valid_vec_isa_list = functools.cache(_first_of(cpu_vec_isa))


def _remembered(folder: str, check: Callable[[Any, str], bool]) -> Callable[[Any, str], bool]:
    def once(kind: Any, code: str) -> bool:
        name = hashlib.blake2b(f"{kind.build_arch_flags()}\n{code}".encode(), digest_size=8).hexdigest()
        place = os.path.join(folder, f"vectors-{name}")
        with contextlib.suppress(OSError), open(place, encoding="ascii") as file:
            return file.read() == "True"
        works = check(kind, code)
        with open(f"{place}-{os.getpid()}", "w", encoding="ascii") as file:
            file.write(str(works))
        os.replace(file.name, place)
        return works

    return once


def _first_of(vectors: Any) -> Callable[[], list[Any]]:
    every, kinds = vectors.valid_vec_isa_list.__wrapped__, vectors.supported_vec_isa_list

    def first() -> list[Any]:
        found: list[Any] = []
        for kind in kinds:
            vectors.supported_vec_isa_list = [kind]
            if found := every():
                break
        vectors.supported_vec_isa_list = kinds
        return found

    return first
