"""What a line's source says of the time that is spent there."""

from __future__ import annotations

import pytest

from support.example_samples import stack
from ticktree.analysis.line_kinds import noted_lines
from ticktree.profile import CodeLine
from ticktree.profile.noted_lines import (
    ARRAY_OF_LIST,
    COLLECT,
    COMMIT,
    CONVERSION,
    DEEP_COPY,
    DEQUE,
    EAGER_LOG,
    ELEMENT_LOOP,
    GROWING_ARRAY,
    JSON,
    LOCK,
    ONE_BY_ONE,
    PARSED_JSON,
    PERMUTATION,
    PICKLE,
    POLL,
    POOL,
    PROGRAM,
    TABLE_ROW,
)

FILE = "train.py"
GAE = """
for n in range(envs):
    last = 0.0
    for t in reversed(range(steps)):
        delta = rewards[t, n].item() + gamma * values[t + 1, n].item()
        adv[t, n] = last = delta + gamma * last
"""


def kinds(source, *numbers):
    """The kinds of each line of a source, all of which were sampled."""
    lines = numbers or range(1, 20)
    stacks = [stack("train", CodeLine("main", "lib.py", 1), CodeLine("f", FILE, line)) for line in lines]
    return {line: set(kinds) for (_, line), kinds in noted_lines(stacks, {FILE: source}.get).items()}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("with self.lock:\n    f(x)\n", {LOCK}),
        ("with lock: data['x'] = 1\n", {LOCK}),
        ("with lock: f(x)\n", set()),  # the thread may wait in the call
        ("ok = lock.acquire(timeout=3)\n", {LOCK}),
        ("lock.release()\n", set()),
        ("y = a @ b\n", set()),
        ("c = copy.deepcopy(config)\n", {DEEP_COPY}),
        ("c = deepcopy(config)\n", {DEEP_COPY}),
        ("json.dump(history, file)\n", {JSON}),
        ("pickle.dump(history, file)\n", {PICKLE}),
        ("item = json.loads(text)\n", {PARSED_JSON}),
        ("item = orjson.loads(text)\n", set()),
        ("out = subprocess.run(command)\n", {PROGRAM}),
        ("data = np.append(data, row)\n", {GROWING_ARRAY}),
        ("self.data = np.concatenate([self.data, row], axis=0)\n", {GROWING_ARRAY}),
        ("both = np.concatenate([data, row])\n", set()),  # made once
        ("data = np.concatenate([data, row])[-100:]\n", set()),  # of a fixed size
        ("batch = np.stack([item[0] for item in items])\n", {ARRAY_OF_LIST}),
        ("batch = np.array([np.float32(item.reward) for item in items])\n", {ARRAY_OF_LIST}),
        ("batch = np.stack([resize(item) for item in items])\n", set()),  # resizing may be what takes long
        ("batch = np.array(random.sample(items, 256))\n", {ARRAY_OF_LIST}),
        ("batch = np.stack(items)\n", set()),  # may be an array
        ("batch = torch.tensor([1.0, 2.0])\n", set()),
        ("index = rng.permutation(500_000)[:256]\n", {PERMUTATION}),
        ("index = torch.randperm(n)[:256]\n", {PERMUTATION}),
        ("index = rng.permutation(n)[256:]\n", set()),
        ("index = np.random.choice(n, 256, replace=False)\n", {PERMUTATION}),
        ("index = rng.choice(n, 256, replace=False)\n", set()),  # a Generator's does not shuffle all
        ("self.db.commit()\n", {COMMIT}),
        ("log.debug(f'obs {obs}')\n", {EAGER_LOG}),
        ("log.debug('obs %s', obs)\n", set()),
        ("print(f'obs {obs}')\n", set()),
        ("gc.collect()\n", {COLLECT}),
        ("x = np.ascontiguousarray(x.astype(np.float32))\n", {CONVERSION}),
        ("x = torch.tensor(x)\n", {CONVERSION}),
        ("x = copy.copy(x)\n", set()),
        ("x = random.sample(d, 64); d = deque(maxlen=9)\n", {DEQUE}),
        ("x = self.rng.choice(self.d); self.d = collections.deque()\n", {DEQUE}),
        ("x = random.sample(d, 64); d = []\n", set()),
        ("while not job.done(): time.sleep(0.02)\n", {POLL}),
        ("while self.latest is None: sleep(0.02)\n", {POLL}),
        ("while time.perf_counter() < end: time.sleep(0.001)\n", set()),  # it holds a rate
        ("while (left := end - time.time()) > 0: time.sleep(left / 2)\n", set()),
        ("while rclpy.ok(): time.sleep(0.02)\n", set()),  # the thread has nothing else to do
        ("while True: time.sleep(1)\n", set()),
        ("while not job.done(): step(); time.sleep(0.02)\n", set()),
        ("row = self.frame.iloc[at].to_numpy()\n", {TABLE_ROW}),
        ("x = frame.iat[at, 3] + frame.at[at, 'x']\n", {TABLE_ROW}),
        ("for _, row in frame.iterrows(): f(row)\n", {TABLE_ROW}),
        ("x = frame.iloc[:, 3]\n", set()),  # a column
        ("x = frame.iloc[at : at + 64]\n", set()),
        ("with multiprocessing.Pool(2) as pool:\n    pool.map(f, x)\n", {LOCK, POOL}),
        ("with :\n", set()),
        (None, set()),
    ],
)
def test_the_kind_of_a_line(source, found):
    assert kinds(source).get(1, set()) == found


