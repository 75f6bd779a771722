"""Normalizing flows of Zuko: densities and samples."""

import torch
import zuko


def log_prob(flow):
    def density(x, context):
        return flow(context).log_prob(x)

    return density, tensors()


def tensors():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(4, 3, generator=generator), torch.randn(4, 2, generator=generator)


def graphmend_entry_neural_spline():
    return log_prob(zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16,)))


def graphmend_entry_masked_autoregressive():
    return log_prob(zuko.flows.MAF(3, 2, transforms=2, hidden_features=(16,)))


def graphmend_entry_coupling():
    return log_prob(zuko.flows.NICE(3, 2, transforms=2, hidden_features=(16,)))


def graphmend_entry_mixture():
    return log_prob(zuko.flows.GMM(3, 2, components=2, hidden_features=(16,)))


def graphmend_entry_neural_autoregressive():
    return log_prob(zuko.flows.UNAF(3, 2, transforms=1, hidden_features=(16,)))


def graphmend_entry_sample():
    flow = zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16,))
    return (lambda context: flow(context).rsample((2,))), tensors()[1:]
