"""Load: a server under many queries, many triples and many subscribers at once, and every answer checked afterwards.

For example:

    python -m bench.load --minutes 20 --queries 100 --rate 10000 --subscribers 50
    python -m bench.load ramp --rates 5000,10000,20000,40000,80000
    python -m bench.load ramp --queries 100,300,1000 --rate 1000
"""
