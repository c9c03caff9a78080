"""The web process: requests become log entries, and answers become responses. It has no JVM and evaluates no stream.

    PUT /queries/q ──▶ routes ─┐                                            ┌─▶ routes ─▶ GET /queries/q/answers
    PUT /streams/s ──▶ routes ─┼─▶ backend ─▶ log … engine … answer store ──┤
    POST /streams/s ─▶ sources ┘                                            ├─▶ subscribers ─▶ SSE
                                                                            └─▶ sinks ─▶ webhooks

- `settings`          one frozen value, that of the whole server
- `process`           the process: its socket, its signals, its end
- `stores`            what is kept, and the one way into it
- `threads`           what goes on between requests
- `dependents`        which queries read what: it cannot be deleted
- `quotas`            how many streams, queries, graphs and rule sets there may be
- `remarks`           what is said of rule sets after the start
- `backend`           both, and who may do what: opened once in a process
- `app`               the application: routes put together
- `openapi`           the description of all routes for programs, which is the file openapi.json
- `http`              connections, requests and their parts; who may do what; what goes wrong
- `routes`            what can be asked and told, one module for each thing
- `subscribers`       who hears answers as they become true
- `sources`           how triples come in, whoever brings them
- `sinks`             whom the server calls
- `retention_thread`  lets the store forget, and gives space back to the disk
"""
