"""The command line: train, predict, evaluate and show, from files to files.

The one idea: each command is a file that reads its arguments, calls the estimators a Python user
would call, and hands one plain dictionary to the screen. Nothing here may hold a rule of learning,
and nothing below may import from here.
"""
