"""The steps of ``motionloom demo``.

`gathering` makes the corpus, imports it and looks at it, `finding` searches it, `weaving` makes
new motion of it, `spreading` asks a cluster. Each step takes the `Tour` so far and gives back
what it left, by name.
"""
