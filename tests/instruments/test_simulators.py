"""Simulators that need a GPU: their classes as they are named and called, made up.

Names and signatures were compared with the sources of Isaac Lab 2.3.2, ManiSkill 3.0.1 and Genesis 1.4.5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import SimpleNamespace

from support.made_up_library import counts, ticks
from ticktree.instruments import simulators


class ManagerTermBase(ABC):  # noqa: B024 (as there)
    def __init__(self, cfg, env):
        self.cfg = cfg

    def __call__(self, *args):
        raise NotImplementedError


class Manager:
    """What Isaac Lab's managers have in common: each has a class of its own below."""

    def __init__(self, cfg, env):
        self.cfg, self._env = cfg, env

    def terms(self):
        return self.cfg.values() if isinstance(self.cfg, dict) else vars(self.cfg).values()


class ActionTerm(ManagerTermBase):
    @abstractmethod
    def process_actions(self, actions):
        """Once per step."""

    @abstractmethod
    def apply_actions(self):
        """Once per step of the simulation."""


class ActionManager(Manager):
    def __init__(self, cfg, env):
        super().__init__(cfg, env)
        self._terms = [term.class_type(term, env) for term in self.terms()]

    def process_action(self, action):
        for term in self._terms:
            term.process_actions(action)

    def apply_action(self):
        for term in self._terms:
            term.apply_actions()


class CommandTerm(ManagerTermBase):
    def compute(self, dt):
        return None


class CommandManager(Manager):
    def __init__(self, cfg, env):
        super().__init__(cfg, env)
        self._terms = [term.class_type(term, env) for term in self.terms()]

    def compute(self, dt):
        for term in self._terms:
            term.compute(dt)


class CurriculumManager(Manager):
    def __init__(self, cfg, env):
        super().__init__(cfg, env)

    def compute(self, env_ids=None):
        return [term.func(self._env, env_ids, **term.params) for term in self.terms()]


class EventManager(Manager):
    def __init__(self, cfg, env):
        super().__init__(cfg, env)

    def apply(self, mode, env_ids=None, dt=None, global_env_step_count=None):
        return [term.func(self._env, env_ids, **term.params) for term in self.terms()]


class ObservationManager(Manager):
    def __init__(self, cfg, env):
        super().__init__(cfg, env)
        for term in vars(cfg.policy).values():
            if hasattr(term, "func"):
                if isinstance(term.func, type):
                    term.func = term.func(cfg=term, env=env)
                term.func(env, **term.params)  # for its dimensions

    def compute(self, update_history=False):
        return {name: self.compute_group(name, update_history) for name in vars(self.cfg)}

    def compute_group(self, group_name, update_history=False):
        terms = vars(getattr(self.cfg, group_name)).values()
        return [term.func(self._env, **term.params) for term in terms if hasattr(term, "func")]


class RewardManager(Manager):
    def __init__(self, cfg, env):
        super().__init__(cfg, env)

    def compute(self, dt):
        return sum(term.func(self._env, **term.params) for term in self.terms())


class TerminationManager(Manager):
    def __init__(self, cfg, env):
        super().__init__(cfg, env)

    def compute(self):
        return any(term.func(self._env, **term.params) for term in self.terms())


class RecorderManager(Manager):
    def record_pre_step(self):
        return None

    def record_post_step(self):
        return None

    def record_post_physics_decimation_step(self):
        return None

    def record_pre_reset(self, env_ids, force_export_or_skip=None):
        return self.export_episodes(env_ids)

    def record_post_reset(self, env_ids):
        return None

    def export_episodes(self, env_ids=None, demo_ids=None):
        return None


class SimulationContext:
    def step(self, render=True):
        return None

    def render(self, mode=None):
        return None


class InteractiveScene:
    def update(self, dt):
        return None

    def write_data_to_sim(self):
        return None


