"""Joint roles, derived from joint names, the shape of the tree or a user's role map."""
