"""Proximal policy optimisation of Stable-Baselines3 on CartPole; it knows nothing of being profiled."""

import sys

import torch
from stable_baselines3 import PPO

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 256


def main():
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=128, batch_size=64, n_epochs=4, seed=1, device="cpu")
    model.learn(STEPS)
    print(f"{model.num_timesteps} steps")


if __name__ == "__main__":
    main()
