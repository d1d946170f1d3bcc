"""The command line: train, predict, evaluate, show, describe and report.

Each command is one file. It reads its arguments, calls the public estimators and inspection
functions, and passes one plain dictionary to the screen.
"""
