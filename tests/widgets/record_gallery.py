"""What torch (float64) finds in the heads of the gallery, and what the page gets of it, for the tests that node runs.

``python tests/widgets/record_gallery.py`` writes ``recorded_gallery.json`` anew; test_head_gallery.py notices when it is stale.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

from mha_teach.widgets import exhibits, head_gallery, static

FILE = Path(__file__).with_name("recorded_gallery.json")
STEP = 5  # each fifth head of the first two sentences is a case, and every one of the third and of the toys


def attention(name: str, sentence: int) -> torch.Tensor:
    """The weights before they are cut into steps of 1/255: (layer, head, query, key), float64."""
    if name in exhibits.TOYS:
        return exhibits.toy(name)(exhibits.toy_ids(sentence)[:, :-1])[1][0]
    text = static.words("head_gallery")["sentences"][sentence]
    return exhibits.encoder(name, "cpu", torch.float64)([text]).attention[0]


def record() -> dict:
    """``baked`` as the page gets it, and per case a row of weights of one head."""
    baked, cases, at = head_gallery.baked(), [], 0
    for sentence, scenes in enumerate(baked):
        for name in scenes:
            weights = attention(name, sentence)
            for layer, heads in enumerate(weights):
                for head, rows in enumerate(heads):
                    at += 1
                    if at % STEP and name not in exhibits.TOYS and sentence != 2:
                        continue
                    row = at % len(rows)
                    case = {"sentence": sentence, "model": name, "layer": layer, "head": head, "row": row}
                    cases.append({**case, "values": [round(x, 7) for x in rows[row].tolist()]})
    return {"limits": [list(size) for size in exhibits.on_show()], "baked": baked, "cases": cases}


if __name__ == "__main__":
    FILE.write_text(json.dumps(record(), separators=(",", ":")) + "\n", encoding="utf-8")
