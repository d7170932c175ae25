"""Pictures of moving bodies: stick figures, film strips, animations and top views."""
