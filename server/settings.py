"""The settings, as the web process knows them: those of the whole server.

A new one is a field of `csparql_spark.settings.Settings`.

    Settings(data=Path("data")).threads     # 232
"""

from __future__ import annotations

from csparql_spark.settings import WEB, Settings

__all__ = ["WEB", "Settings"]
