"""The ranks of a fit that has several processes: the exchange of bytes, sums, extremes and objects.

Nothing here imports an engine; `stagewise.dask` has the exchange of Dask.
"""
