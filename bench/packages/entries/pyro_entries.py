"""Pyro: networks, transforms and distributions without inference."""

import pyro.distributions as dist
import pyro.distributions.transforms as transforms
import torch
from pyro.nn import AutoRegressiveNN, DenseNN


def points():
    return torch.randn(6, 4, generator=torch.Generator().manual_seed(1))


def log_prob(transform):
    base = dist.Normal(torch.zeros(4), torch.ones(4))
    return (lambda x: dist.TransformedDistribution(base, [transform]).log_prob(x)), (points(),)


def graphmend_entry_autoregressive_network():
    return AutoRegressiveNN(4, [16]), (points(),)


def graphmend_entry_dense_network():
    return DenseNN(4, [16], [4, 4]), (points(),)


def graphmend_entry_affine_coupling():
    return log_prob(transforms.AffineCoupling(2, DenseNN(2, [16], [2, 2])))


def graphmend_entry_spline():
    return log_prob(transforms.Spline(4, count_bins=4))


def graphmend_entry_inverse_autoregressive():
    def forward(x):
        return made(x)

    made = transforms.AffineAutoregressive(AutoRegressiveNN(4, [16]))
    return forward, (points(),)


def graphmend_entry_zero_inflated():
    def density(rate, x):
        return dist.ZeroInflatedPoisson(rate=rate, gate=torch.tensor(0.3)).log_prob(x)

    return density, (torch.rand(6) + 0.5, torch.arange(6.0))
