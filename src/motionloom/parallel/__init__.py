"""Where work runs: in this process, in a process pool or on a Dask cluster."""
