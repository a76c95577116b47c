"""sb3-contrib's recurrent policy with a ConvLSTM in place of its LSTM."""

from __future__ import annotations

from typing import Any

from gymnasium import spaces
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from ticktree.compat.profiling import profile, profile_function

from .networks import ConvLstmNetwork, NetworkConfig


class ConvLstmPolicy(RecurrentActorCriticPolicy):
    """Actor and critic on one ConvLSTM, whose state goes from step to step and through the rollout buffer.

    A features extractor has no state between steps. So the images reach `_process_sequence` flattened and otherwise
    unchanged, and the whole network stands where the library has its LSTM.

    Args:
        observation_space: Images, channels first.
        action_space: Discrete actions.
        lr_schedule: The learning rate over the run.
        network: Sizes of the network.
        **kwargs: The library's policy's own.
    """

    lstm_actor: ConvLstmNetwork  # type: ignore[assignment]

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        lr_schedule: Schedule,
        network: NetworkConfig = NetworkConfig(),  # noqa: B008 - immutable
        **kwargs: Any,
    ) -> None:
        network = NetworkConfig(*network)  # a saved model has it as a list
        # The library makes an LSTM of this size, gives its size to the heads, and is then given another.
        kwargs |= {"lstm_hidden_size": network.features, "shared_lstm": True, "enable_critic_lstm": False}
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)
        channels, height, width = observation_space.shape
        self.lstm_actor = ConvLstmNetwork((channels, height, width), network)
        self.lstm_hidden_state_shape = (network.layers, 1, self.lstm_actor.hidden_size)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]
        self.network = network

    @staticmethod
    def _process_sequence(  # type: ignore[override]
        features: Tensor, lstm_states: tuple[Tensor, ...], episode_starts: Tensor, lstm: ConvLstmNetwork
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Run the network along sequences: one step of each environment, or the sequences of a batch."""
        with profile("recurrent_policy_get_hidden_states"):
            state = lstm.unflatten_state(lstm_states)
        latent, state = lstm(features.reshape(-1, *lstm.image_shape), state, episode_starts)
        return latent, lstm.flatten_state(state)

    @profile_function("recurrent_policy_forward", track_memory=True)
    def forward(  # type: ignore[override]
        self, obs: Tensor, lstm_states: RNNStates, episode_starts: Tensor, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, Tensor, RNNStates]:
        """Return actions, values, log-probabilities, and the states after this step."""
        images = self.extract_features(obs)
        assert isinstance(images, Tensor)  # actor and critic share them
        latent, state = self._process_sequence(images, lstm_states.pi, episode_starts, self.lstm_actor)
        with profile("recurrent_policy_action_value"):
            values: Tensor = self.value_net(self.mlp_extractor.forward_critic(latent))
            with profile("recurrent_policy_action_dist"):
                distribution = self._get_action_dist_from_latent(self.mlp_extractor.forward_actor(latent))
            with profile("recurrent_policy_action_sampling"):
                actions = distribution.get_actions(deterministic=deterministic)
            log_prob = distribution.log_prob(actions)
        # The critic has no separate state: the library keeps two, and gets the same one twice.
        return actions, values, log_prob, RNNStates(state, state)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "network": self.network}
