"""Tasks made from a user's own file: reading it, and the task that fits its content."""
