"""The oracle of these tests against the judged vectors of all 100 pairs."""

import json
from pathlib import Path

import numpy as np
import oracle

SHORT = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}
SHORT |= {f"{kind}{bits}": f"{'u' * (kind == 'u')}int{bits}" for kind in "ui" for bits in (8, 16, 32, 64)}


def test_the_oracle_gives_every_judged_value():
    lines = (Path(__file__).parents[1] / "vectors" / "pairs.jsonl").read_text().splitlines()
    seen, elements = set(), 0
    for line in lines:
        case = json.loads(line)
        source, output = SHORT[case["src"]], SHORT[case["dst"]]
        given = np.frombuffer(bytes.fromhex(case["in"]), np.dtype(source).newbyteorder("<"))
        assert oracle.converted(given, output).tobytes().hex() == case["out"], (source, output)
        seen.add((source, output))
        elements += given.size
    assert seen == {(s, o) for s in oracle.SOURCES for o in oracle.OUTPUTS}
    assert elements == 104_700
