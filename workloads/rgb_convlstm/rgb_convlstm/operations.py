"""The names of what is timed, by what it belongs to."""

from __future__ import annotations

ENVIRONMENT = (
    "env_rgb_observation_generation",
    "env_rgb_rendering",
    "env_rgb_resizing",
    "env_rgb_draw_grid",
    "env_rgb_draw_walls",
    "env_rgb_draw_robots",
    "env_rgb_draw_target",
)
MODEL = (
    "convlstm_forward_pass",
    "convlstm_boundary_padding",
    "convlstm_conv_encoder",
    "convlstm_skip_connection",
    "convlstm_layers",
    "convlstm_global_pooling",
    "convlstm_projection",
)
POLICY = (
    "recurrent_policy_forward",
    "recurrent_policy_get_hidden_states",
    "recurrent_policy_action_value",
    "recurrent_policy_action_dist",
    "recurrent_policy_action_sampling",
)
TRAINING = ("training_total",)
# Only in test_profiling.py.
SIMULATED = ("simulated_training_step", "simulated_data_collection", "simulated_model_update")
