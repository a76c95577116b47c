"""Profiles logged to experiment trackers, read back from what these wrote."""

from __future__ import annotations

import pytest

from support.example_profiles import control, training
from support.hostile_profiles import hostile
from support.wandb_log import rows
from ticktree import trackers
from ticktree.errors import TicktreeError


class Logger:
    """Has the one method that Lightning's loggers have."""

    def __init__(self):
        self.logged = []

    def log_metrics(self, metrics, step=None):
        self.logged.append((dict(metrics), step))


def test_a_logger_of_lightning_gets_all_numbers_at_once():
    logger = Logger()
    trackers.log(training(), logger, 7)
    trackers.log(training(), logger)
    assert logger.logged == [(trackers.metrics(training()), 7), (trackers.metrics(training()), None)]


def test_every_name_begins_with_ticktrees():
    assert trackers.metrics(training())
    assert all(name.startswith("ticktree/") for name in trackers.metrics(training()))


def test_what_is_no_tracker_is_told_so():
    with pytest.raises(TicktreeError, match="a dict is no tracker"):
        trackers.log(training(), {})


# tensorboardX itself makes "_" of every space, and would make one curve of two of the unfriendly names.
@pytest.mark.parametrize(
    ("library", "make"),
    [("torch.utils.tensorboard", training), ("torch.utils.tensorboard", hostile), ("tensorboardX", training)],
)
def test_a_summary_writer_writes_every_number(library, make, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed: nothing was read back by it")
    summary_writer = pytest.importorskip(library, reason=f"{library} did not write anything").SummaryWriter
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    writer = summary_writer(str(tmp_path))
    trackers.log(make(), writer, 3)
    trackers.log(make(), writer, 4)
    writer.close()
    found = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0})
    found.Reload()
    expected = trackers.metrics(make())
    if library == "tensorboardX":
        expected = {name.replace(" ", "_"): number for name, number in expected.items()}
    assert set(found.Tags()["scalars"]) == set(expected)
    for name, number in expected.items():
        assert [event.step for event in found.Scalars(name)] == [3, 4]
        assert found.Scalars(name)[0].value == pytest.approx(number, rel=1e-6)


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    library = pytest.importorskip("mlflow", reason="mlflow is not installed: nothing was logged to it")
    before = library.get_tracking_uri()
    library.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield library
    library.set_tracking_uri(before)


@pytest.mark.slow
@pytest.mark.parametrize("make", [control, hostile])
def test_mlflow_has_every_number_whether_by_its_module_or_its_client(mlflow, make):
    expected = trackers.metrics(make())
    with mlflow.start_run() as run:
        trackers.log(make(), mlflow, 5)
    client = mlflow.MlflowClient()
    other = client.create_run(run.info.experiment_id)
    with pytest.raises(TicktreeError, match="run_id="):
        trackers.log(make(), client, 5)
    trackers.log(make(), client, 5, run_id=other.info.run_id)
    for run_id in (run.info.run_id, other.info.run_id):
        assert client.get_run(run_id).data.metrics == pytest.approx(expected)
        history = client.get_metric_history(run_id, next(iter(expected)))
        assert [(metric.step, metric.value) for metric in history] == [(5, next(iter(expected.values())))]


@pytest.mark.slow
def test_an_offline_run_of_wandb_has_every_number_of_every_step(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed: nothing was logged to it")
    monkeypatch.setenv("WANDB_SILENT", "true")
    settings = wandb.Settings(x_disable_stats=True, x_disable_meta=True, console="off")
    run = wandb.init(mode="offline", project="ticktree", dir=str(tmp_path), settings=settings)
    trackers.log(training(), run, 3)
    run.log({"loss": 0.5}, step=3)
    trackers.log(training(), run, 4)
    run.finish()
    wandb.teardown()  # waits for the process that writes the file; finish() of an offline run does not
    (path,) = tmp_path.rglob("*.wandb")
    expected = trackers.metrics(training())
    found = dict(rows(path))
    assert found[3].pop("loss") == 0.5
    for step in (3, 4):
        logged = {name: value for name, value in found[step].items() if not name.startswith("_")}
        assert logged == pytest.approx(expected)
