"""The README's Python example runs as it stands, on a volume of the shape it speaks of."""

import re
from pathlib import Path

import zarr


def test_the_readme_example(tmp_path, monkeypatch, capsys):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    # The other one needs a GPU and torch.
    example, on_a_gpu = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    compile(on_a_gpu, "README.md", "exec")
    monkeypatch.chdir(tmp_path)
    array = zarr.create_array("volume.zarr", shape=(256, 512, 512), chunks=(64, 64, 64), dtype="uint16", fill_value=7)
    array[:64, :64, :64] = 9
    exec(compile(example, "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[0] for line in lines] == [str(i) for i in range(10)]
    assert all("(8, 64, 128, 128)" in line and 7 <= float(line.rsplit(" ", 1)[1]) <= 9 for line in lines)
