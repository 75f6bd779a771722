"""Random numbers of Python, NumPy and torch, and the state of their generators."""

import random

import numpy as np
import torch


def python_random(x):
    hidden = x.sin()
    return hidden + random.random()


def python_choice(x):
    hidden = x.sin()
    return hidden * random.choice([1, 2, 3])


def python_seed(x):
    random.seed(0)
    return x + random.random()


def layer_drop(x):
    for _ in range(3):
        if random.random() < 0.5:
            x = x.sin()
    return x


def numpy_random(x):
    hidden = x.sin()
    return hidden + np.random.rand()


def numpy_noise(x):
    hidden = x.sin()
    return hidden + torch.from_numpy(np.random.randn(4)).float()


def torch_random(x):
    return x + torch.rand(4)


def torch_random_number(x):
    hidden = x.sin()
    if torch.rand(1).item() < 0.5:
        hidden = hidden.flip(0)
    return hidden


def torch_random_size(x):
    width = torch.randint(1, 4, (1,)).item()
    return x[:width] + 1


def torch_seed(x):
    hidden = x.sin()
    torch.manual_seed(0)
    return hidden + torch.rand(4)


def own_generator(x):
    generator = torch.Generator()
    generator.manual_seed(0)
    return x + torch.rand(4, generator=generator)


def generator_state_kept(x):
    kept = torch.get_rng_state()
    y = x + torch.rand(4)
    torch.set_rng_state(kept)
    return y


def fork_generator(x):
    with torch.random.fork_rng():
        y = x + torch.rand(4)
    return y


def normal_distribution(x):
    normal = torch.distributions.Normal(x, 1.0)
    return normal.rsample() + normal.log_prob(x)


def categorical_sample(x):
    return torch.distributions.Categorical(logits=x).sample() + 1


def checked_distribution(x):
    return torch.distributions.Normal(x, x.abs() + 1, validate_args=True).rsample()
