"""A layer that torch.compile cannot run: the compiled program raises the error that `except` handles without torch.compile.

`graphmend-lsp mend examples/whitening.py` puts the factorization into a function of its own, which runs uncompiled; the rest is compiled.
"""

import torch
from torch import nn


class Whitening(nn.Module):
    """Decorrelate features; where their covariance has no Cholesky factor, scale them by their deviation instead."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.before = nn.Linear(features, features)
        self.after = nn.Linear(features, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.before(x)
        covariance = x.T @ x / x.shape[0]
        try:
            factor = torch.linalg.cholesky(covariance)
        except torch.linalg.LinAlgError:
            factor = torch.diag(covariance.diagonal().sqrt() + 1e-6)
        return self.after(torch.linalg.solve_triangular(factor, x.T, upper=False).T)


def graphmend_entry() -> tuple[nn.Module, list[tuple[torch.Tensor]]]:
    """A batch with a full covariance, and a batch of one row, whose covariance is singular."""
    torch.manual_seed(0)
    return Whitening(8), [(torch.randn(32, 8),), (torch.randn(1, 8),)]
