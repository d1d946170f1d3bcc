"""The arguments of `fit`, read: columns, targets, weights, folds."""
