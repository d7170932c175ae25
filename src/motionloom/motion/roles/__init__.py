"""Joint roles: from names, from the tree's shape, from naming schemes, from a user's map."""
