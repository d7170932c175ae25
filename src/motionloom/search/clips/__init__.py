"""Whole-clip retrieval: distance measures for clips and tables of clip features."""
