"""What trials under inductor share: libraries and what was tried out, never kernels that torch chose for a graph."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from graphmend_lsp.worker.inductor import _first_of

TOLD = """
import os, sys
sys.path.insert(0, sys.argv[2])
from graphmend_lsp.worker import inductor
inductor.share(sys.argv[1])
inductor.compile_here()
from torch._functorch import config as functorch
from torch._inductor import codecache, config
assert not config.fx_graph_cache and not functorch.enable_autograd_cache and config.compile_threads == 1
assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == sys.argv[1] and codecache._HEADER_DIR.startswith(sys.argv[1])
class Kind:
    def build_arch_flags(self):
        return "flags"
tried = []
check = inductor._remembered(sys.argv[1], lambda kind, code: tried.append(code) or code == "good")
assert [check(Kind(), code) for code in ("good", "bad", "good", "bad")] == [True, False, True, False]
assert tried == ["good", "bad"]
print("told")
"""


@pytest.mark.slow
def test_a_trial_keeps_what_the_compiler_made_and_nothing_that_depends_on_a_graph(tmp_path: Any) -> None:
    server = os.path.dirname(os.path.dirname(os.path.dirname(sys.modules[_first_of.__module__].__file__ or "")))
    env = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", TOLD, str(tmp_path), server], capture_output=True, text=True, env=env, timeout=120
    )
    assert done.stdout == "told\n", done.stderr


def test_the_first_kind_of_vector_instructions_that_works_is_the_only_one_that_is_tried() -> None:
    tried: list[str] = []
    vectors = SimpleNamespace(supported_vec_isa_list=["none", "wide", "narrow"])

    @functools.cache
    def every() -> list[str]:
        tried.extend(vectors.supported_vec_isa_list)
        return [kind for kind in vectors.supported_vec_isa_list if kind != "none"]

    vectors.valid_vec_isa_list = every
    assert _first_of(vectors)() == ["wide"]
    assert tried == ["none", "wide"]
    assert vectors.supported_vec_isa_list == ["none", "wide", "narrow"]
