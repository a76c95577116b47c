"""torch.compile is a section while it compiles: with torch's own handler made up, and (slow) with torch."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType

import pytest

import ticktree
from ticktree.analysis.context import Context
from ticktree.analysis.rules.torch import LateCompilationRule
from ticktree.instruments.losses import MissingTargetError
from ticktree.instruments.patches import Patches
from ticktree.instruments.torch import compiling


@pytest.fixture
def handler():
    """What torch calls its compilations with, wrapped for a recorder; and that recorder."""

    class CompilationCallbackHandler:
        @contextmanager
        def install_callbacks(self, trigger, compile_id):
            assert (trigger, compile_id) == ("DYNAMO", "0/0")
            yield "torch's own"

    module = ModuleType("torch._dynamo.callback")
    module.CompilationCallbackHandler = CompilationCallbackHandler
    recorder = ticktree.Recorder(virtual_clock=True)
    patches = Patches()
    compiling._wrap(patches, module, recorder)
    yield recorder, CompilationCallbackHandler()
    patches.undo()
    recorder.disable()


def test_a_compilation_is_a_section_under_whatever_is_open(handler):
    recorder, compiler = handler
    with recorder.section("model"), compiler.install_callbacks("DYNAMO", "0/0") as given:
        recorder.advance(7)
    assert given == "torch's own"
    node = recorder.snapshot().root.at("model/torch compile")
    assert (node.count, node.total_ns) == (1, 7)


def test_a_compilation_inside_another_is_part_of_it(handler):
    recorder, compiler = handler
    with compiler.install_callbacks("DYNAMO", "0/0"), compiler.install_callbacks("DYNAMO", "0/0"):
        recorder.advance(7)
    node = recorder.snapshot().root.at("torch compile")
    assert (node.count, node.children) == (1, {})


def test_threads_compile_each_for_themselves(handler):
    recorder, compiler = handler

    def work():
        with compiler.install_callbacks("DYNAMO", "0/0"):
            pass

    with compiler.install_callbacks("DYNAMO", "0/0"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    nodes = [node for _, _, node in recorder.snapshot().root.walk() if node.name == "torch compile"]
    assert sum(node.count for node in nodes) == 2
    assert not recorder.snapshot().losses


def test_an_error_of_the_compiler_is_the_programs_and_ends_the_section(handler):
    recorder, compiler = handler
    with pytest.raises(ZeroDivisionError), compiler.install_callbacks("DYNAMO", "0/0"):
        raise ZeroDivisionError
    with pytest.raises(TypeError):
        compiler.install_callbacks()
    with compiler.install_callbacks("DYNAMO", "0/0"):
        pass
    root = recorder.snapshot().root
    assert root.at("torch compile").count == 2
    assert root.at("torch compile").open is None


def test_another_version_of_torch_is_left_as_it_is():
    module = ModuleType("torch._dynamo.callback")
    module.CompilationCallbackHandler = type("CompilationCallbackHandler", (), {})
    with pytest.raises(MissingTargetError, match=r"has no CompilationCallbackHandler.install_callbacks"):
        compiling._wrap(Patches(), module, ticktree.Recorder(virtual_clock=True))
    assert not hasattr(module.CompilationCallbackHandler, "install_callbacks")


PROGRAM = """
def main():
    import torch

    model = torch.compile(lambda x: (x * 2).sin().sum(), backend="eager", dynamic=False)
    for n in ticktree.loop("train", range(40), warmup=5):
        with ticktree.section("model"):
            model(torch.ones({shape}))
    torch._dynamo.reset()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "recompiles"), [("4 if n < 30 else 4 + n % 3", True), ("4", False)])
def test_a_program_whose_shapes_change_late_is_found_and_one_whose_do_not_is_not(recorded, shape, recompiles):
    pytest.importorskip("torch")
    profile = recorded(PROGRAM.format(shape=shape))
    found = list(LateCompilationRule().find(Context(profile)))
    assert profile.root.at("train/model/torch compile").warmup.count == 1
    assert [one.path for one in found] == (["train/model/torch compile"] if recompiles else [])
    if recompiles:
        assert found[0].facts["recompilations"] == 2


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_sections_leave_no_trace_in_a_graph_which_stays_whole(recorded):
    profile = recorded(
        """
        import torch

        torch.set_num_threads(1)
        made = ticktree.section("made before")

        @ticktree.timed
        def helper(x):
            return 2 * x

        class Net(torch.nn.Module):
            @ticktree.timed
            def half(self, x):
                return x / 2

            def forward(self, x):
                ticktree.stage("stage")
                ticktree.gauge("gauge", 1)
                ticktree.record_duration("record", 1.0)
                with ticktree.section("named", memory=True) as section:
                    section.work(items=3)
                    x = self.half(helper(x)) + 1
                with made:
                    return x * x

        class Whole(torch.nn.Module):
            @ticktree.timed
            def forward(self, x):
                return x + 5

        def main():
            net, x = Net(), torch.arange(3.0)
            want = net(x)
            compiled = torch.compile(net, backend="eager", fullgraph=True)
            with ticktree.section("compiled"):
                print(all(torch.equal(compiled(x), want) for _ in range(5)))
            print(torch.compile(Whole(), backend="eager", fullgraph=True)(x).tolist())
        """
    )
    assert recorded.output == "True\n[5.0, 6.0, 7.0]\n"
    plain = profile.root.at("forward Net")
    assert plain.count == 1
    assert "named" in {node.name for _, _, node in plain.walk()}
    call = profile.root.at("compiled/forward Net")
    assert call.count == 5
    assert set(call.children) == {"torch compile"}
    assert call.at("torch compile").count == 1  # it compiles once: nothing of ours has it compile again
    assert profile.gauges["gauge"].count == 1


