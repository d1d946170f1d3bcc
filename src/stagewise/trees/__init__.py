"""Trees: arrays, linear leaves, impurities, pruning."""
