"""Objects of one class told apart by numbers, which are used again."""

from __future__ import annotations

from ticktree.instruments.torch.instances import MAX_NUMBER, Instances


class Critic:
    pass


class OptimizedModule:
    def __init__(self, module):
        self._orig_mod = module


def names():
    return Instances(lambda name, _: name)


def test_objects_of_a_class_are_numbered_as_they_are_met():
    instances, one, other = names(), Critic(), Critic()
    assert [instances.get(each) for each in (one, other, one)] == ["Critic", "Critic 2", "Critic"]


def test_the_number_of_one_that_is_gone_is_given_to_the_next():
    instances, kept = names(), Critic()
    assert instances.get(kept) == "Critic"
    for _ in range(100):
        assert instances.get(Critic()) == "Critic 2"
    assert len(instances._by_id) == 1


def test_beyond_so_many_they_share_a_name():
    instances = names()
    many = [Critic() for _ in range(MAX_NUMBER + 5)]
    found = [instances.get(each) for each in many]
    assert found[MAX_NUMBER - 1] == f"Critic {MAX_NUMBER}"
    assert set(found[MAX_NUMBER:]) == {"Critic, others"}


def test_what_torch_compile_made_of_a_module_is_the_module():
    instances, one, other = names(), Critic(), Critic()
    assert [instances.get(each) for each in (one, OptimizedModule(other), OptimizedModule(one), other)] == [
        *("Critic", "Critic 2", "Critic", "Critic 2")
    ]


def test_an_optimizer_that_lightning_stands_around_is_the_optimizer():
    class LightningCritic:
        def __init__(self, optimizer):
            self._optimizer = optimizer

    instances, one = names(), Critic()
    assert [instances.get(each) for each in (LightningCritic(one), one)] == ["Critic", "Critic"]
    assert instances.get(LightningCritic("of another kind")) == "LightningCritic"


def test_what_is_made_for_a_name_is_made_once():
    made = []
    instances = Instances(lambda name, thing: made.append(name) or name)
    for _ in range(3):
        instances.get(Critic())
    assert made == ["Critic"]
