"""The runs a page can open: shipped ones, the user's own, and the one `Jobs` that trains them."""
