"""The toolkit's settings, in the form of its YAML files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .loopback import free_ports
from .options import Options


def settings(options: Options, executable: Path) -> dict[str, Any]:
    """Return the settings of a run that trains with this executable."""
    first = options.base_port or free_ports(options.workers)
    return {
        "default_settings": _behavior(options),
        "env_settings": {
            "env_path": str(executable),
            "env_args": ["--env", options.env],
            "base_port": first,
            "num_envs": options.workers,
            "seed": options.seed,
        },
        "engine_settings": {"no_graphics": True},
        "checkpoint_settings": {
            "run_id": options.run_id,
            "results_dir": str(options.results_dir),
            "force": True,
        },
        "torch_settings": {"device": "cpu"},
    }


def _behavior(options: Options) -> dict[str, Any]:
    return {
        "trainer_type": "ppo",
        "hyperparameters": {"batch_size": 64, "buffer_size": 512, "learning_rate": 1e-3},
        "network_settings": {"hidden_units": 64, "num_layers": 2, "normalize": False},
        "time_horizon": 64,
        "max_steps": options.steps,
        "summary_freq": max(options.steps // 4, 1),
        "checkpoint_interval": max(options.steps // 2, 1),
        "threaded": options.threaded,
    }
