import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";

const PLUGINS = [remarkGfm];

/**
 * Renders text from a model. Raw HTML stays text. Images become links, because a page must not contact another server
 * only because a model wrote its address. Line breaks are preserved, for poems.
 */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <div className="prose [&_p]:whitespace-pre-line">
      <ReactMarkdown
        remarkPlugins={PLUGINS}
        components={{
          // Unsafe addresses, such as javascript: URLs, have been removed by now.
          a: ({ href, children }) =>
            href === undefined || href === "" ? (
              children
            ) : (
              <a href={href} rel="noopener nofollow" target="_blank">
                {children}
              </a>
            ),
          // Focusable, so that keys can scroll it.
          table: ({ children }) => <table tabIndex={0}>{children}</table>,
          img: ({ src, alt }) => (
            <a href={typeof src === "string" ? src : undefined} rel="noopener nofollow" target="_blank">
              {alt === undefined || alt === "" ? "Image" : alt}
            </a>
          ),
        }}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}
