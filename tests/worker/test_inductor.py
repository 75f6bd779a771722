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
assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == sys.argv[1]
assert codecache._HEADER_DIR.startswith(os.path.join(sys.argv[1], "headers")) == (sys.argv[3] == "none")
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
@pytest.mark.parametrize("headers", ["none", "some"])
def test_a_trial_keeps_what_the_compiler_made_and_nothing_that_depends_on_a_graph(tmp_path: Any, headers: str) -> None:
    server = os.path.dirname(os.path.dirname(os.path.dirname(sys.modules[_first_of.__module__].__file__ or "")))
    env = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"} | {
        "TMPDIR": str(tmp_path)
    }
    (tmp_path / "worker").mkdir()
    if headers == "some":  # of the user's own runs: torch names their folder
        told = "from torch._inductor import codecache; print(codecache._HEADER_DIR)"
        place = subprocess.run(
            [sys.executable, "-c", told], capture_output=True, text=True, env=env, timeout=120
        ).stdout.strip()
        assert place.startswith(str(tmp_path))
        os.makedirs(place)
        with open(os.path.join(place, "some.h.gch"), "w"):
            pass
    arguments = [str(tmp_path / "worker"), server, headers]
    done = subprocess.run(
        [sys.executable, "-c", TOLD, *arguments], capture_output=True, text=True, env=env, timeout=120
    )
    assert done.stdout == "told\n", done.stderr


TOGETHER = """
import os, sys
sys.path.insert(0, sys.argv[2])
import torch
from graphmend_lsp.worker import inductor, kernels
if sys.argv[3] == "alone":
    inductor.compile_together = lambda *given: None
kernels.MOST = int(sys.argv[4])
inductor.share(sys.argv[1])
inductor.compile_here()
from torch._inductor import cpp_builder
runs, compile = [], cpp_builder.run_compile_cmd
cpp_builder.run_compile_cmd = lambda command, *more, **named: (runs.append(command), compile(command, *more, **named))[1]

def f(x, n):
    y = torch.nn.functional.layer_norm((x * 2).softmax(-1), (8,))
    return (y @ y.T).relu().sum(0) + n, (x > 0).sum(1).cumsum(0)

torch.manual_seed(0)
x = torch.randn(6, 8, requires_grad=True)
compiled = torch.compile(f, dynamic=True)
out = compiled(x, 3)
out[0].sum().backward()
more = compiled(torch.randn(5, 8), 4)
kernels_run = sum(" -shared " in (one if isinstance(one, str) else " ".join(one)) for one in runs)
print([one.tolist() for one in (*out, *more, x.grad)], kernels_run)
"""


@pytest.mark.slow
def test_kernels_are_compiled_together_and_found_again(tmp_path: Any) -> None:
    server = os.path.dirname(os.path.dirname(os.path.dirname(sys.modules[_first_of.__module__].__file__ or "")))
    env = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    said = []
    for folder, how, most in (("a", "alone", 9), ("b", "together", 9), ("b", "together", 9), ("c", "together", 2)):
        (tmp_path / folder).mkdir(exist_ok=True)
        told = [str(tmp_path / folder), server, how, str(most)]
        done = subprocess.run(
            [sys.executable, "-c", TOGETHER, *told], capture_output=True, text=True, env=env, timeout=200
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.rpartition(" "))
    assert len({values for values, _, _ in said}) == 1  # bit for bit
    alone, together, again, few = (int(runs) for _, _, runs in said)
    assert again < together < few <= alone


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
