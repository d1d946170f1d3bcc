"""Tables of any library as columns."""
