// Login: a token for a cookie that scripts cannot read. The token is sent once, and kept nowhere in the browser.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, lookAtSession, sentence } from "../api";
import { Field, Wrong } from "../parts/page";
import { lookAtVocabulary } from "../prefixes";

export function Login(): JSX.Element {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const enter = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await call("POST", "/login", { body: JSON.stringify({ token }), type: "application/json" });
      setToken("");
      await lookAtSession();
      void lookAtVocabulary();
    } catch (error) {
      setProblem(sentence(error));
    }
    setBusy(false);
  };
  return (
    <main class="login" id="main">
      <h1>csparql-spark</h1>
      <form onSubmit={(event) => void enter(event)}>
        <Field label="Token" hint="The server wants to know who you are: whoever runs it gives out tokens.">
          <input type="password" name="token" autocomplete="current-password" value={token} required autofocus
            onInput={(event) => { setToken(event.currentTarget.value); setProblem(undefined); }} />
        </Field>
        <Wrong text={problem} />
        <div class="buttons"><button type="submit" class="primary" disabled={busy || !token}>Log in</button></div>
      </form>
    </main>
  );
}
