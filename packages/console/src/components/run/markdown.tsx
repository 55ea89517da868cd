import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";

const PLUGINS = [remarkGfm];

/**
 * Text of a model. Raw HTML stays text, pictures of other hosts are shown as links: a page must not ask a stranger's
 * server because a model wrote an address. The lines of a poem stay lines.
 */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <div className="prose [&_p]:whitespace-pre-line">
      <ReactMarkdown
        remarkPlugins={PLUGINS}
        components={{
          // An address that no page may follow, such as one of a script, has become none.
          a: ({ href, children }) =>
            href === undefined || href === "" ? (
              children
            ) : (
              <a href={href} rel="noopener nofollow" target="_blank">
                {children}
              </a>
            ),
          // Keys scroll what has the focus.
          table: ({ children }) => <table tabIndex={0}>{children}</table>,
          img: ({ src, alt }) => (
            <a href={typeof src === "string" ? src : undefined} rel="noopener nofollow" target="_blank">
              {alt === undefined || alt === "" ? "Picture" : alt}
            </a>
          ),
        }}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}
