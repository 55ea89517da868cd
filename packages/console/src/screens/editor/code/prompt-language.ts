/** Colors a prompt file: YAML in its head, Liquid and Markdown in its body. Only the server validates it. */
import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StringStream } from "@codemirror/language";
import { tags } from "@lezer/highlight";

interface Position {
  /** `start`: before the first fence. The head ends at the second fence. */
  part: "start" | "head" | "body";
  /** The delimiter that closes the open Liquid tag. */
  liquid: "}}" | "%}" | null;
}

function headToken(stream: StringStream): string | null {
  if (stream.match(/^\s+/)) return null;
  if (stream.match(/^#.*/)) return "comment";
  if (stream.match(/^-(?=\s|$)/)) return "punctuation";
  if (stream.match(/^("[^"]*"|'[^']*'|[^\s:#,[\]{}"'][^:#,[\]{}"']*?)(?=\s*:(\s|$))/)) return "propertyName";
  if (stream.match(/^"(?:[^"\\]|\\.)*"?|^'[^']*'?/)) return "string";
  if (stream.match(/^-?\d+(\.\d+)?(?=[\s,\]}]|$)/) || stream.match(/^(true|false|null)(?=[\s,\]}]|$)/)) return "number";
  if (stream.match(/^[:,[\]{}|>]/)) return "punctuation";
  if (stream.match(/^[^\s,[\]{}:]+/) === null) stream.next();
  return null;
}

function liquidToken(stream: StringStream, at: Position): string | null {
  if (at.liquid !== null && stream.match(new RegExp(`^-?${at.liquid}`))) {
    at.liquid = null;
    return "keyword";
  }
  if (stream.match(/^"[^"]*"?|^'[^']*'?/)) return "string";
  if (stream.match(/^-?\d+(\.\d+)?/)) return "number";
  if (stream.match(/^\s+/)) return null;
  if (stream.match(/^[\w-]+/) === null) stream.next();
  return at.liquid === "%}" ? "keyword" : "variableName";
}

function bodyToken(stream: StringStream, at: Position): string | null {
  if (at.liquid !== null) return liquidToken(stream, at);
  const open = stream.match(/^\{\{-?|^\{%-?/) as RegExpMatchArray | null;
  if (open !== null) {
    at.liquid = open[0].startsWith("{{") ? "}}" : "%}";
    return "keyword";
  }
  if (stream.sol() && stream.match(/^#{1,6}\s/)) return "heading";
  if (stream.match(/^\*\*[^*{]+\*\*/)) return "strong";
  if (stream.match(/^`[^`{]+`/)) return "string";
  if (stream.match(/^[^{*`#]+/) === null) stream.next();
  return null;
}

const language = StreamLanguage.define<Position>({
  name: "prompt-file",
  startState: () => ({ part: "start", liquid: null }),
  token: (stream, at) => {
    if (at.part !== "body" && stream.sol() && stream.match(/^---\s*$/)) {
      at.part = at.part === "start" ? "head" : "body";
      return "meta";
    }
    if (at.part === "start") at.part = "body";
    return at.part === "head" ? headToken(stream) : bodyToken(stream, at);
  },
});

const style = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--code-key)" },
  { tag: tags.keyword, color: "var(--code-num)" },
  { tag: tags.variableName, color: "var(--code-num)" },
  { tag: tags.string, color: "var(--code-text)" },
  { tag: tags.number, color: "var(--code-num)" },
  { tag: [tags.comment, tags.meta, tags.punctuation], color: "var(--dim)" },
  { tag: [tags.heading, tags.strong], fontWeight: "600" },
]);

export const promptLanguage = [language, syntaxHighlighting(style)];
