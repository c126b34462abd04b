"""MapSatisfyBench: its published files as a suite, and its published verdicts as labels. Its metrics are the core's own."""
