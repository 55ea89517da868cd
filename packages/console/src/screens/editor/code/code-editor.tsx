/** The editor for a prompt file, with syntax colors, completion, and underlined faults. */
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { indentService, indentUnit } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import type { PromptFileFault } from "@promptd/contract/manage";
import { useEffect, useRef } from "react";
import { completePrompt, type Known } from "./completion.ts";
import { indentAfter } from "./indent.ts";
import { promptLanguage } from "./prompt-language.ts";

interface CodeEditorProps {
  readonly value: string;
  /** The current text. Text typed since the last render is not in `value` yet. */
  readonly read: () => string;
  readonly faults: readonly PromptFileFault[];
  readonly known: Known;
  /** Where to move the cursor. A new object moves it again. */
  readonly goTo: { readonly line: number; readonly column: number | null } | null;
  readonly onChange: (value: string) => void;
}

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent", font: "var(--t-code)" },
  "&:focus-within": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { font: "var(--t-code)", fontVariantLigatures: "none" },
  ".cm-content": { padding: "12px 0", caretColor: "var(--ink)", minHeight: "320px" },
  ".cm-line": { padding: "0 12px 0 4px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--dim)", border: "0" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "36px", padding: "0 4px" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-tooltip": {
    border: "1px solid var(--line)",
    borderRadius: "6px",
    backgroundColor: "var(--float)",
    color: "var(--ink)",
    font: "var(--t-12)",
    maxWidth: "min(480px, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { font: "var(--t-code)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    color: "var(--ink)",
  },
  ".cm-completionDetail": { color: "var(--dim)", fontStyle: "normal" },
  ".cm-diagnostic": { padding: "8px 12px", borderLeft: "0", whiteSpace: "pre-wrap" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-lint-marker-error": {
    content: "''",
    width: "8px",
    height: "8px",
    borderRadius: "4px",
    backgroundColor: "var(--bad)",
  },
  ".cm-gutter-lint": { width: "14px" },
  ".cm-specialChar": { color: "var(--bad)" },
});

const LABEL = "Prompt file. Tab indents; press Escape, then Tab, to leave.";

/**
 * Renders the editor in a shadow root. Only there does CodeMirror use constructed style sheets, which the content
 * security policy allows. Elsewhere it adds a style element, which the policy blocks.
 */
export function CodeEditor({ value, read, faults, known, goTo, onChange }: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef({ read, known, onChange });
  latest.current = { read, known, onChange };

  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open", delegatesFocus: true });
    const created = new EditorView({ root, parent: root, state: createState(latest) });
    view.current = created;
    return () => {
      created.destroy();
      view.current = null;
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    const text = latest.current.read();
    if (editor === null || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [value]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null) return;
    editor.dispatch(
      setDiagnostics(
        editor.state,
        faults.flatMap((fault) => diagnosticOf(fault, editor.state.doc)),
      ),
    );
  }, [faults]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || goTo === null) return;
    const line = editor.state.doc.line(Math.min(goTo.line, editor.state.doc.lines));
    const at = Math.min(line.to, line.from + (goTo.column ?? 1) - 1);
    editor.dispatch({ selection: { anchor: at }, scrollIntoView: true });
    editor.focus();
  }, [goTo]);

  return <div ref={host} className="min-w-0" />;
}

type Latest = { readonly current: Pick<CodeEditorProps, "read" | "known" | "onChange"> };

function createState(latest: Latest): EditorState {
  return EditorState.create({
    doc: latest.current.read(),
    extensions: [
      lineNumbers(),
      lintGutter(),
      history(),
      drawSelection(),
      // Marks invisible characters, as pasted from web pages and documents, and characters that reorder text.
      highlightSpecialChars(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      indentUnit.of("  "),
      indentService.of(({ state }, at) => indentAfter(state.doc.sliceString(0, at))),
      EditorView.lineWrapping,
      promptLanguage,
      autocompletion({ override: [completePrompt(() => latest.current.known)], icons: false }),
      keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ "aria-label": LABEL, spellcheck: "false", autocapitalize: "off" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) latest.current.onChange(update.state.doc.toString());
      }),
      theme,
    ],
  });
}

/** The range to underline. A fault without a line appears only in the list below. */
function diagnosticOf({ line: number, column, message, excerpt }: PromptFileFault, doc: Text): Diagnostic[] {
  if (number === null || number > doc.lines) return [];
  const line = doc.line(number);
  const indent = line.text.length - line.text.trimStart().length;
  const from = Math.min(line.to, line.from + (column === null ? indent : column - 1));
  const fits = column !== null && excerpt !== null && line.text.startsWith(excerpt, column - 1);
  // If only the start is known, underline the word that starts there.
  const word = column === null ? null : /^[\p{L}\p{N}_-]+/u.exec(line.text.slice(column - 1));
  const to = fits ? from + excerpt.length : word === null ? line.to : from + word[0].length;
  return [{ from: to > from ? from : line.from, to: Math.max(to, line.from), severity: "error", message }];
}
