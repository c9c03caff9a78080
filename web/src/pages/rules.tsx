// The rule sets: what follows from what.

import type { JSX } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { call, check, get, mayNot, Problem, rulesPath, sentence, session, text as textOf } from "../api";
import { Code } from "../editor/code";
import { sure } from "../parts/dialog";
import { Ago } from "../parts/instant";
import { Editor } from "../parts/lazy";
import { act, notify } from "../parts/notices";
import { Field, Page, Wrong } from "../parts/page";
import { go, href, route } from "../route";
import { usePolled, useStore } from "../store";
import { count, many } from "../time";
import type { Mistake, RulesInfo } from "../types";

const LOOKING = 5000;
const EXAMPLE = `@prefix ex: <http://example.org/>.

# What is in a part is in the whole.
[within: (?a ex:isIn ?b) (?b ex:isIn ?c) -> (?a ex:isIn ?c)]
`;

export function Rules(): JSX.Element {
  const { path: [, name], asked } = useStore(route);
  if (asked.write !== undefined) return <Write key={name} name={name ?? ""} />;
  return name ? <RuleSet key={name} name={name} /> : <List />;
}

function List(): JSX.Element {
  const who = useStore(session);
  const { value, problem } = usePolled((signal) => get<{ rules: RulesInfo[] }>("/rules", signal), LOOKING, []);
  return (
    <Page title="Rules" acts={mayNot("register", who) ? undefined : <a class="button primary" href={href(["rules"], { write: "new" })}>New rule set</a>}>
      <Wrong text={problem} />
      {value && (
        <div class="table-wrap">
          <table class="list">
            <thead><tr><th scope="col">Name</th><th scope="col" class="number">Rules</th><th scope="col">Changed</th></tr></thead>
            <tbody>
              {value.rules.map((rules) => (
                <tr key={rules.name}>
                  <th scope="row"><a href={href(["rules", rules.name])}>{rules.name}</a></th>
                  <td class="number">{count(rules.rules)}</td>
                  <td>{rules.built_in ? <span class="quiet">comes with the server</span> : <Ago at={rules.changed} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="quiet">A query names rule sets with <code>USING ENTAILMENT</code>; one rule set takes in another with <code>@include &lt;rdfs&gt;.</code></p>
    </Page>
  );
}

function useText(name: string): { text: string | undefined; problem: string | undefined } {
  const [state, setState] = useState<{ text: string | undefined; problem: string | undefined }>({ text: undefined, problem: undefined });
  useEffect(() => {
    if (!name) return;
    const ended = new AbortController();
    textOf(rulesPath(name), "text/plain", ended.signal).then(
      (text) => setState({ text, problem: undefined }),
      (error) => ended.signal.aborted || setState({ text: undefined, problem: sentence(error) }));
    return () => ended.abort();
  }, [name]);
  return state;
}

function RuleSet({ name }: { name: string }): JSX.Element {
  const who = useStore(session);
  const { text, problem } = useText(name);
  const { value } = usePolled((signal) => get<{ rules: RulesInfo[] }>("/rules", signal), LOOKING, []);
  const told = value?.rules.find((rules) => rules.name === name);
  const remove = async (): Promise<void> => {
    if (!(await sure(`Delete the rule set ${name}?`, "A rule set that a query uses stays.", "Delete"))) return;
    if (await act(() => call("DELETE", rulesPath(name)), `${name} is deleted.`)) go(["rules"]);
  };
  const ours = told?.built_in === false && !mayNot("register", who);
  return (
    <Page title={name} acts={ours && (
      <>
        <a class="button" href={href(["rules", name], { write: "edit" })}>Edit</a>
        <button type="button" class="danger" onClick={() => void remove()}>Delete</button>
      </>
    )}>
      <Wrong text={problem} />
      {told && <p class="facts">{many(told.rules, "rule")} · {told.built_in ? "comes with the server, and stays as it is" : <>changed <Ago at={told.changed} /></>}</p>}
      {text !== undefined && <Code text={text} syntax="rules" label={`Rules of ${name}`} />}
    </Page>
  );
}

function Write({ name: given }: { name: string }): JSX.Element {
  const before = useText(given);
  const [name, setName] = useState(given);
  const [text, setText] = useState(given ? "" : EXAMPLE);
  const [refused, setRefused] = useState<readonly Mistake[]>([]);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  useEffect(() => void (before.text !== undefined && setText(before.text)), [before.text]);
  const change = useCallback((now: string) => {
    setText(now);
    setRefused([]);
    setProblem(undefined);
  }, []);
  const save = async (): Promise<void> => {
    if (!name) return setProblem("The rule set has no name yet.");
    try {
      await call("PUT", rulesPath(name), { body: text, type: "text/plain" });
      notify(`The rule set ${name} is set.`);
      go(["rules", name]);
    } catch (error) {
      setProblem(sentence(error));
      if (error instanceof Problem) setRefused(error.errors);
    }
  };
  return (
    <Page title={given || "New rule set"} acts={<a class="button" href={href(given ? ["rules", given] : ["rules"])}>Cancel</a>}>
      {!given && <Field label="Name"><input value={name} onInput={(event) => setName(event.currentTarget.value.trim())} spellcheck={false} /></Field>}
      <Wrong text={before.problem} />
      <Editor value={text} onInput={change} syntax="rules" label="Text of the rule set" refused={refused} onSubmit={() => void save()}
        check={(now, signal) => check(now, "rules", name, signal)} />
      <Wrong text={refused.length ? undefined : problem} />
      <div class="buttons"><button type="button" class="primary" disabled={!text.trim() || !name} onClick={() => void save()} title="Ctrl+Enter">Save</button></div>
    </Page>
  );
}
