"""Normalizing flows of normflows: densities of points."""

import normflows as nf
import torch


def log_prob(flows):
    model = nf.NormalizingFlow(nf.distributions.base.DiagGaussian(4), flows)
    return model.log_prob, (torch.randn(6, 4, generator=torch.Generator().manual_seed(1)),)


def graphmend_entry_real_nvp():
    flows = []
    for _ in range(2):
        flows += [nf.flows.AffineCouplingBlock(nf.nets.MLP([2, 16, 4], init_zeros=True)), nf.flows.Permute(4, "swap")]
    return log_prob(flows)


def graphmend_entry_neural_spline():
    return log_prob([nf.flows.AutoregressiveRationalQuadraticSpline(4, 1, 16), nf.flows.LULinearPermute(4)])


def graphmend_entry_activation_norm():
    return log_prob([nf.flows.ActNorm((4,))])


def graphmend_entry_residual():
    net = nf.nets.LipschitzMLP([4, 16, 4], init_zeros=True, lipschitz_const=0.9)
    return log_prob([nf.flows.Residual(net, reduce_memory=False)])


def graphmend_entry_reverse_divergence():
    target = nf.distributions.TwoMoons()
    model = nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), [nf.flows.Planar((2,))], target)
    return model.reverse_kld, {"num_samples": 4}
