"""Training from rows that are not in memory: they are read in batches and kept in a `RowStore`."""
