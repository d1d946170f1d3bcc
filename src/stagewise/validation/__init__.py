"""Rules for parameters, names of other libraries, and parts of messages."""
