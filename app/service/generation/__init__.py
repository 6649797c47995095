"""The Generate tab: what a model writes, tags or answers, and every distribution behind each choice."""
