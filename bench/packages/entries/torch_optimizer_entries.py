"""Optimizers of torch-optimizer: one compiled step over gradients."""

import torch
import torch_optimizer


def step(make):
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(4, 4))
    optimizer = make([weight])

    def update(gradient):
        weight.grad = gradient.clone()
        optimizer.step()
        return weight.detach().clone()

    return update, (torch.randn(4, 4),)


def graphmend_entry_lamb():
    return step(lambda weights: torch_optimizer.Lamb(weights, lr=0.1))


def graphmend_entry_novograd():
    return step(lambda weights: torch_optimizer.NovoGrad(weights, lr=0.1))


def graphmend_entry_adamp():
    return step(lambda weights: torch_optimizer.AdamP(weights, lr=0.1))


def graphmend_entry_yogi():
    return step(lambda weights: torch_optimizer.Yogi(weights, lr=0.1))


def graphmend_entry_ada_belief():
    return step(lambda weights: torch_optimizer.AdaBelief(weights, lr=0.1))


def graphmend_entry_lars():
    return step(lambda weights: torch_optimizer.LARS(weights, lr=0.1))


def graphmend_entry_diff_grad():
    return step(lambda weights: torch_optimizer.DiffGrad(weights, lr=0.1))
