"""A step of denoising with a scheduler of diffusers, which the project does not install.

    graphmend-lsp mend --overlay examples/denoising_step.py
"""

import torch
from diffusers import DDIMScheduler
from torch import nn


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Conv2d(3, 3, 3, padding=1)
        self.scheduler = DDIMScheduler()
        self.scheduler.set_timesteps(10)

    def forward(self, sample: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        return self.scheduler.step(self.net(sample), step, sample).prev_sample


def denoising_step():
    torch.manual_seed(0)
    model = Denoiser()
    steps = model.scheduler.timesteps
    return model, [(torch.randn(2, 3, 8, 8), steps[0]), (torch.randn(2, 3, 8, 8), steps[-1])]
