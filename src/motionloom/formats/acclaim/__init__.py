"""Acclaim files: a skeleton (``.asf``) and its motions (``.amc``)."""
