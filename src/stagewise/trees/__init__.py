"""What trees are: arrays, leaves, pruning."""
