"""The code of the guide runs, and prints what the guide says."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_guide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs/guides/python.md").read_text()
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    blocks = [block.partition("```")[0] for block in text.split("```python\n")[1:]]
    assert len(blocks) == 5
    names: dict[str, object] = {}
    printed = []
    for block in blocks:
        exec(block, names)
        printed.append(capsys.readouterr().out.splitlines())
    assert f"`{printed[0][0]}`" in text
    assert f"`{printed[3][-1]}`" in text
