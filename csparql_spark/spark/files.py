"""Checkpoint files without forked processes.

Hadoop's local file system runs the program `chmod` for every file that it makes, unless a native library is there that
pip does not install: some 10 ms each, several times for each micro-batch. This module puts a file system in its place
that makes the same system call from within the JVM, and is the same in everything else (checksums, renames). What it
makes is its owner's alone: Hadoop does not ask the process what it may let others do.

The few lines of Java are compiled by Janino, the compiler that Spark has on board for its own generated code: no Java
development kit is needed, and no bytecode is kept in the repository.

    files.install(SparkContext._jvm)         # before the Spark context is made
"""

from __future__ import annotations

from py4j.java_gateway import JVMView

CLASS = "csparql.PlainLocalFileSystem"
SOURCE = """
package csparql;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class PlainLocalFileSystem extends LocalFileSystem {
    public PlainLocalFileSystem() {
        super(new Raw());
    }

    public static class Raw extends RawLocalFileSystem {
        public void setPermission(Path path, FsPermission permission) throws IOException {
            Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(
                permission.getUserAction().SYMBOL + "------"));
        }
    }
}
"""


def install(jvm: JVMView) -> None:
    """Make the plain file system the one for `file:` in this JVM. Whoever asks first decides: Hadoop remembers it."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(SOURCE)
    configuration = jvm.org.apache.hadoop.conf.Configuration()
    configuration.setClassLoader(compiler.getClassLoader())
    configuration.set("fs.file.impl", CLASS)
    files = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), configuration)
    if files.getClass().getName() != CLASS:
        raise RuntimeError("the file system for checkpoints was chosen before this module was asked")
