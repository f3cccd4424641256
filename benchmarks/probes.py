"""What the leak probes cost on a 6-layer encoder of d_model 384: ``python benchmarks/probes.py [positions]``.

Prints seconds on the clock, seconds of processor and the ratio to one forward pass. The aim is under 5 s on two cores.
On a busy machine the clock says little and two threads wait for each other: set OMP_NUM_THREADS=1 and read the processor's.
"""

from __future__ import annotations

import sys
import time

import torch
from torch import nn

from mha_teach.probes import batch_leak, causal_leak


def main() -> int:
    positions = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(384, 6, 1536, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).eval()
    x, mask = torch.randn(2, positions, 384), nn.Transformer.generate_square_subsequent_mask(positions)
    with torch.no_grad():
        encoder(x, mask=mask)
        began = time.process_time()
        for _ in range(3):
            encoder(x, mask=mask)
        forward = (time.process_time() - began) / 3
    slowest = 0.0
    for probe in (causal_leak, batch_leak):
        clock, processor = time.perf_counter(), time.process_time()
        leak = probe(encoder, x, mask=mask, is_causal=True)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        slowest = max(slowest, processor)
        print(
            f"{probe.__name__:12} {clock:5.1f} s, processor {processor:5.1f} s = {processor / forward:4.0f} forwards"
        )
        print(leak)
    return 0 if slowest < 5 else 1


if __name__ == "__main__":
    sys.exit(main())
