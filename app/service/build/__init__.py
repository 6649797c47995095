"""The Build tab's model: controls from the configuration, its anatomy as a drawing, its costs and activations."""
