// The editor: CodeMirror with our colours, our completion, and the server's opinion while one types.
//
//     <Editor value={text} onInput={setText} check={(text, signal) => check(text, "query", "", signal)} label="Query" />
//
// Under it stands what is wrong, each with its place and, where the server knows one, the fix: one click or Enter.
// Mod-Enter submits; Escape and then Tab leave the editor by keyboard. Loaded when it is first needed: see `lazy.tsx`.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { Tag } from "@lezer/highlight";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { sentence } from "../api";
import { lookAtVocabulary } from "../prefixes";
import type { Checked, Fix, Mistake } from "../types";
import { complete } from "./completion";
import { changeOf, rangeOf } from "./places";
import { next, type Kind, type Syntax, type Walk } from "./tokens";

export interface EditorProps {
  value: string;
  onInput: (text: string) => void;
  label: string;
  syntax?: Syntax;
  check?: (text: string, signal: AbortSignal) => Promise<Checked>;
  /** What the server said when the text was sent: shown until the text changes. */
  refused?: readonly Mistake[];
  onSubmit?: () => void;
  onChecked?: (checked: Checked | undefined) => void;
  hint?: string;
}

const KINDS: Kind[] = ["clause", "window", "builtin", "iri", "name", "variable", "string", "number", "duration", "comment",
  "bracket", "operator", "blank", "word", "wrong"];
const TAGS = Object.fromEntries(KINDS.map((kind) => [kind, Tag.define()])) as Record<Kind, Tag>;
const STYLE = HighlightStyle.define(KINDS.map((kind) => ({ tag: TAGS[kind], class: `tok-${kind}` })));
const CHECKING = 250;

const language = (syntax: Syntax): StreamLanguage<Walk> =>
  StreamLanguage.define<Walk>({
    name: syntax,
    startState: () => ({ open: "" }),
    copyState: (walk) => ({ ...walk }),
    // Names of ours: some kinds mean something else to the library.
    tokenTable: Object.fromEntries(KINDS.map((kind) => [`our-${kind}`, TAGS[kind]])),
    languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
    token(stream, walk) {
      if (!walk.open && stream.eatSpace()) return null;
      const span = next(stream.string, stream.pos, walk, syntax);
      if (!span) {
        stream.skipToEnd();
        return null;
      }
      stream.pos = span.to;
      return `our-${span.kind}`;
    },
  });

export default function Editor(props: EditorProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  // What was told by onInput and has not come back as the newest value yet. A value that comes late is an echo of what was
  // typed before, and no wish of the page: to write it into the editor would be told again, and so on for ever.
  const echoes = useRef(new Set<string>());
  const [checked, setChecked] = useState<Checked | undefined>(undefined);
  const [silent, setSilent] = useState<string | undefined>(undefined);

  useEffect(() => {
    let timer = 0;
    let asked = new AbortController();
    const look = async (editor: EditorView): Promise<void> => {
      const { check, onChecked } = latest.current;
      asked.abort();
      asked = new AbortController();
      const { doc } = editor.state;
      if (!check || !doc.toString().trim()) {
        setChecked(undefined);
        onChecked?.(undefined);
        editor.dispatch(setDiagnostics(editor.state, []));
        return;
      }
      try {
        const found = await check(doc.toString(), asked.signal);
        if (asked.signal.aborted || editor.state.doc !== doc) return;
        setChecked(found);
        setSilent(undefined);
        onChecked?.(found);
        editor.dispatch(setDiagnostics(editor.state, found.errors.map((mistake) => diagnostic(editor, mistake))));
      } catch (error) {
        if (!asked.signal.aborted) setSilent(sentence(error));
      }
    };
    const editor = new EditorView({
      parent: place.current ?? undefined,
      state: EditorState.create({
        doc: props.value,
        extensions: [
          // Before the editor's own keys, of which one inserts a line.
          keymap.of([{ key: "Mod-Enter", run: () => (latest.current.onSubmit?.(), true) }]),
          ...base(props.syntax ?? "query", props.label, props.hint),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            const text = update.state.doc.toString();
            echoes.current.add(text);
            latest.current.onInput(text);
            clearTimeout(timer);
            timer = window.setTimeout(() => void look(update.view), CHECKING);
          }),
        ],
      }),
    });
    view.current = editor;
    void lookAtVocabulary();
    void look(editor);
    return () => {
      clearTimeout(timer);
      asked.abort();
      editor.destroy();
    };
  }, [props.syntax, props.label]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const current = editor.state.doc.toString() === props.value;
    if (!current && echoes.current.has(props.value)) return;
    if (!current) editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: props.value } });
    echoes.current.clear();
  }, [props.value]);

  useEffect(() => {
    const editor = view.current;
    if (editor && props.refused?.length)
      editor.dispatch(setDiagnostics(editor.state, props.refused.map((mistake) => diagnostic(editor, mistake))));
  }, [props.refused]);

  const mistakes = props.refused?.length ? props.refused : (checked?.errors ?? []);
  const apply = (fix: Fix): void => {
    if (!view.current) return;
    applyFix(view.current, fix);
    view.current.focus();
  };
  const show = (mistake: Mistake): void => {
    const editor = view.current;
    if (!editor) return;
    const { from, to } = rangeOf(editor.state.doc, mistake);
    editor.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    editor.focus();
  };
  return (
    <div class="editor">
      <div class="editor-text" ref={place} />
      <div class="mistakes" role="status" aria-live="polite">
        {silent && <p class="mistake-quiet">Not checked: {silent}</p>}
        {mistakes.map((mistake) => (
          <div class="mistake" key={`${mistake.line}:${mistake.column}:${mistake.message}`}>
            <button type="button" class="place" onClick={() => show(mistake)} title="Go there">
              {mistake.line}:{mistake.column}
            </button>
            <span>
              {mistake.message} {mistake.hint && <em>{mistake.hint}</em>}
            </span>
            {mistake.fix && (
              <button type="button" class="fix" onClick={() => mistake.fix && apply(mistake.fix)}>
                {mistake.fix.label}
              </button>
            )}
          </div>
        ))}
        {checked?.warnings.map((warning) => (
          <div class="mistake warning" key={warning.message}>
            {warning.line !== undefined && <span class="place">{warning.line}:{warning.column}</span>}
            <span>{warning.message}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

function diagnostic(editor: EditorView, mistake: Mistake): Diagnostic {
  const { fix } = mistake;
  return {
    ...rangeOf(editor.state.doc, mistake),
    severity: "error",
    message: mistake.hint ? `${mistake.message} ${mistake.hint}` : mistake.message,
    actions: fix ? [{ name: fix.label, apply: (there) => applyFix(there, fix) }] : [],
  };
}

function applyFix(editor: EditorView, fix: Fix): void {
  const change = changeOf(editor.state.doc, fix);
  editor.dispatch({ changes: change, selection: { anchor: change.from + change.insert.length }, userEvent: "input.fix" });
}

const base = (syntax: Syntax, label: string, hint?: string): Extension[] => [
  lineNumbers(),
  history(),
  drawSelection(),
  highlightActiveLine(),
  bracketMatching(),
  closeBrackets(),
  indentUnit.of("  "),
  language(syntax),
  syntaxHighlighting(STYLE),
  syntax === "query" ? autocompletion({ override: [complete], icons: false }) : [],
  lintGutter(),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
  hint ? placeholder(hint) : [],
  keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
];
