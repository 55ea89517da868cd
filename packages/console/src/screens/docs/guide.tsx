import { useQuery } from "@tanstack/react-query";
import { Link, useLocation, useParams } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Missing, QueryFailure, RowShapes } from "../../components/query-states.tsx";
import { findGuide, loadGuide } from "./guides.ts";
import { anchorOf } from "./sections-of.ts";

export function GuideSection() {
  const { guide } = useParams({ from: "/open/docs/$guide" });
  const { hash } = useLocation();
  const known = findGuide(guide);
  const text = useQuery({
    queryKey: ["docs", guide],
    queryFn: () => loadGuide(guide),
    enabled: known !== undefined,
    staleTime: Infinity,
  });
  const isShown = text.data !== undefined;
  useEffect(() => {
    // The section that the address names exists only now.
    if (isShown && hash !== "") document.getElementById(hash)?.scrollIntoView();
  }, [isShown, hash]);
  if (known === undefined) {
    return (
      <Missing title="Guide not found" to="/docs" label="All guides">
        Check the address. The guide may belong to another version.
      </Missing>
    );
  }
  if (text.isError) return <QueryFailure what="The guide" query={text} />;
  if (text.data === undefined) return <RowShapes what="the guide" rows={8} />;
  return (
    <article className="prose min-w-0">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {text.data}
      </ReactMarkdown>
    </article>
  );
}

const PLUGINS = [remarkGfm];

/** The plain text of a heading, whatever elements it contains. */
function plainText(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map((one: ReactNode) => plainText(one)).join("");
  if (typeof node === "object" && node !== null && "props" in node) {
    return plainText((node.props as { readonly children?: ReactNode }).children);
  }
  return "";
}

const idOf = (children: ReactNode) => anchorOf(plainText(children));

/** The page has its own h1, so a guide's headings are one level lower. */
const COMPONENTS: Components = {
  h1: ({ children }) => (
    <h2 id={idOf(children)} className="text-20!">
      {children}
    </h2>
  ),
  h2: ({ children }) => (
    <h3 id={idOf(children)} className="scroll-mt-6 pt-2 text-16!">
      {children}
    </h3>
  ),
  h3: ({ children }) => (
    <h4 id={idOf(children)} className="scroll-mt-6">
      {children}
    </h4>
  ),
  a: ({ href = "", children }) => <DocLink href={href}>{children}</DocLink>,
  img: () => null,
  // Focusable, so that keys can scroll it: a table may be wider than a phone.
  table: ({ children }) => <table tabIndex={0}>{children}</table>,
  pre: ({ children }) => (
    <pre tabIndex={0} aria-label="Code">
      {children}
    </pre>
  ),
};

/** Guides link to each other by file name. Other files exist only in the repository. */
function DocLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const [, name, hash] = /^(?:\.\/)?(?:docs\/)?([a-z-]+)\.md(?:#(.*))?$/.exec(href) ?? [];
  if (name !== undefined && findGuide(name) !== undefined) {
    return (
      <Link to="/docs/$guide" params={{ guide: name }} {...(hash === undefined ? {} : { hash })}>
        {children}
      </Link>
    );
  }
  if (href.startsWith("#")) return <a href={href}>{children}</a>;
  if (!/^https?:/.test(href)) return <>{children}</>;
  return (
    <a href={href} rel="noopener" target="_blank">
      {children}
    </a>
  );
}
