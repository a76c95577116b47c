"""Random actions in a vector of small envs, each in a process of its own; it knows nothing of being profiled."""

import sys

import gymnasium as gym

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
ENVS = int(sys.argv[2]) if len(sys.argv) > 2 else 8


def make_env():
    return gym.make("CartPole-v1")


def main():
    envs = gym.vector.AsyncVectorEnv([make_env] * ENVS)
    envs.reset(seed=1)
    envs.action_space.seed(1)
    ended = 0
    for _ in range(STEPS):
        _, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
        ended += int((terminated | truncated).sum())
    envs.close()
    print(f"{STEPS * ENVS} steps, {ended} episodes")


if __name__ == "__main__":
    main()
