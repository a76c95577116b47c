"""The policy: sb3-contrib's recurrent one with a ConvLSTM in the place of its LSTM."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from ticktree.compat.profiling import profile, profile_function

from .network import ConvLstmNetwork, Shape


class ConvLstmPolicy(RecurrentActorCriticPolicy):
    """Actor and critic on one ConvLSTM, whose state goes from step to step and through the rollout buffer.

    A features extractor has no state of its own between steps. So the pictures reach `_process_sequence` as they are,
    laid flat, and everything is the network's: what the library takes for an LSTM.

    Args:
        observation_space: pictures, channels first.
        action_space: what can be done.
        lr_schedule: the learning rate over the run.
        shape: of the network.
        **others: as the library's policy takes them.
    """

    lstm_actor: ConvLstmNetwork  # type: ignore[assignment]

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        lr_schedule: Schedule,
        shape: Shape = Shape(),  # noqa: B008 - immutable
        **others: Any,
    ) -> None:
        shape = Shape(*shape)  # a saved model has it as a list
        # The library makes an LSTM of this size, which the heads take their input's size from, and which goes away.
        given: dict[str, Any] = {
            "lstm_hidden_size": shape.features,
            "shared_lstm": True,
            "enable_critic_lstm": False,
        }
        super().__init__(observation_space, action_space, lr_schedule, **given, **others)
        colours, height, width = observation_space.shape
        self.lstm_actor = ConvLstmNetwork((colours, height, width), shape)
        self.lstm_hidden_state_shape = (shape.layers, 1, self.lstm_actor.hidden_size)
        rate = lr_schedule(1)
        self.optimizer = self.optimizer_class(self.parameters(), lr=rate, **self.optimizer_kwargs)  # type: ignore[call-arg]
        self.shape = shape

    @staticmethod
    def _process_sequence(  # type: ignore[override]
        features: Tensor, lstm_states: tuple[Tensor, ...], episode_starts: Tensor, lstm: ConvLstmNetwork
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Run the network along sequences: one step of each environment, or the pieces of a batch."""
        with profile("recurrent_policy_get_hidden_states"):
            memory = lstm.unfold(lstm_states)
        latent, after = lstm(features.reshape(-1, *lstm.picture), memory, episode_starts)
        return latent, lstm.fold(after)

    @profile_function("recurrent_policy_forward", track_memory=True)
    def forward(  # type: ignore[override]
        self, obs: Tensor, lstm_states: RNNStates, episode_starts: Tensor, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, Tensor, RNNStates]:
        """Return actions, their values and log-probabilities, and the states after this step."""
        pictures = self.extract_features(obs)
        assert isinstance(pictures, Tensor)  # actor and critic share them
        latent, after = self._process_sequence(pictures, lstm_states.pi, episode_starts, self.lstm_actor)
        with profile("recurrent_policy_action_value"):
            values: Tensor = self.value_net(self.mlp_extractor.forward_critic(latent))
            with profile("recurrent_policy_action_dist"):
                distribution = self._get_action_dist_from_latent(self.mlp_extractor.forward_actor(latent))
            with profile("recurrent_policy_action_sampling"):
                actions = distribution.get_actions(deterministic=deterministic)
            log_probabilities = distribution.log_prob(actions)
        # The critic has no state of its own: the library keeps two, and gets the same one twice.
        return actions, values, log_probabilities, RNNStates(after, after)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters = super()._get_constructor_parameters()
        return {**parameters, "shape": self.shape}


def count_parameters(policy: torch.nn.Module) -> int:
    """Return how many numbers are learned."""
    return sum(parameter.numel() for parameter in policy.parameters() if parameter.requires_grad)
