"""Other commands: the studio, a guided tour, clusters, compilation."""
