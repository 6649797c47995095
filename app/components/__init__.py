"""Parts of the page that are our own."""
