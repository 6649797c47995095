"""Workers on a Ray cluster: the same protocol as local worker processes (`core.jobs.messages`).

    caller                    driver process            Ray node
    RayWorkerLauncher  ←→     driver.ActorProxy  ←→     actor.WorkerActor → worker_loop.RayWorkerLoop

Only `driver.py` and `actor.py` import ray, each in a process of its own.
"""
