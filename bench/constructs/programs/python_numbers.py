"""Numbers that leave tensors: item, float, int, bool, tolist, NumPy, math, indices of lists and tensors."""

import math

import numpy as np
import torch


def item_times_tensor(x):
    return x * x.sum().item()


def item_returned(x):
    return x + 1, x.sum().item()


def item_as_end_of_slice(x):
    length = x[0].int().item()
    return x[:length] + 1


def item_as_argument(x):
    return torch.clamp(x, max=x.mean().item())


def item_in_loop(x):
    total = 0.0
    for value in x:
        total += value.item()
    return x + total


def float_times_tensor(x):
    return x * float(x.sum())


def int_times_tensor(x):
    return x * int(x.sum())


def bool_times_tensor(x):
    return x * bool(x.sum() > 0)


def rounded_item(x):
    return x * round(x.sum().item(), 2)


def square_root_by_math(x):
    return x * math.sqrt(x.sum())


def logarithm_by_math(x):
    return x + math.log(x.abs().sum().item() + 1)


def sum_of_tolist(x):
    return x + sum(x.tolist())


def sum_of_integer_tolist(x):
    return x + sum(x.int().tolist())


def lengths_of_split(x):
    lengths = torch.tensor([1, 3])
    return torch.split(x, lengths.tolist())[1] + 1


def lengths_from_data(x):
    return torch.split(x, x[:1].int().tolist() + [3])[0] + 1


def size_from_data(x):
    return torch.zeros(int(x.max())) + 1


def arange_of_item(x):
    return torch.arange(x.max().item()) + 1


def arange_of_size_tensor(x):
    length = torch.tensor(x.shape[0])
    return torch.arange(length.item()) + 1


def index_of_list(x):
    weights = [1.0, 2.0, 3.0, 4.0, 5.0]
    return x + weights[x[0].long()]


def key_of_dict(x):
    weights = {1: 5.0, 2: 6.0}
    return x + weights[int(x[0])]


def index_by_argmax(x):
    return x[x.argmax()] + 1


def index_by_item(x):
    return x[x.argmax().item()] + 1


def assign_at_argmax(x):
    y = x.clone()
    y[int(x.argmax())] = 0
    return y + 1


def choose_layer(x):
    layers = [torch.sin, torch.cos]
    return layers[int(x.sum() > 0)](x)


def numpy_mean(x):
    return x + float(np.mean(x.numpy()))


def numpy_round_trip(x):
    values = x.detach().cpu().numpy()
    return x + torch.from_numpy(values * 2)


def numpy_constant(x):
    return x * np.sqrt(4.0) + np.pi


def numpy_array(x):
    return x + torch.tensor(np.arange(4))


def tensor_of_number(x):
    return x + torch.tensor(3.0)


def tensor_of_tensor(x):
    return x + torch.tensor(x.sum())


def tensor_of_list_of_tensors(x):
    return torch.tensor([x[0], x[1]]) + 1


def tensor_of_items(x):
    return torch.tensor([x[0].item(), x[1].item()]) + 1


def to_cpu(x):
    return x.cpu() + 1


def data_of_tensor(x):
    return x.data + 1


def address(x):
    return x + (1 if x.data_ptr() else 2)


def is_contiguous(x):
    return x + 1 if x.is_contiguous() else x.contiguous()


def text_of_tensor(x):
    return x + len(str(x.sum()))


def repr_of_tensor(x):
    return x + len(repr(x))


def text_of_shape(x):
    return x + len(f"{x.shape}")


def key_is_tensor(x):
    weights = {x: 1}
    return x + weights[x]