class ManagerBasedEnv:
    def __init__(self, cfg):
        self.sim, self.scene = SimulationContext(), InteractiveScene()
        self.action_manager = ActionManager(cfg["actions"], self)
        self.observation_manager = ObservationManager(cfg["observations"], self)
        self.reward_manager = RewardManager(cfg["rewards"], self)
        self.termination_manager = TerminationManager(cfg["terminations"], self)
        self.event_manager = EventManager(cfg["events"], self)
        self.command_manager = CommandManager(cfg["commands"], self)
        self.curriculum_manager = CurriculumManager(cfg["curriculum"], self)
        self.recorder_manager = RecorderManager({}, self)

    def step(self, action):
        self.action_manager.process_action(action)
        self.recorder_manager.record_pre_step()
        for _ in range(4):
            self.action_manager.apply_action()
            self.scene.write_data_to_sim()
            self.sim.step(render=False)
            self.scene.update(dt=0.005)
        self.termination_manager.compute()
        reward = self.reward_manager.compute(dt=0.02)
        self.recorder_manager.record_pre_reset([0])
        self.curriculum_manager.compute([0])
        self.event_manager.apply(mode="reset", env_ids=[0])
        self.command_manager.compute(dt=0.02)
        return self.observation_manager.compute(update_history=True), reward


ISAACLAB = {
    "isaaclab.managers.manager_base": [ManagerTermBase],
    "isaaclab.managers.action_manager": [ActionManager, ActionTerm],
    "isaaclab.managers.command_manager": [CommandManager, CommandTerm],
    "isaaclab.managers.curriculum_manager": [CurriculumManager],
    "isaaclab.managers.event_manager": [EventManager],
    "isaaclab.managers.observation_manager": [ObservationManager],
    "isaaclab.managers.reward_manager": [RewardManager],
    "isaaclab.managers.termination_manager": [TerminationManager],
    "isaaclab.managers.recorder_manager": [RecorderManager],
    "isaaclab.sim.simulation_context": [SimulationContext],
    "isaaclab.scene.interactive_scene": [InteractiveScene],
    "isaaclab.envs.manager_based_env": [ManagerBasedEnv],
}


def term(func, **params):
    return SimpleNamespace(func=func, params=params)


def speed(env, scale=1.0):
    return 2.0 * scale


def is_late(env):
    return False


def push(env, env_ids):
    return None


def isaaclab_config():
    class History(ManagerTermBase):
        def __call__(self, env):
            return 1.0

    class Joints(ActionTerm):
        def process_actions(self, actions):
            return None

        def apply_actions(self):
            return None

    policy = SimpleNamespace(concatenate_terms=True, speed=term(speed), last=term(History))
    return {
        "actions": SimpleNamespace(
            arm=SimpleNamespace(class_type=Joints), legs=SimpleNamespace(class_type=Joints)
        ),
        "observations": SimpleNamespace(policy=policy),
        "rewards": SimpleNamespace(track=term(speed), energy=term(speed, scale=-0.5)),
        "terminations": {"time_out": term(is_late)},
        "events": SimpleNamespace(push_robot=term(push)),
        "commands": SimpleNamespace(goal=SimpleNamespace(class_type=CommandTerm)),
        "curriculum": SimpleNamespace(terrain=term(push)),
    }


def test_isaaclab_each_term_of_each_manager_has_a_row(install, losses):
    recorder = install(simulators.ISAACLAB, ISAACLAB)
    config = isaaclab_config()
    env = ManagerBasedEnv(config)
    for _ in range(3):
        assert env.step(0) == ({"policy": [2.0, 1.0]}, 1.0)
    del env
    assert ticks(recorder) == {"env": 2}
    step = "env/env.step"
    found = counts(recorder)
    assert {
        path.removeprefix(f"{step}/"): count for path, count in found.items() if path.startswith(f"{step}/")
    } == {
        "action manager": 15,
        "action manager/action arm": 15,
        "action manager/action legs": 15,
        "scene write_data_to_sim": 12,
        "sim step": 12,
        "scene update": 12,
        "recorder manager": 6,
        "termination manager": 3,
        "termination manager/termination time_out": 3,
        "reward manager": 3,
        "reward manager/reward track": 3,
        "reward manager/reward energy": 3,
        "curriculum manager": 3,
        "curriculum manager/curriculum terrain": 3,
        "event manager": 3,
        "event manager/event push_robot": 3,
        "command manager": 3,
        "command manager/command goal": 3,
        "observation manager": 3,
        "observation manager/observation policy speed": 3,
        "observation manager/observation policy last": 3,
    }
    assert losses == []


