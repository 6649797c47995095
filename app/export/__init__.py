"""What can be taken away from the app: a whole run as a small site of pages that scrub from disk."""
