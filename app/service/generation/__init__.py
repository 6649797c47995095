"""The Generate tab: text, tags and answers of a model, with the distribution behind every choice."""
