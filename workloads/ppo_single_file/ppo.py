#!/usr/bin/env python3
"""PPO in one file (Schulman et al., arXiv:1707.06347), in the style of CleanRL. It does not import ticktree."""

from __future__ import annotations

import argparse
import random
import time

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn, optim
from torch.distributions import Categorical


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env-id", default="CartPole-v1", help="an environment with discrete actions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--total-timesteps", type=int, default=100_000)
    parser.add_argument("--num-envs", type=int, default=4)
    parser.add_argument("--num-steps", type=int, default=128, help="steps per environment and rollout")
    parser.add_argument("--learning-rate", type=float, default=2.5e-4)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--num-minibatches", type=int, default=4)
    parser.add_argument("--update-epochs", type=int, default=4)
    parser.add_argument("--clip-coef", type=float, default=0.2)
    parser.add_argument("--ent-coef", type=float, default=0.01)
    parser.add_argument("--vf-coef", type=float, default=0.5)
    parser.add_argument("--max-grad-norm", type=float, default=0.5)
    args = parser.parse_args()
    args.batch_size = args.num_envs * args.num_steps
    args.minibatch_size = args.batch_size // args.num_minibatches
    if args.minibatch_size < 2:
        parser.error("--num-envs times --num-steps must be at least twice --num-minibatches")
    return args


def layer_init(layer: nn.Linear, std: float = np.sqrt(2)) -> nn.Linear:
    """Initialize a layer's weights orthogonally."""
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    """Separate networks for actor and critic."""

    def __init__(self, envs: gym.vector.VectorEnv) -> None:
        super().__init__()
        obs_dim = int(np.prod(envs.single_observation_space.shape))
        self.critic = nn.Sequential(
            *(layer_init(nn.Linear(obs_dim, 64)), nn.Tanh()),
            *(layer_init(nn.Linear(64, 64)), nn.Tanh()),
            layer_init(nn.Linear(64, 1), std=1.0),
        )
        self.actor = nn.Sequential(
            *(layer_init(nn.Linear(obs_dim, 64)), nn.Tanh()),
            *(layer_init(nn.Linear(64, 64)), nn.Tanh()),
            layer_init(nn.Linear(64, int(envs.single_action_space.n)), std=0.01),
        )

    def get_value(self, obs: Tensor) -> Tensor:
        """Values, (batch,)."""
        return self.critic(obs).squeeze(-1)

    def get_action_and_value(
        self, obs: Tensor, action: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Actions, their log-probabilities, the policy's entropy, and values."""
        probs = Categorical(logits=self.actor(obs))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.get_value(obs)


if __name__ == "__main__":
    args = parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    envs = gym.vector.SyncVectorEnv(
        [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make(args.env_id)) for _ in range(args.num_envs)],
        autoreset_mode=gym.vector.AutoresetMode.SAME_STEP,
    )
    agent = Agent(envs)
    optimizer = optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    shape = (args.num_steps, args.num_envs)
    obs = torch.zeros((*shape, *envs.single_observation_space.shape))
    actions = torch.zeros(shape, dtype=torch.long)
    logprobs, rewards, dones, values = (torch.zeros(shape) for _ in range(4))

    start_time = time.time()
    next_obs = torch.as_tensor(envs.reset(seed=args.seed)[0], dtype=torch.float32)
    next_done = torch.zeros(args.num_envs)
    episode_returns: list[float] = []
    num_iterations = max(1, args.total_timesteps // args.batch_size)

    for iteration in range(1, num_iterations + 1):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1.0 - (iteration - 1) / num_iterations)

        # Rollout
        for step in range(args.num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                actions[step], logprobs[step], _, values[step] = agent.get_action_and_value(next_obs)
            step_obs, reward, terminations, truncations, infos = envs.step(actions[step].numpy())
            rewards[step] = torch.as_tensor(reward, dtype=torch.float32)
            next_obs = torch.as_tensor(step_obs, dtype=torch.float32)
            next_done = torch.as_tensor(terminations | truncations, dtype=torch.float32)
            if "final_info" in infos:
                episode_returns += infos["final_info"]["episode"]["r"][infos["_final_info"]].tolist()

        # Generalized advantage estimation
        with torch.no_grad():
            next_value = agent.get_value(next_obs)
        advantages = torch.zeros(shape)
        last_gae = torch.zeros(args.num_envs)
        for t in reversed(range(args.num_steps)):
            not_done = 1.0 - (next_done if t == args.num_steps - 1 else dones[t + 1])
            value_after = next_value if t == args.num_steps - 1 else values[t + 1]
            delta = rewards[t] + args.gamma * value_after * not_done - values[t]
            advantages[t] = last_gae = delta + args.gamma * args.gae_lambda * not_done * last_gae
        returns = advantages + values

        # Update
        b_obs = obs.flatten(0, 1)
        b_actions, b_logprobs, b_advantages, b_returns = (
            tensor.flatten() for tensor in (actions, logprobs, advantages, returns)
        )
        for _ in range(args.update_epochs):
            for mb in torch.randperm(args.batch_size).split(args.minibatch_size):
                _, new_logprob, entropy, new_value = agent.get_action_and_value(b_obs[mb], b_actions[mb])
                ratio = (new_logprob - b_logprobs[mb]).exp()
                mb_advantages = b_advantages[mb]
                mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
                clipped_ratio = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = torch.max(-mb_advantages * ratio, -mb_advantages * clipped_ratio).mean()
                v_loss = 0.5 * ((new_value - b_returns[mb]) ** 2).mean()
                loss = pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

        if iteration % 10 == 0 or iteration == num_iterations:
            recent = np.mean(episode_returns[-50:]) if episode_returns else float("nan")
            print(f"global_step={iteration * args.batch_size} episodic_return={recent:.1f}", flush=True)

    sps = num_iterations * args.batch_size / (time.time() - start_time)
    print(f"SPS: {sps:.0f}")
    envs.close()
