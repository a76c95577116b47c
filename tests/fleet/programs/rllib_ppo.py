"""RLlib's PPO on CartPole: two env runners and one learner, three iterations."""

import json
import warnings

warnings.simplefilter("ignore")

import ray  # noqa: E402
from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402

ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False)
config = (
    PPOConfig()
    .environment("CartPole-v1")
    .env_runners(num_env_runners=2)
    .learners(num_learners=1)
    .training(train_batch_size_per_learner=200, minibatch_size=64, num_epochs=1)
)
algorithm = config.build_algo()
for _ in range(3):
    algorithm.train()
algorithm.stop()
ray.shutdown()
print(json.dumps({}))
