"""Policies of Stable-Baselines3: what a training step computes."""

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.dqn.policies import DQNPolicy
from stable_baselines3.sac.policies import SACPolicy
from stable_baselines3.td3.policies import TD3Policy

SEEN = spaces.Box(-1, 1, (4,), np.float32)
MOVES = spaces.Box(-1, 1, (2,), np.float32)


def rate(_):
    return 1e-3


def seen():
    return torch.rand(6, 4, generator=torch.Generator().manual_seed(1)) * 2 - 1


def graphmend_entry_actor_critic_discrete():
    policy = ActorCriticPolicy(SEEN, spaces.Discrete(3), rate)
    return policy.evaluate_actions, (seen(), torch.tensor([0, 1, 2, 0, 1, 2]))


def graphmend_entry_actor_critic_continuous():
    policy = ActorCriticPolicy(SEEN, MOVES, rate)
    return policy.evaluate_actions, (seen(), torch.zeros(6, 2))


def graphmend_entry_actor_critic_act():
    return ActorCriticPolicy(SEEN, MOVES, rate), {"obs": seen(), "deterministic": True}


def graphmend_entry_q_network():
    return DQNPolicy(SEEN, spaces.Discrete(3), rate).q_net, (seen(),)


def graphmend_entry_soft_actor():
    return SACPolicy(SEEN, MOVES, rate).actor.action_log_prob, (seen(),)


def graphmend_entry_soft_critic():
    return SACPolicy(SEEN, MOVES, rate).critic, (seen(), torch.zeros(6, 2))


def graphmend_entry_deterministic_actor():
    return TD3Policy(SEEN, MOVES, rate).actor, (seen(),)
