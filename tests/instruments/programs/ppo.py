"""Proximal policy optimisation in one file, on a vector of small envs; it knows nothing of being profiled."""

import sys

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
VECTOR = sys.argv[2] if len(sys.argv) > 2 else "sync"
ENVS, LENGTH, EPOCHS, PARTS = 3, 16, 2, 2


class Corridor(gym.Env):
    """To the right end of a corridor, a step at a time."""

    observation_space = gym.spaces.Box(0.0, 1.0, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(0, 3))
        return self.observe(), {}

    def step(self, action):
        self.at = max(0, self.at + (1 if action else -1))
        return self.observe(), -0.1, self.at >= 6, False, {}

    def observe(self):
        return np.array([self.at / 6, 1 - self.at / 6], dtype=np.float32)


def make_env():
    return gym.wrappers.TimeLimit(Corridor(), 20)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.value = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, state, action=None):
        chances = Categorical(logits=self.policy(state))
        action = chances.sample() if action is None else action
        return action, chances.log_prob(action), chances.entropy(), self.value(state)[:, 0]


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    kind = gym.vector.SyncVectorEnv if VECTOR == "sync" else gym.vector.AsyncVectorEnv
    envs = kind([make_env] * ENVS)
    agent = Agent()
    optimizer = optim.Adam(agent.parameters(), lr=1e-3)
    state, _ = envs.reset(seed=1)
    state = torch.as_tensor(state)
    updates = 0
    for _ in range(ROUNDS):
        states, actions, chances, rewards, values, ends = [], [], [], [], [], []
        for _ in range(LENGTH):
            with torch.no_grad():
                action, chance, _, value = agent(state)
            after, reward, terminated, truncated, _ = envs.step(action.numpy())
            for kept, one in zip((states, actions, chances, values), (state, action, chance, value)):
                kept.append(one)
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
            ends.append(torch.as_tensor(terminated | truncated, dtype=torch.float32))
            state = torch.as_tensor(after)
        with torch.no_grad():
            following = agent(state)[3]
        advantages, last = [], torch.zeros(ENVS)
        for at in reversed(range(LENGTH)):
            error = rewards[at] + 0.99 * following * (1 - ends[at]) - values[at]
            last = error + 0.99 * 0.95 * (1 - ends[at]) * last
            advantages.insert(0, last)
            following = values[at]
        states_, actions_, chances_ = torch.cat(states), torch.cat(actions), torch.cat(chances)
        advantages_ = torch.cat(advantages)
        goals = advantages_ + torch.cat(values)
        for _ in range(EPOCHS):
            for part in torch.randperm(ENVS * LENGTH).chunk(PARTS):
                _, chance, entropy, value = agent(states_[part], actions_[part])
                ratio = (chance - chances_[part]).exp()
                gain = advantages_[part]
                policy_loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
                loss = policy_loss + 0.5 * (value - goals[part]).pow(2).mean() - 0.01 * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
                updates += 1
    envs.close()
    print(f"{ROUNDS * LENGTH * ENVS} steps, {updates} updates")


if __name__ == "__main__":
    main()
