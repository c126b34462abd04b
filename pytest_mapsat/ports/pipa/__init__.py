"""PIPA: where on its way an agent fails, as a metric set."""