UNRECORDED = """
import ticktree
import torch

torch.set_num_threads(1)

@ticktree.timed
def helper(x):
    return 2 * x

class Net(torch.nn.Module):
    @ticktree.timed
    def forward(self, x):
        with ticktree.section("named"):
            return helper(x) + 1

def main():
    x = torch.arange(3.0)
    print(torch.compile(Net(), backend="eager", fullgraph=True)(x).tolist())

if __name__ == "__main__":
    main()
    ticktree.uninstrument()
    torch.compiler.reset()
    main()
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("starter", [(), ("-m", "ticktree", "run", "--quiet", "--no-instrument")])
@pytest.mark.parametrize("off", ["", "1"])
def test_sections_cost_a_program_no_graph_where_nobody_records_it(tmp_path, starter, off):
    program = tmp_path / "program.py"
    program.write_text(UNRECORDED)
    environment = {**os.environ, "TICKTREE_OFF": off}
    done = subprocess.run(
        [sys.executable, *starter, program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[1.0, 3.0, 5.0]\n" * 2), done.stderr


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_methods_that_call_those_of_the_class_above_and_gradients_are_compiled_whole(recorded):
    recorded(
        """
        import torch

        torch.set_num_threads(1)
        torch._dynamo.config.trace_autograd_ops = True

        class Base(torch.nn.Module):
            @ticktree.timed
            def forward(self, x):
                return x * 2

        class Above(Base):
            def forward(self, x):
                return super().forward(x) + 1

            def __call__(self, x):
                return super().__call__(x).sin()

        def slope(x):
            (gradient,) = torch.autograd.grad((x * x).sum(), [x])
            return gradient

        def backward(x):
            x = x.detach().requires_grad_()
            (x * x).sum().backward()
            return x.grad

        def main():
            above = Above()
            for function in (lambda x: above(x), slope, backward):
                x = torch.arange(3.0, requires_grad=True)
                compiled = torch.compile(function, backend="eager", fullgraph=True)
                print(torch.equal(compiled(x), function(x)))
        """
    )
    assert recorded.output == "True\nTrue\nTrue\n"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_where_a_graph_breaks_nothing_of_ours_is_compiled(recorded):
    recorded(
        """
        import torch

        torch.set_num_threads(1)

        def main():
            import torch._dynamo.convert_frame as frames

            compiled, compile_one = [], frames._compile

            def note(code, *args, **kwargs):
                compiled.append(code.co_filename)
                return compile_one(code, *args, **kwargs)

            frames._compile = note
            net = torch.nn.Linear(3, 3)
            optimizer = torch.optim.SGD(net.parameters(), 0.1)

            @torch.compile(backend="eager")
            def train(x):
                optimizer.zero_grad()
                net(x).sum().backward()
                optimizer.step()

            for _ in range(3):
                train(torch.ones(2, 3))
            print(__file__ in compiled, [name for name in compiled if "ticktree/instruments" in name])
        """
    )
    assert recorded.output == "True []\n"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("options", [(), ("--no-instrument",)])
def test_functions_in_focus_are_compiled_as_they_are(recorded, options):
    profile = recorded(
        """
        import torch

        torch.set_num_threads(1)

        def double(x):
            return 2 * x

        class Net(torch.nn.Module):
            def half(self, x):
                return x / 2

            def forward(self, x):
                return self.half(double(x)) + 1

        def main():
            net, x = Net(), torch.arange(3.0)
            compiled = torch.compile(net, backend="eager", fullgraph=True)
            same = [torch.equal(compiled(x), net(x)) for _ in range(3)]
            print(all(same), torch.equal(torch.compile(double, fullgraph=True, backend="eager")(x), 2 * x))
        """,
        "--focus=double",
        "--focus=Net.half",
        *options,
    )
    assert recorded.output == "True True\n"
    called = {name.partition(" : ")[0]: node for _, _, node in profile.root.walk() for name in [node.name]}
    assert called["Net.half"].count == 3  # what is in the graph is called by nobody
    assert called["double"].count >= 3


def test_another_version_of_the_compiler_is_left_as_it_is(monkeypatch):
    """Of another version nothing is known, as a program that compiles is told; of a known one, what is not there."""
    from ticktree.instruments import losses
    from ticktree.instruments.torch import sections

    module = ModuleType("torch._dynamo.variables.builder")
    module.VariableBuilder = type("VariableBuilder", (), {"_wrap": lambda self, value: value})
    before = vars(module.VariableBuilder)["_wrap"]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    torch = ModuleType("torch")
    torch.compile = compile_of_torch = lambda model: model
    monkeypatch.setitem(sys.modules, "torch", torch)
    found = []
    monkeypatch.setattr(losses, "report", found.append)
    for version, target, reason in (
        ("2.99.0", "torch.compile", "known of versions"),
        ("2.13.0", module.__name__, "has no SourcelessBuilder"),
    ):
        monkeypatch.setattr(losses, "version_of", lambda _, version=version: version)
        sections._COMPILER.install(ticktree.Recorder(virtual_clock=True))
        assert [each.target for each in found] == [target] * (version == "2.13.0")
        assert torch.compile("model") == torch.compile("model") == "model"
        sections._COMPILER.uninstall()
        assert torch.compile is compile_of_torch
        assert vars(module.VariableBuilder)["_wrap"] is before
        assert [(each.target, each.version) for each in found] == [(target, version)]
        assert reason in found[0].reason
        found.clear()
    for wrap in (sections.wrap_super, sections.wrap_rules):
        with pytest.raises(MissingTargetError):
            wrap(Patches(), module, None)
