"""What pytest-mapsat costs, measured in pairs: ``python -m benchmarks`` writes ``benchmarks/RESULTS.md``."""
