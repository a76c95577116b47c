import numpy as np
import pytest
import torch
from rest_racing.controller import ActionMerger, AuxiliaryMerge, MultiModelController
from rest_racing.policies import (
    IMAGE_SIZE,
    IMAGE_STACK,
    STATE_DIM,
    WINDOW,
    Normalizer,
    Policy,
    PolicySet,
    prepare_obs,
    random_columns,
)


def policies(count=3):
    torch.manual_seed(1)
    made = []
    for number in range(count):
        policy = Policy(random_columns(number, 0)).eval()
        policy.mean.normal_()
        policy.scale.uniform_(0.5, 2.0)
        made.append(policy)
    return made


def observation(chosen, seed=0):
    rng = np.random.default_rng(seed)
    window, images = rng.normal(size=WINDOW), rng.random((IMAGE_STACK, IMAGE_SIZE, IMAGE_SIZE), np.float32)
    return prepare_obs([Normalizer(policy) for policy in chosen], window, images)


def test_sliced_inputs_are_narrower_and_lead_to_the_same_actions():
    sliced = policies()
    wide = [policy.widen() for policy in sliced]
    given, all_of_it = observation(sliced), observation(wide)
    assert {whole.shape[1] for whole in all_of_it.inputs} == {WINDOW}
    assert all(mine.shape[1] < 0.6 * WINDOW for mine in given.inputs)
    few, many = MultiModelController(sliced), MultiModelController(wide)
    for seed in range(3):
        one, other = few.step(observation(sliced, seed)), many.step(observation(wide, seed))
        assert np.allclose(one.env_action, other.env_action, atol=1e-4)
        assert torch.allclose(one.weights, other.weights, atol=1e-4)


def test_an_action_is_the_weighted_mean_and_within_bounds():
    actions = torch.tensor([[0.5, 3.0], [-0.5, 3.0]])
    seen = observation(policies(2))
    action, states = ActionMerger().step(actions, torch.zeros(2, STATE_DIM), torch.tensor([0.75, 0.25]), seen)
    assert action.steer == pytest.approx(0.25)
    assert action.pedal == 1.0
    assert states.shape == (2, STATE_DIM + 4)
    assert torch.equal(states[0, -2:], seen.measured)


def test_who_foretells_what_the_car_does_is_believed():
    """The first says that nothing changes, and nothing does; the second expects it to be faster each time."""
    known, wrong = policies(2)
    for policy, expected in ((known, 0.0), (wrong, 0.2)):
        with torch.no_grad():
            policy.auxiliary[2].weight.zero_()
            policy.auxiliary[2].bias.copy_(torch.tensor([expected, 0.0]))
    merge = AuxiliaryMerge([known, wrong])
    assert merge.weights.tolist() == [0.5, 0.5]
    with torch.inference_mode():
        for _ in range(20):
            merge.update(torch.zeros(2, STATE_DIM + 4))
    assert merge.weights[0] > 0.99
    assert merge.weights.sum() == pytest.approx(1.0)


def test_one_pilot_is_merged_with_nobody():
    (alone,) = policies(1)
    seen = observation([alone])
    result = MultiModelController([alone]).step(seen)
    with torch.inference_mode():
        action = alone(seen.inputs[0], seen.images)[0].clamp(-1.0, 1.0)
    assert np.allclose(result.env_action, action[0], atol=1e-6)
    assert result.weights.tolist() == [1.0]


def test_pilots_come_back_from_a_file_as_they_were(tmp_path):
    many, (one,) = policies(2), policies(1)
    PolicySet(many, one).save(tmp_path / "pilots.pt")
    back = PolicySet.load(tmp_path / "pilots.pt")
    assert len(back.many) == 2
    for mine, theirs in zip([*many, one], [*back.many, back.one]):
        states = mine.state_dict(), theirs.state_dict()
        assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
