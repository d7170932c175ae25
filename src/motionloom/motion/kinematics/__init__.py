"""Forward and two-bone inverse kinematics, measures of a body, carrier joints above it."""
