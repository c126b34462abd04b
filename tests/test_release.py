"""A release is checked before it is published, and the files of the project page agree with the package."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import pytest_mapsat

ROOT = Path(__file__).resolve().parents[1]
VERSION = pytest_mapsat.__version__


def check(tag: str, dist: Path):
    return subprocess.run(
        [sys.executable, ROOT / ".github" / "check_release.py", tag, dist], capture_output=True, text=True, check=False
    )


@pytest.fixture
def dist(tmp_path):
    (tmp_path / f"pytest_mapsat-{VERSION}-py3-none-any.whl").write_bytes(b"x" * 1_900_000)
    return tmp_path


def test_a_release_whose_tag_is_the_version_can_be_published(dist):
    done = check(f"v{VERSION}", dist)
    assert (done.returncode, done.stdout) == (0, f"v{VERSION} can be published\n")


def test_a_tag_that_is_not_the_version_is_refused(dist):
    done = check("v99.0.0", dist)
    assert done.returncode == 1
    assert f"the tag is v99.0.0; expected v{VERSION}" in done.stdout


def test_a_wheel_of_over_two_megabytes_is_refused(dist):
    next(dist.glob("*.whl")).write_bytes(b"x" * 2_000_001)
    done = check(f"v{VERSION}", dist)
    assert done.returncode == 1
    assert "has 2,000,001 bytes; at most 2,000,000 are allowed" in done.stdout


def test_the_citation_has_the_version_and_the_date_of_the_changelog():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.search(rf"^## {re.escape(VERSION)} - (\S+)$", changelog, re.MULTILINE)
    assert (citation["version"], citation["date-released"]) == (VERSION, released[1])
    assert len(citation["references"]) == 5


def test_the_workflows_test_every_supported_python_and_the_oldest_dependencies():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    matrix = jobs["everywhere"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert {"resolution": "lowest-direct"}.items() <= matrix["include"][0].items()
    classifiers = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert matrix["python"] == classifiers


def test_publishing_asks_for_an_identity_and_keeps_no_token():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in text


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda form: form.stem
)
def test_an_issue_form_is_one_that_github_can_show(form):
    data = yaml.safe_load(form.read_text(encoding="utf-8"))
    if form.stem == "config":
        assert data == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= data.keys()
    assert len({field["id"] for field in data["body"]}) == len(data["body"])
    assert all(field["attributes"]["label"] for field in data["body"])
