import { useEffect, type ReactNode } from "react";
import { Brand } from "./brand.tsx";

interface SignedOutPageProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of pages shown before sign-in. */
export function SignedOutPage({ title, lead, children }: SignedOutPageProps) {
  useEffect(() => {
    document.title = `${title} · promptd`;
  }, [title]);
  return (
    <main className="mx-auto grid min-h-dvh w-full max-w-[376px] content-center gap-6 px-4 py-12">
      <Brand />
      <div className="grid gap-1">
        <h1>{title}</h1>
        {lead === undefined ? null : <p className="text-dim text-pretty">{lead}</p>}
      </div>
      {children}
    </main>
  );
}
