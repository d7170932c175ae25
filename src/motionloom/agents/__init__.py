"""A front for AI agents: the library as tools of the Model Context Protocol.

An agent calls the same methods of `Library` as a person, with the same settings. It names motions,
never files, and writes only into the library and into one output folder (`Workspace`).
"""
