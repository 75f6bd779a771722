"""The backend aot_eager as trials use it."""

from __future__ import annotations

import torch
from torch import nn

from graphmend_lsp.worker.lowered import compile_lowered


def test_a_view_of_what_has_other_strides_than_traced_is_taken_of_a_copy() -> None:
    """The gradient of softplus comes transposed where its own gradient does; the layer in front of it views it."""
    torch.manual_seed(0)
    layer, x = nn.Linear(4, 6), torch.randn(2, 8, 4, requires_grad=True)

    def program(x: torch.Tensor) -> torch.Tensor:
        step = nn.functional.softplus(layer(x)).transpose(1, 2)
        return (step[:, :, :, None] * torch.ones(3)).sum(-1)

    (plain,) = torch.autograd.grad(program(x).cos().sum(), x)
    torch._dynamo.reset()
    (compiled,) = torch.autograd.grad(torch.compile(program, backend=compile_lowered)(x).cos().sum(), x)
    assert torch.equal(plain, compiled)
