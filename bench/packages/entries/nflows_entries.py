"""Normalizing flows of nflows: densities of points."""

import torch
from nflows import distributions, flows, transforms
from nflows.nn import nets


def log_prob(transform):
    flow = flows.Flow(transform, distributions.StandardNormal([4]))
    return flow.log_prob, (torch.randn(6, 4, generator=torch.Generator().manual_seed(1)),)


def graphmend_entry_masked_autoregressive():
    return log_prob(transforms.MaskedAffineAutoregressiveTransform(features=4, hidden_features=16))


def graphmend_entry_autoregressive_spline():
    return log_prob(
        transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
            features=4, hidden_features=16, tails="linear", tail_bound=3.0, num_bins=4
        )
    )


def graphmend_entry_coupling_spline():
    return log_prob(
        transforms.PiecewiseRationalQuadraticCouplingTransform(
            mask=torch.tensor([1, 0, 1, 0]),
            transform_net_create_fn=lambda inside, outside: nets.ResidualNet(inside, outside, 16),
            tails="linear",
            num_bins=4,
        )
    )


def graphmend_entry_lu_linear():
    return log_prob(transforms.LULinear(4))


def graphmend_entry_real_nvp():
    flow = flows.SimpleRealNVP(features=4, hidden_features=16, num_layers=2, num_blocks_per_layer=1)
    return flow.log_prob, (torch.randn(6, 4, generator=torch.Generator().manual_seed(1)),)
