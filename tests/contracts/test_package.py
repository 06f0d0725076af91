"""What PyPI shows and asks for is what is tested and said."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import rankframe as rf

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown() -> str:
    """The README as PyPI shows it."""
    text = README
    for one in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    return text


def test_links_and_images_lead_somewhere_from_elsewhere() -> None:
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", shown())
    assert targets
    home = PROJECT["project"]["urls"]["Homepage"].removeprefix("https://github.com/")
    for image, target in targets:
        assert target.startswith("https://"), target
        place = f"raw.githubusercontent.com/{home}/main/" if image else f"{home}/blob/main/"
        if home in target:
            assert place in target
            path = target.split("/main/")[1].partition("#")[0]
            assert (ROOT / path).exists(), path
    assert len(targets) == len(re.findall(r"\]\(", README))


def test_versions_are_those_that_were_tested() -> None:
    page = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in page.splitlines()
            if line.startswith("| ")]  # fmt: skip
    oldest = {
        name: version
        for names, versions, _ in rows[2:]
        for name, version in zip(names.split(", "), versions.split(", "), strict=True)
    }
    python = oldest.pop("Python")
    assert PROJECT["project"]["requires-python"] == f">={python}"
    asked = dict(one.split(">=") for one in PROJECT["project"]["dependencies"])
    assert asked.keys() == oldest.keys()
    for name, bound in asked.items():
        assert oldest[name].startswith(f"{bound}.") or oldest[name] == bound, name
    known = [one.rpartition(" ")[2] for one in PROJECT["project"]["classifiers"]]
    versions = [one for one in known if re.fullmatch(r"3\.\d+", one)]
    newest = next(newest for names, _, newest in rows[2:] if names == "Python")
    assert (versions[0], versions[-1]) == (python, newest)


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {rf.__version__}\n" in citation
    assert f"\nrepository-code: {PROJECT['project']['urls']['Homepage']}\n" in citation
    assert f"\nlicense: {PROJECT['project']['license']}\n" in citation
