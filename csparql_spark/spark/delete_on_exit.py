"""Delete on exit: what the JVM means to delete when it ends, and is gone already.

Spark makes a socket for each of a batch's exchanges with Python, deletes it after use, and asks the JVM besides to
delete it at the end. The JVM remembers each path that it was ever asked for: several hundred a minute, in an engine
that has no end. This module makes it forget those that are not there any more.

    exits = DeleteOnExit(SparkContext._jvm)
    exits.forget()                           # how many; now and then

What is to be deleted is known to a class of the JVM's own, to whose package Spark opens the way for itself when it is
started; as in `files`, Janino compiles the few lines of Java. A JVM that does not let it look keeps them: `Closed` says
so, and is no reason to end.
"""

from __future__ import annotations

from functools import cached_property

from py4j.java_gateway import JavaObject, JVMView
from py4j.protocol import Py4JJavaError

CLASS = "csparql.DeleteOnExit"
SOURCE = """
package csparql;

import java.io.File;
import java.lang.reflect.Field;
import java.util.Collection;
import java.util.Iterator;

public class DeleteOnExit {
    public int forget() throws Exception {
        Class hook = Class.forName("java.io.DeleteOnExitHook");
        Field field = hook.getDeclaredField("files");
        field.setAccessible(true);
        int forgotten = 0;
        synchronized (hook) {                // as it does itself where it adds a path
            Collection files = (Collection) field.get(null);
            if (files == null) {             // the JVM is about to end
                return 0;
            }
            for (Iterator paths = files.iterator(); paths.hasNext();) {
                if (!new File((String) paths.next()).exists()) {
                    paths.remove();
                    forgotten++;
                }
            }
        }
        return forgotten;
    }
}
"""


class Closed(Exception):
    """The JVM does not tell what it means to delete."""


class DeleteOnExit:
    def __init__(self, jvm: JVMView) -> None:
        self._jvm = jvm

    def forget(self) -> int:
        """Forget the paths of files that are not there; returns how many there were. Raises `Closed`."""
        try:
            return self._exits.forget()
        except Py4JJavaError as error:
            raise Closed(str(error.java_exception)) from error

    @cached_property
    def _exits(self) -> JavaObject:
        """Compiled when it is needed first: until then people wait for the first answer."""
        compiler = self._jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(SOURCE)
        return compiler.getClassLoader().loadClass(CLASS).newInstance()
