"""The rows of a report beside their true targets, for each kind of target."""