def test_an_array_is_made_of_a_list_that_the_function_appends_to():
    assert kinds("def f():\n    rows = []\n    rows.append(1)\n    return np.stack(rows)\n") == {
        4: {ARRAY_OF_LIST}
    }


def test_or_of_one_that_another_method_appends_to():
    source = (
        "class A:\n    def push(self, x):\n        self.all.append(x)\n"
        "    def last(self):\n        return np.array(self.all)[-4:]\n\n"
        "    def rest(self):\n        return np.array(self.other)\n"
    )
    assert kinds(source) == {5: {ARRAY_OF_LIST, CONVERSION}, 8: {CONVERSION}}


def test_a_loop_over_elements_is_all_of_it_lines_of_that_kind():
    assert kinds(GAE) == {line: {ELEMENT_LOOP} for line in range(2, 7)}


PAIRS = """
def cost(points, obstacles):
    total = 0.0
    for p in self.points():
        for centre, radius in obstacles:
            d = np.linalg.norm(p - centre) - radius
            total += np.exp(-d)
    return total
"""
BLOCKS = """
for i in range(0, height, b):
    for j in range(0, width, b):
        patch = frame[i:i + b, j:j + b]
        out[i:i + b, j:j + b] = patch - patch.mean()
"""


@pytest.mark.parametrize(
    ("source", "first", "last"), [(PAIRS, 4, 7), (BLOCKS, 2, 5)], ids=["points", "blocks"]
)
def test_so_is_a_short_computation_for_each_pair_of_two_loops(source, first, last):
    assert kinds(source) == {line: {ELEMENT_LOOP} for line in range(first, last + 1)}


@pytest.mark.parametrize(
    "source",
    [
        "actions = [policy(o) for o in obs]\n",
        "values = [self.critic1(o) for o in obs]\n",
        "actions = {name: self.policy(o) for name, o in observations.items()}\n",
        "for i, env in enumerate(envs):\n  a = agent.act(obs[i]); obs[i], reward = step(env, a)\n",
        "for env in self.envs:\n  state = env.observe(); action = self.q_net(torch.tensor(state))\n",
    ],
)
def test_inference_for_one_input_after_the_other(source):
    assert ONE_BY_ONE in set().union(*kinds(source).values())


@pytest.mark.parametrize(
    "source",
    [
        "for x, y in loader:\n  out = model(x)\n",  # batches
        "for t in range(steps):\n  x = x - model(x, t)\n",  # each needs the one before
        "for i in range(n_envs):\n  action, hidden = policy(obs[i], hidden)\n",
        "for o in obs:\n  z = join(z, o); z = model(z)\n",
        "for i, env in enumerate(envs):\n  a = agents[i].act(obs[i])\n",  # a network each
        "for agent in workers:\n  a = agent.act(obs)\n",
        "out = [env.step(policy(o)) for env, o in zip(envs, obs)]\n",  # the step may take the time
        "for o in obs:\n  agent.update(o)\n",
        "for o in obs:\n  p = policy_for(o); q = make_policy(o); r = agent_of.setdefault(o)\n",
        "x = [policy(o) async for o in obs]\n",
    ],
)
def test_what_cannot_be_stacked_or_is_no_inference(source):
    assert ONE_BY_ONE not in set().union(*kinds(source).values())


EPOCHS = """
for epoch in range(epochs):
    for start in range(0, n, 64):
        x = data[start:start + 64]
        h = np.maximum(x @ w, 0)
        w -= rate * h.T.dot(x)
"""
STENCIL = """
for step in range(steps):
    for part in range(4):
        u[1:-1] += dt * (u[2:] - u[:-2])
"""
NETWORK = """
for t in range(steps):
    h = np.tanh(a @ x[t] + b @ h)
"""


@pytest.mark.parametrize(
    "source",
    [
        "for i in range(n):\n  out[i] = envs[i].step(action)\n",  # what takes the time is the step
        "for i in range(n):\n  total += 1\n",  # no element
        "def f():\n  for i in range(n):\n    yield x[i]\n",
        "for i in range(n):\n  for j in range(n):\n    out[i, j] = planner.cost(i, j)\n",
        EPOCHS,
        STENCIL,
        NETWORK,
    ],
)
def test_other_loops_are_no_loops_over_elements(source):
    assert kinds(source) == {}


def test_a_loop_over_objects_is_no_loop_over_elements():
    assert kinds("for item in items:\n    total += item[0]\n") == {}


def test_only_lines_that_were_sampled_are_noted():
    source = "with a:\n    f()\nwith b:\n    g()\n"
    assert kinds(source, 2, 3) == {3: {LOCK}}
