"""The backend aot_eager (with the default partitioner) as trials use it. Imports torch.

It runs what AOTAutograd makes of a graph, with the strides that the operators give. They may be other ones than those that it
traced (torch 2.13: `softplus_backward` on the CPU, of a transposed gradient), and a `view` of it, in the backward pass of a Mamba
layer, then raises. Inductor's code has the strides as traced. So a view is taken of a copy where the strides allow none.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop

_aten = torch.ops.aten
_VIEWS = (_aten.view.default, _aten._unsafe_view.default)


def as_given(lowered: torch.fx.GraphModule, example: Any) -> Any:
    """What runs a lowered graph, whatever strides its operators give. For `aot_autograd`, whose graphs change no view."""
    for target in _VIEWS:
        for node in lowered.graph.find_nodes(op="call_function", target=target):
            node.target = _aten.reshape.default
    return boxed_nop(lowered, example)


# the default partitioner removes the same dead code as aot_eager's own, which imports all of inductor first (0.7 s)
compile_lowered = aot_autograd(fw_compiler=as_given, bw_compiler=as_given, keep_inference_input_mutations=True)
