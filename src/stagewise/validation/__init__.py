"""What parameters may be, and messages about what they are not."""
