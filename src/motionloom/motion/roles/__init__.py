"""Joint roles, derived from joint names, the shape of the skeleton or a user's role map."""
