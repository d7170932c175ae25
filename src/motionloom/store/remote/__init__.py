"""Remote storage, for libraries whose frames and artifacts are in an object store."""
