"""A worker process: its loop, the monitor that probes runs between two slices, and the fork server it is forked from."""