def test_isaaclab_a_terms_function_is_put_back_and_is_what_it_was_meanwhile(install):
    install(simulators.ISAACLAB, ISAACLAB)
    config = isaaclab_config()
    ManagerBasedEnv(config)
    ManagerBasedEnv(config)  # the same configuration for another env
    func = config["rewards"].track.func
    assert (func.__name__, func.__module__, func(None, scale=2.0)) == ("speed", __name__, 4.0)
    simulators.ISAACLAB.uninstall()
    assert config["rewards"].track.func is speed
    assert config["events"].push_robot.func is push


class BaseAgent:
    def set_action(self, action):
        return None


class ManiSkillScene:
    def step(self):
        return None

    def update_render(self, update_sensors=True, update_human_render_cameras=True):
        return None


class BaseEnv:
    def __init__(self):
        self.agent, self.scene = BaseAgent(), ManiSkillScene()

    def step(self, action):
        self.agent.set_action(action)
        for _ in range(5):
            self.scene.step()
        info = self.get_info()
        obs = self.get_obs(info, unflattened=True)
        return obs, self.get_reward(obs=obs, action=action, info=info), info

    def get_info(self):
        return self.evaluate()

    def evaluate(self):
        return {}

    def get_obs(self, info=None, unflattened=False):
        self.scene.update_render()
        self.capture_sensor_data()
        return self.get_sensor_images()

    def capture_sensor_data(self):
        return None

    def get_sensor_images(self):
        return {}

    def get_reward(self, obs, action, info):
        return 0.0


def test_mani_skill_a_step_has_a_row_for_each_part_also_where_a_task_defines_it(install, losses):
    recorder = install(
        simulators.MANI_SKILL,
        {
            "mani_skill.envs.sapien_env": [BaseEnv],
            "mani_skill.envs.scene": [ManiSkillScene],
            "mani_skill.agents.base_agent": [BaseAgent],
        },
    )

    class PickCube(BaseEnv):
        def evaluate(self):
            return {"success": True, **super().evaluate()}

    env = PickCube()
    for _ in range(2):
        assert env.step(0) == ({}, 0.0, {"success": True})
    assert counts(recorder) == {
        "agent set_action": 2,
        "scene step": 10,
        "get_info": 2,
        "get_info/evaluate": 2,
        "get_obs": 2,
        "get_obs/scene update_render": 2,
        "get_obs/capture_sensor_data": 2,
        "get_obs/get_sensor_images": 2,
        "get_reward": 2,
    }
    assert losses == []


class Simulator:
    def step(self, in_backward=False):
        return None


class Visualizer:
    def update_on_sim_step(self, advanced, auto=None):
        return None


class Camera:
    def render(self, rgb=True):
        return rgb


class Scene:
    def __init__(self):
        self.sim, self.visualizer = Simulator(), Visualizer()

    def build(self, n_envs=0):
        return None

    def reset(self, state=None, envs_idx=None):
        return None

    def read_sensors(self, envs_idx=None):
        return {}

    def step(self, update_visualizer=True, refresh_visualizer=True):
        self.sim.step()
        self.visualizer.update_on_sim_step(advanced=True, auto=refresh_visualizer)


GENESIS = {
    "genesis.engine.scene": [Scene],
    "genesis.engine.simulator": [Simulator],
    "genesis.vis.visualizer": [Visualizer],
    "genesis.vis.camera": [Camera],
}


def test_genesis_a_scenes_steps_are_ticks_in_a_program_that_marks_nothing(install, losses):
    recorder = install(simulators.GENESIS, GENESIS)
    scene, camera = Scene(), Camera()
    scene.build(n_envs=4)
    for _ in range(4):
        scene.step()
        assert camera.render()
    del scene
    assert ticks(recorder) == {"scene": 3}
    assert counts(recorder) == {
        "scene.build": 1,
        "scene": 3,
        "scene/scene.step": 4,
        "scene/scene.step/sim.step": 4,
        "scene/scene.step/visualizer.update_on_sim_step": 4,
        "scene/camera.render": 4,
    }
    assert losses == []


def test_what_a_module_lacks_is_a_loss_and_the_program_does_what_it_did(install, losses):
    recorder = install(simulators.GENESIS, {**GENESIS, "genesis.engine.simulator": []})
    Scene().step()
    assert [loss.target for loss in losses] == ["genesis.engine.simulator"]
    assert counts(recorder)["scene/scene.step"] == 1
