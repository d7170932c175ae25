"""Commands about the program itself: the studio, a tour, clusters, compilation."""
