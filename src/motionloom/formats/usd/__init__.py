"""USD files with UsdSkel skeletons."""
