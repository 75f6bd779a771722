"""Control flow that tensor values decide: if, while, conditional expressions, and/or/not, any/all, loops that end early."""

import torch

state = {"count": 0}


def if_else(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    return y * 2


def if_without_else(x):
    y = x
    if x.sum() > 0:
        y = x + 1
    return y * 2


def if_truth_of_tensor(x):
    if (x > 2).any():
        x = x.clamp(max=2)
    return x * 2


def return_early(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def if_in_if(x):
    if x.sum() > 0:
        if x.max() > 10:
            y = x + 1
        else:
            y = x + 2
    else:
        y = x - 1
    return y


def elif_chain(x):
    if x.sum() > 100:
        y = x + 1
    elif x.sum() > 5:
        y = x + 2
    else:
        y = x + 3
    return y


def if_number_of_tensor(x):
    if x.sum().item() > 0:
        return x + 1
    return x


def in_place_in_branch(x):
    y = x.clone()
    if x.sum() > 0:
        y.mul_(2)
    return y


def counter_in_branch(x):
    if x.sum() > 0:
        state["count"] += 1
    return x + 1


def list_append_in_branch(x):
    parts = [x]
    if x.sum() > 0:
        parts.append(x * 2)
    return torch.cat(parts)


def other_shape_in_branch(x):
    if x.sum() > 0:
        return x[:2]
    return x


def clamp_if_not_finite(x):
    if torch.isinf(x).any() or torch.isnan(x).any():
        limit = torch.finfo(x.dtype).max - 1000
        x = torch.clamp(x, min=-limit, max=limit)
    return x + 1


def sqrt_in_branch(x):
    if x.min() >= 0:
        return x.sqrt()
    return x


def conditional_expression(x):
    y = x + 1 if x.sum() > 0 else x - 1
    return y * 2


def conditional_number(x):
    scale = 2.0 if x.sum() > 0 else 0.5
    return x * scale


def and_of_tensors(x):
    if x.sum() > 0 and x.max() < 10:
        y = x + 1
    else:
        y = x - 1
    return y


def or_of_tensor_and_flag(x, flag=False):
    if flag or x.sum() > 0:
        return x + 1
    return x


def or_as_value(x):
    total = x.sum() or torch.ones(())
    return x / total


def not_of_tensor(x):
    if not (x > 0).all():
        return x + 1
    return x - 1


def not_as_value(x):
    negative = not x.sum() > 0
    return x + (1 if negative else 2)


def chained_comparison(x):
    if 0 < x.sum() < 100:
        return x + 1
    return x


def any_of_generator(x):
    if any(value > 3 for value in x):
        return x + 1
    return x


def all_of_generator(x):
    if all(value > 0 for value in x):
        return x + 1
    return x


def any_of_list(x, other):
    if any([x.sum() > 0, other.sum() > 0]):
        return x + 1
    return x


def max_of_tensors(x):
    return max(x.sum(), x.mean()) + 1


def max_of_tensor_and_number(x):
    return max(x.sum(), 3.0) + 1


def min_of_list(x):
    return min([x.sum(), x.mean()]) + 1


def max_by_key(x, other):
    return max([x, other], key=lambda one: one.sum()) + 1


def sorted_tensors(x):
    return sorted([x[0], x[1]])[0] + 1


def sorted_by_key(x, other):
    return sorted([x, other], key=lambda one: one.sum())[0] + 1


def tensor_in_list(x):
    kept = [x.sum(), x.mean()]
    return x + 1 if x.sum() in kept else x


def match_of_size(x):
    match x.shape[0]:
        case 4:
            return x + 1
        case _:
            return x


def while_tensor(x):
    while x.sum() < 100:
        x = x * 2
    return x


def while_without_gradients(x):
    with torch.no_grad():
        while x.abs().sum() < 100:
            x = x * 2
    return x


def while_number(x):
    steps = 0
    while x.sum().item() < 100:
        x = x * 2
        steps += 1
    return x + steps


def break_out_of_loop(x):
    for _ in range(4):
        x = x * 2
        if x.sum() > 30:
            break
    return x


def continue_in_loop(x):
    total = torch.zeros(())
    for value in x:
        if value < 2:
            continue
        total = total + value
    return total


def return_from_loop(x):
    for _ in range(4):
        x = x * 2
        if x.norm() > 20:
            return x
    return x * 0


def fixed_point(x):
    for _ in range(50):
        new = x - 0.1 * (x - 1)
        if (new - x).abs().max() < 1e-3:
            break
        x = new
    return x


def if_in_loop(x):
    for scale in (1, 2, 3):
        if x.sum() > 10:
            x = x / scale
    return x


def loop_over_tensor(x):
    total = torch.zeros(())
    for value in x:
        total = total + value * value
    return total


def range_of_tensor(x):
    for step in range(int(x[0])):
        x = x + step
    return x


def loop_over_nonzero(x):
    for index in (x > 2).nonzero().flatten():
        x = x + index
    return x


def if_size(x):
    return x + 1 if x.shape[0] > 3 else x


def if_empty(x):
    if x.numel() == 0:
        return x
    return x + 1


def if_any_nonzero(x):
    found = (x > 2).nonzero()
    if len(found) > 0:
        return x + 1
    return x


def if_all_of_constant_mask(x):
    mask = torch.ones(4, dtype=torch.bool)
    if torch.all(mask == 1):
        return x + 1
    return x


def if_equal(x, other):
    if torch.equal(x, other):
        return x + 1
    return x


def if_close(x, other):
    if torch.allclose(x, other):
        return x + 1
    return x


def if_requires_grad(x):
    return x + 1 if x.requires_grad else x + 2
