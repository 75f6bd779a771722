"""A step of training, as people write them: a note on the first steps, a check of the loss, clipping by the norm of the gradients.

    graphmend-lsp mend examples/training_step.py --diff
"""

import logging

import torch
from torch import nn

logger = logging.getLogger(__name__)


class Classifier(nn.Module):
    def __init__(self, width: int = 16, classes: int = 4) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, classes))
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        logits = self.body(x)
        if torch.isnan(logits).any():
            raise ValueError("the logits are not numbers")
        loss = nn.functional.cross_entropy(logits, labels)
        logger.info("loss %.4f", loss.item())
        # A batch that is far off counts less.
        if loss > 2.0:
            loss = loss * (2.0 / loss.detach())
        return loss * self.scale


def graphmend_entry():
    torch.manual_seed(0)
    return Classifier(), (torch.randn(8, 16), torch.arange(8) % 4)
