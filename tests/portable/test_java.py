"""The Java example: the same values, its self-test, and one sentence for everything it refuses."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from escampe_lines import COURSE_MID, lively, random_lines

from kibitz.adapters.banddper_files import save_json
from kibitz.nets.dual_view import DualViewConfig
from kibitz.portable import banddper_numpy

SOURCE = Path(__file__).parents[2] / "examples" / "java" / "BandDper.java"
LINES = random_lines(200, seed=13)

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(
        not (shutil.which("javac") and shutil.which("java")),
        reason="there is no Java development kit here: javac is missing",
    ),
]


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", folder, SOURCE], check=True)
    return folder


@pytest.fixture(scope="module")
def run(classes):
    def run(path, *lines):
        command = ["java", "-cp", classes, "BandDper", path]
        given = "".join(f"{line}\n" for line in lines)
        return subprocess.run(command, input=given, capture_output=True, text=True)

    return run


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "weights.json"
    save_json(path, lively(DualViewConfig(blocks=2, embedding=6)))
    return path


@pytest.mark.parametrize(
    "config",
    [DualViewConfig(), DualViewConfig("banddper-16-reach", blocks=1, embedding=9, inner="clipped")],
    ids=["default", "other"],
)
def test_java_answers_as_numpy_does(run, config, tmp_path):
    save_json(path := tmp_path / "weights.json", lively(config))
    done = run(path, *LINES)
    assert done.returncode == 0, done.stderr
    found = np.array([line.split() for line in done.stdout.splitlines()], float)
    network = banddper_numpy.load(path)
    expected = np.array([network.evaluate(line) for line in LINES])
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 1e-4


def test_java_says_that_the_self_test_fails(run, small, tmp_path):
    contents = json.loads(small.read_text())
    contents["selftest"][-1]["raw"] += 0.001
    (path := tmp_path / "weights.json").write_text(json.dumps(contents))
    done = run(path, COURSE_MID)
    assert done.returncode == 1 and not done.stdout
    assert "fails its self-test" in done.stderr


def test_java_refuses_a_file_that_is_not_complete(run, small, tmp_path):
    text = small.read_text()
    for length in (0, 1, 50, len(text) // 2, len(text) - 3):
        (path := tmp_path / "weights.json").write_text(text[:length])
        done = run(path)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert "is not complete JSON" in done.stderr
    assert "cannot be read" in run(tmp_path / "nothing.json").stderr


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda c: c["tensors"].pop("out2_b"), "'out2_b' is missing"),
        (lambda c: c["tensors"].update(more=[1]), "no tensor 'more'"),
        (lambda c: c["tensors"]["out1_w"][3].pop(), "'out1_w' is misshapen"),
        (lambda c: c["tensors"]["out1_b"].__setitem__(0, "1"), "'out1_b' is misshapen"),
        (lambda c: c["tensors"]["out1_b"].__setitem__(0, float("nan")), "'out1_b' has a number"),
        (lambda c: c["tensors"]["out1_b"].__setitem__(0, 1e39), "'out1_b' has a number"),
        (lambda c: c.update(encoding="other"), "'encoding' is other"),
        (lambda c: c.update(format=2), "'format' is not 1"),
        (lambda c: c.update(num_res_blocks=2.5), "'num_res_blocks' is not a whole number"),
        (lambda c: c["board_band_map"][0].__setitem__(0, 2), "'board_band_map' is of another"),
        (lambda c: c.pop("selftest"), "'selftest' is missing"),
        (lambda c: c["selftest"].__delitem__(slice(7, None)), "'selftest' has fewer than 8"),
    ],
)
def test_java_refuses_a_faulty_file_by_part(run, small, change, part, tmp_path):
    contents = json.loads(small.read_text())
    change(contents)
    (path := tmp_path / "weights.json").write_text(json.dumps(contents))
    done = run(path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert part in done.stderr


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("nnN w 2", "6 rows"),
        (COURSE_MID.replace(" 2", " 5"), "required band"),
        (COURSE_MID.replace("nnN", "n-N"), "black does not have 5 paladins"),
        (COURSE_MID.replace("nnN", "nxN"), "row 1 has the character 'x'"),
    ],
)
def test_java_refuses_a_broken_position(run, small, line, part):
    done = run(small, line)
    assert done.returncode == 2 and part in done.stderr
