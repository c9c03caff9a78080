// Parts that are large and not always needed: they are fetched (from this server) when they are first shown.

import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { sentence } from "../api";
import type { EditorProps } from "../editor/editor";

/** A component that is loaded when it is first drawn. */
export function lazy<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): (props: P) => JSX.Element {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P): JSX.Element {
    const [Part, setPart] = useState<ComponentType<P> | undefined>(() => loaded);
    const [problem, setProblem] = useState("");
    useEffect(() => {
      if (Part) return;
      load().then(
        (part) => setPart(() => (loaded = part.default)),
        (error) => setProblem(`This part could not be loaded (${sentence(error)}): reload the page.`),
      );
    }, []);
    if (Part) return <Part {...props} />;
    return <p class="quiet loading" role="status">{problem || "Loading…"}</p>;
  };
}

export const Editor = lazy<EditorProps>(() => import("../editor/editor"));
