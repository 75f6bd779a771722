"""Modules and objectives of TorchRL."""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl import modules
from torchrl.objectives.value.functional import generalized_advantage_estimate, td_lambda_return_estimate


def numbers(*size):
    return torch.randn(*size, generator=torch.Generator().manual_seed(1))


def graphmend_entry_perceptron():
    return modules.MLP(in_features=4, out_features=2, num_cells=[16]), (numbers(6, 4),)


def graphmend_entry_convolutions():
    return modules.ConvNet(in_features=3, num_cells=[4, 4], kernel_sizes=3), (numbers(2, 3, 8, 8),)


def graphmend_entry_noisy_linear():
    return modules.NoisyLinear(4, 2), (numbers(6, 4),)


def graphmend_entry_tanh_normal():
    def density(x):
        location, scale = x.chunk(2, -1)
        return modules.TanhNormal(location, scale.exp()).log_prob(torch.tanh(location))

    return density, (numbers(6, 4),)


def graphmend_entry_truncated_normal():
    def density(x):
        location, scale = x.chunk(2, -1)
        return modules.TruncatedNormal(location, scale.exp()).log_prob(torch.zeros_like(location))

    return density, (numbers(6, 4),)


def graphmend_entry_advantage():
    done = torch.zeros(2, 5, 1, dtype=torch.bool)
    arguments = {"state_value": numbers(2, 5, 1), "next_state_value": numbers(2, 5, 1), "reward": numbers(2, 5, 1)}
    return generalized_advantage_estimate, {"gamma": 0.9, "lmbda": 0.9, **arguments, "done": done}


def graphmend_entry_lambda_return():
    done = torch.zeros(2, 5, 1, dtype=torch.bool)
    return td_lambda_return_estimate, {
        "gamma": 0.9, "lmbda": 0.9, "next_state_value": numbers(2, 5, 1), "reward": numbers(2, 5, 1), "done": done,
    }  # fmt: skip


def graphmend_entry_module_of_dict():
    module = TensorDictModule(torch.nn.Linear(4, 2), in_keys=["seen"], out_keys=["value"])
    return (lambda seen: module(TensorDict({"seen": seen}, batch_size=[6]))["value"]), (numbers(6, 4),)


def graphmend_entry_mixing():
    return modules.QMixer(state_shape=(4,), mixing_embed_dim=8, n_agents=3, device="cpu"), (
        numbers(6, 3, 1),
        numbers(6, 4),
    )
