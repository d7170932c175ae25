"""Commands that evaluate methods on labeled motions."""
