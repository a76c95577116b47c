"""A rollout of a vector of envs, each in a wrapper; it knows nothing of being profiled."""

import sys

import gymnasium as gym
import numpy as np

VECTOR, METHOD, STEPS = sys.argv[1], sys.argv[2], int(sys.argv[3])


class Counter(gym.Env):
    """Counts its steps."""

    observation_space = gym.spaces.Box(0, 1000, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.count += 1
        return np.full(1, self.count, np.float32), 1.0, False, False, {}


def make_env():
    return gym.wrappers.TimeLimit(Counter(), 10)


def main():
    if VECTOR == "sync":
        envs = gym.vector.SyncVectorEnv([make_env] * 2)
    else:
        envs = gym.vector.AsyncVectorEnv([make_env] * 2, context=METHOD)
    envs = gym.wrappers.vector.RecordEpisodeStatistics(envs)
    envs.reset(seed=1)
    total = 0.0
    for _ in range(STEPS):
        total += envs.step(np.ones(2, int))[1].sum()
    envs.close()
    print(f"reward {total}")


if __name__ == "__main__":
    main()
