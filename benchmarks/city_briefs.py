"""Briefs for people who write queries of a made-up city's cases without having seen them: ``python benchmarks/city_briefs.py --seed 500 --cases 500 --take 330``.

Each line has ``case``, ``language`` and ``situation``: who asks, where and when, for what, in what mood; nothing of what is hidden. The queries come back as
lines ``{"case": "...", "query": "..."}`` to ``mapsat build city DEST --seed 500 --cases 500 --queries FILE``.
"""

import argparse
import json

from pytest_mapsat.making import BuildRequest
from pytest_mapsat.making.city import briefs_of

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the seed of the suite")
    parser.add_argument("--cases", type=int, default=500, help="how many cases it has")
    parser.add_argument("--take", type=int, default=330, help="for how many of them a brief is written")
    options = parser.parse_args()
    for brief in briefs_of(BuildRequest(seed=options.seed, cases=options.cases), options.take):
        print(json.dumps(brief, ensure_ascii=False))
