export function Brand({ hasWord = true }: { readonly hasWord?: boolean }) {
  return (
    <span className="inline-flex items-center gap-2 text-14 font-semibold">
      <svg
        aria-hidden
        viewBox="0 0 20 20"
        className="size-5 text-accent"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
      >
        <path d="M4 5l5.5 5L4 15M11.5 15H17" />
      </svg>
      {hasWord ? <span>promptd</span> : <span className="sr-only">promptd</span>}
    </span>
  );
}
