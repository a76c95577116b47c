"""The transport between nodes of a Ray cluster, without Ray: nodes answer, stay silent, die."""

from __future__ import annotations

import gzip
import sys
from types import SimpleNamespace

import pytest

from ticktree.fleet import ray_transport
from ticktree.fleet.ray_transport import RayTransport
from ticktree.fleet.transport import PublishedPart
from ticktree.profile import Node, Profile, Stats

OWN_NODE = "own"


class Cluster:
    """A stand-in for the `ray` module. A request is the list of its answer, empty if the node does not answer."""

    def __init__(self):
        self.now_s = 100.0
        self.alive = {OWN_NODE, "a", "b"}
        self.silent = set()
        self.broken = set()
        self.started = []
        self.transports = {}
        self.last = {}

    def nodes(self):
        return [{"NodeID": name, "Alive": name in self.alive} for name in (OWN_NODE, "a", "b", "c")]

    def wait(self, requests, num_returns, timeout):
        assert (num_returns, timeout) == (len(requests), 0.0)
        ready = [request for request in requests if request.answers]
        return ready, [request for request in requests if not request.answers]

    def get(self, request):
        (answer,) = request.answers
        if isinstance(answer, Exception):
            raise answer
        return answer

    def start(self, name):
        self.started.append(name)
        self.transports.setdefault(name, RayTransport())

        def method(read):
            def remote():
                if name in self.broken:
                    self.broken.remove(name)
                    return Request([RuntimeError("the actor died")])
                return Request([] if name in self.silent else [read()])

            return SimpleNamespace(remote=remote)

        def finish():
            if name in self.last:
                self.transports[name].publish(self.last[name], 9)
            return self.transports[name].answer()

        return SimpleNamespace(read=method(self.transports[name].answer), finish=method(finish))


class Request(SimpleNamespace):
    def __init__(self, answers):
        super().__init__(answers=answers)

    __hash__ = object.__hash__


@pytest.fixture
def cluster(monkeypatch):
    cluster = Cluster()
    monkeypatch.setitem(sys.modules, "ray", cluster)
    monkeypatch.setattr(ray_transport, "time", SimpleNamespace(monotonic=lambda: cluster.now_s))
    return cluster


@pytest.fixture
def transport(cluster):
    transport = RayTransport(cluster.start, OWN_NODE)
    assert list(transport.collect()) == []
    return transport


def part(name, count, *, is_last=False):
    step = Node(name="step", self_ns=count, steady=Stats.of([1] * count))
    profile = Profile(root=Node(name="root", children={"step": step}))
    return PublishedPart(name).holding(profile, is_last=is_last)


def profile_of(published):
    return Profile.from_json(gzip.decompress(published.packed))


def test_a_node_has_an_actor_and_the_gatherers_own_node_has_none(cluster, transport):
    assert sorted(cluster.started) == ["a", "b"]
    cluster.alive.add("c")
    list(transport.collect())
    assert sorted(cluster.started) == ["a", "b", "c"]


def test_a_published_part_is_collected_once(cluster, transport):
    cluster.transports["a"].publish(part("a", 1), 1)
    cluster.transports["a"].publish(part("a", 2), 2)
    cluster.now_s += 60
    assert list(transport.collect()) == [part("a", 2)]
    cluster.now_s += 60
    assert list(transport.collect()) == []


def test_a_node_with_slow_answers_is_polled_less_often(cluster, transport):
    """At most a twentieth of one core: an answer that took a second is followed by twenty without a request."""
    cluster.silent.add("a")
    cluster.now_s += 60
    list(transport.collect())
    (request,) = (node.request for name, node in transport._nodes.items() if name == "a")
    cluster.now_s += 1
    request.answers.append(part("a", 1))
    assert list(transport.collect()) == [part("a", 1)]
    cluster.silent.clear()
    cluster.transports["a"].publish(part("a", 2), 2)
    cluster.now_s += 19
    assert list(transport.collect()) == []
    cluster.now_s += 2
    assert list(transport.collect()) == [part("a", 2)]


def test_an_actor_that_died_is_started_again_and_reads_the_same_part(cluster, transport):
    cluster.broken.add("a")
    cluster.now_s += 60
    assert list(transport.collect()) == []
    cluster.transports["a"].publish(part("a", 3), 1)
    assert list(transport.collect()) == [part("a", 3)]
    assert cluster.started.count("a") == 2


def test_a_dead_node_keeps_its_last_part_and_reports_how_much_may_be_missing(cluster, transport):
    cluster.transports["a"].publish(part("a", 3), 1)
    cluster.now_s += 60
    list(transport.collect())
    cluster.alive.remove("a")
    cluster.now_s += 7
    (lost,) = transport.collect()
    assert lost.is_last
    assert profile_of(lost).root.children["step"].count == 3
    assert profile_of(lost).losses == {"ray_nodes_died": 1, "ray_milliseconds_not_collected": 7000}
    assert list(transport.collect()) == [], "its loss is counted once"


def test_each_node_publishes_its_last_part_at_the_end(cluster, transport):
    cluster.last = {"a": part("a", 5, is_last=True), "b": part("b", 6, is_last=True)}
    assert not transport.is_done()
    assert sorted(collected.name for collected in transport.collect(only_last=True)) == ["a", "b"]
    assert transport.is_done()
    assert list(transport.give_up()) == []


def test_a_node_that_does_not_answer_at_the_end_is_given_up(cluster, transport):
    cluster.transports["a"].publish(part("a", 3), 1)
    cluster.now_s += 60
    list(transport.collect())
    cluster.silent.update("ab")
    assert list(transport.collect(only_last=True)) == []
    cluster.now_s += 4
    # b answered that it had nothing, four seconds ago.
    losses = {lost.name: profile_of(lost).losses for lost in transport.give_up()}
    assert losses == {
        "a": {"ray_milliseconds_not_collected": 4000},
        "b": {"ray_nodes_not_fully_read": 1, "ray_milliseconds_not_collected": 4000},
    }
    assert transport.is_done()


def test_a_node_whose_part_has_disappeared_keeps_its_collected_profile(cluster, transport):
    cluster.transports["a"].publish(part("a", 3), 1)
    cluster.now_s += 60
    list(transport.collect())
    lost = [collected for collected in transport.collect(only_last=True) if collected.name == "a"]
    assert [profile_of(collected).root.children["step"].count for collected in lost] == [3]
    assert profile_of(lost[0]).losses == {"ray_milliseconds_not_collected": 0}
