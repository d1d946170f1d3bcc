"""The parts of ``stagewise train``: tables in memory, datasets, clusters and checkpoints."""
