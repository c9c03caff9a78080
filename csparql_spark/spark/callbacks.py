"""Callbacks: how the JVM calls Python on the driver, and how nobody else does.

Spark tells the end of each batch by calling Python through a socket on the loopback address, to which every program on
the machine can connect. py4j can ask who does so for a token; PySpark does not have it do so, and the JVM's side
forgets its own token when it is told the port.

    callbacks.guard(gateway)                 # before anything of ours can be called
"""

from __future__ import annotations

import secrets

from py4j.java_gateway import JavaGateway, JavaObject
from pyspark.java_gateway import ensure_callback_server_started


def guard(gateway: JavaGateway) -> None:
    """Start to listen for calls; whoever calls must know a token, which is new each time."""
    token = secrets.token_hex(32)
    gateway.callback_server_parameters.auth_token = token
    ensure_callback_server_started(gateway)
    caller = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()
    kind = caller.getClass()
    while kind.getName() != "py4j.CallbackClient":
        kind = kind.getSuperclass()
    field = kind.getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(caller, token)
