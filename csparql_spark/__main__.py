"""`python -m csparql_spark` is the command `csparql-spark`."""

from csparql_spark.cli import main

main(prog_name="csparql-spark")
