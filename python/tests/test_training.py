"""Training from configurations: progress, Ctrl-C, resumption, refusals; and the command of the package."""

import os
import signal
import subprocess
import sys
import threading
import time

import burn_rank
import pytest


def test_a_run_is_the_command_s(config, run, tmp_path):
    text = TOML.format(train=config["data"]["train"][0], validation=config["data"]["validation"][0])
    (tmp_path / "small.toml").write_text(text)
    run("train", tmp_path / "small.toml", "--out", tmp_path / "command")
    kinds = {"dict": config, "text": text, "path": tmp_path / "small.toml", "str": str(tmp_path / "small.toml")}
    for kind, given in kinds.items():
        found = burn_rank.train(given, out=tmp_path / kind)
        assert found.folder == tmp_path / kind
        for file in ["ranker.safetensors", "report.json"]:
            assert (tmp_path / kind / file).read_bytes() == (tmp_path / "command" / file).read_bytes(), (kind, file)
    assert found.report["command"] == "train" and set(found.measures) >= {"train", "validation"}


TOML = """
name = "small"
seed = 3
normalizer = "z_score"
data = {{ train = ["{train}"], validation = ["{validation}"] }}
loss = {{ name = "approx_ndcg" }}
learner = {{ kind = "gradient", epochs = 3, batch_queries = 8 }}
measure = {{ select = "ndcg@5", report = ["ndcg@5", "map"] }}
"""


def test_overrides_and_the_default_folder(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = burn_rank.train(config, overrides={"learner.epochs": 1, "loss.alpha": 7.5})
    assert run.folder.resolve() == tmp_path / "runs" / "small"
    assert run.report["config"]["loss"]["alpha"] == 7.5 and run.report["rounds"] == 1
    with pytest.raises(ValueError, match="--set learner.epochs=\"x\": learner.epochs"):
        burn_rank.train(config, overrides={"learner.epochs": "x"})


def test_progress(config, tmp_path, capsys):
    events = []
    main = threading.get_ident()
    burn_rank.train(config, out=tmp_path / "a", progress=lambda event: events.append((threading.get_ident(), event)))
    assert {thread for thread, _ in events} == {main}
    events = [event for _, event in events]
    assert events[0] == {"event": "begin", "learner": "gradient", "rounds": 3} and events[-1] == {"event": "end"}
    rounds = [event for event in events if event["event"] == "round"]
    assert [event["round"] for event in rounds] == [1, 2, 3] and all(0 < event["validation"] <= 1 for event in rounds)
    burn_rank.train(config, out=tmp_path / "b", progress=True)
    assert capsys.readouterr().err.count("round ") == 3


def test_an_exception_of_progress_stops_the_fit_and_the_run_goes_on(config, tmp_path):
    class Enough(Exception):
        pass

    def stop(event):
        if event["event"] == "round":
            raise Enough

    config["learner"]["epochs"] = 400
    with pytest.raises(Enough):
        burn_rank.train(config, out=tmp_path / "run", progress=stop)
    assert burn_rank.load(tmp_path / "run").n_features == 5
    config["learner"]["epochs"] = 6
    whole = burn_rank.train(config, out=tmp_path / "whole")
    with pytest.raises(ValueError, match="run"):
        burn_rank.train(config, out=tmp_path / "run")
    again = burn_rank.train(config, out=tmp_path / "run", overwrite=True)
    assert again.ranker.to_bytes() == whole.ranker.to_bytes()


def test_ctrl_c_stops_after_the_round_and_resume_goes_on(config, tmp_path):
    config["learner"] = {"kind": "gradient", "epochs": 100_000, "batch_queries": 1}
    seen = []

    def press(event):
        seen.append(event["event"])
        if seen.count("round") == 2:
            seen.append("pressed")
            os.kill(os.getpid(), signal.SIGINT)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        burn_rank.train(config, out=tmp_path / "run", progress=press)
    assert time.monotonic() - start < 60 and "pressed" in seen
    stopped = burn_rank.load(tmp_path / "run").metadata
    assert stopped["config"]["learner"]["epochs"] == 100_000
    rounds = []

    def stop(event):
        if event["event"] == "round":
            rounds.append(event["round"])
            raise StopIteration

    with pytest.raises(StopIteration):
        burn_rank.train(config, out=tmp_path / "run", resume=True, progress=stop)
    assert rounds[0] > 2


def test_warnings_are_python_s(tmp_path, config):
    data = open(config["data"]["train"][0]).read()
    with open(config["data"]["train"][0], "w") as file:
        file.writelines(line.rsplit(" ", 1)[0] + " 5:1\n" for line in data.splitlines())
    with pytest.warns(UserWarning, match=r"1 of 5 features \(number 5\) is constant"):
        burn_rank.train(config, out=tmp_path / "run")


REFUSED = {
    "key": ({"learner": {"kind": "gradient", "epohcs": 3}}, ValueError, "did you mean `epochs`?"),
    "loss": ({"loss": {"name": "approx_ndgc"}}, ValueError, "did you mean `approx_ndcg`?"),
    "file": ({"data": {"train": ["/nowhere.txt"]}}, FileNotFoundError, "/nowhere.txt"),
    "device": ({"device": "abacus"}, ValueError, "abacus"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, config, tmp_path):
    change, kind, message = REFUSED[case]
    with pytest.raises(kind) as caught:
        burn_rank.train(config | change, out=tmp_path / "run")
    assert message in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_arguments_are_refused(config, tmp_path):
    with pytest.raises(TypeError, match="config: found int, expected a path, a text of TOML or a dict"):
        burn_rank.train(3)
    with pytest.raises(ValueError, match="resume, overwrite: found both"):
        burn_rank.train(config, resume=True, overwrite=True)
    with pytest.raises(ValueError, match=r"config:2:1: .*"):
        burn_rank.train("seed = 1\nlearner = 3\n")
    with pytest.raises(FileNotFoundError, match="nowhere.toml"):
        burn_rank.train(tmp_path / "nowhere.toml")


def test_the_command_has_the_program_s_exit_codes(run, command, config, tmp_path):
    own = [sys.executable, "-m", "burn_rank"]
    call = lambda *arguments: subprocess.run([*own, *arguments], capture_output=True, text=True)
    assert call("--version").stdout == f"burn-rank {burn_rank.__version__}\n"
    assert call("--help").returncode == 0
    wrong = call("loss", "aprox_ndcg", "/dev/null")
    assert wrong.returncode == 2 and wrong.stderr.endswith("did you mean `approx_ndcg`?\n")
    assert call("no-such-command").returncode == 2
    assert subprocess.run(["burn-rank", "--version"], capture_output=True).returncode == 0


def test_ctrl_c_ends_the_command_as_it_ends_the_program(config, tmp_path):
    text = TOML.format(train=config["data"]["train"][0], validation=config["data"]["validation"][0])
    (tmp_path / "long.toml").write_text(text.replace("epochs = 3", "epochs = 1000000"))
    own = [sys.executable, "-m", "burn_rank"]
    train = [*own, "train", str(tmp_path / "long.toml"), "--out", str(tmp_path / "run")]
    process = subprocess.Popen(train, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not any((tmp_path / "run").glob("*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and "interrupted" in errors
    # A command that does not listen is ended by the signal.
    waiting = subprocess.Popen([*own, "loss", "list_net"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.5)
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(timeout=60) == -signal.SIGINT
