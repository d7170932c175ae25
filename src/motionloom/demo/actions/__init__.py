"""The actions of the built-in corpus, one module per kind."""
