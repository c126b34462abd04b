"""LocalSearchBench: search that takes several steps over merchants of made-up towns."""
