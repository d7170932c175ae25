"""Routes for the subject on the stage, its character and its armature."""
