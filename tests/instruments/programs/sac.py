"""Soft actor-critic in one file, on a small continuous task of its own; it knows nothing of being profiled."""

import random
import sys

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 120
STARTS = 40  # steps at random before learning begins
BATCH = 32


class Target(gym.Env):
    """A point that is pushed towards the origin."""

    observation_space = gym.spaces.Box(-4.0, 4.0, (4,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1, 1, 2)
        self.speed = np.zeros(2)
        return self.observe(), {}

    def step(self, action):
        self.speed = 0.8 * self.speed + 0.2 * np.asarray(action, dtype=np.float64)
        self.place = np.clip(self.place + 0.1 * self.speed, -4, 4)
        far = float(np.linalg.norm(self.place))
        return self.observe(), -far, far < 0.05, False, {}

    def observe(self):
        return np.concatenate([self.place, self.speed]).astype(np.float32)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, state, action):
        return self.layers(torch.cat([state, action], 1))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.mean, self.spread = nn.Linear(32, 2), nn.Linear(32, 2)

    def forward(self, state):
        hidden = self.layers(state)
        return self.mean(hidden), torch.tanh(self.spread(hidden)) - 1.0

    def act(self, state):
        mean, spread = self(state)
        normal = torch.distributions.Normal(mean, spread.exp())
        raw = normal.rsample()
        action = torch.tanh(raw)
        chance = normal.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)
        return action, chance.sum(1, keepdim=True)


def main():
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    env = gym.wrappers.RecordEpisodeStatistics(gym.wrappers.TimeLimit(Target(), 25))
    actor, critics = Actor(), [Critic(), Critic()]
    targets = [Critic(), Critic()]
    for target, critic in zip(targets, critics):
        target.load_state_dict(critic.state_dict())
    actor_optimizer = optim.Adam(actor.parameters(), lr=3e-4)
    critic_optimizer = optim.Adam([p for critic in critics for p in critic.parameters()], lr=1e-3)
    memory = []
    state, _ = env.reset(seed=1)
    episodes, updates = 0, 0
    for step in range(STEPS):
        if step < STARTS:
            action = env.action_space.sample()
        else:
            with torch.no_grad():
                action = actor.act(torch.as_tensor(state)[None])[0][0].numpy()
        after, reward, terminated, truncated, _ = env.step(action)
        memory.append((state, action, reward, after, terminated))
        state = after
        if terminated or truncated:
            episodes += 1
            state, _ = env.reset()
        if step < STARTS:
            continue
        batch = [
            torch.as_tensor(np.array(part, dtype=np.float32)) for part in zip(*random.sample(memory, BATCH))
        ]
        states, actions, rewards, afters, ends = batch
        with torch.no_grad():
            following, chance = actor.act(afters)
            worth = torch.min(*(target(afters, following) for target in targets)) - 0.1 * chance
            goal = rewards[:, None] + 0.99 * (1 - ends[:, None]) * worth
        critic_loss = sum(nn.functional.mse_loss(critic(states, actions), goal) for critic in critics)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        chosen, chance = actor.act(states)
        actor_loss = (0.1 * chance - torch.min(*(critic(states, chosen) for critic in critics))).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        for target, critic in zip(targets, critics):
            for old, new in zip(target.parameters(), critic.parameters()):
                old.data.lerp_(new.data, 0.005)
        updates += 1
    env.close()
    print(f"{STEPS} steps, {episodes} episodes, {updates} updates")


if __name__ == "__main__":
    main()
