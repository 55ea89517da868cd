import type { FormEvent, ReactNode } from "react";
import { Button } from "./ui/button.tsx";
import { Failure } from "./ui/empty.tsx";
import type { Act } from "./use-act.ts";

interface ActFormProps {
  readonly act: Act;
  readonly submit: string;
  readonly onSubmit: (form: FormData) => Promise<unknown>;
  readonly children: ReactNode;
}

/** A form that stands on a page, with what went wrong above its fields. */
export function ActForm({ act, submit, onSubmit, children }: ActFormProps) {
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void onSubmit(new FormData(event.currentTarget));
  };
  return (
    <form className="grid gap-4" onSubmit={send}>
      {act.fault === null ? null : <Failure title={act.fault.message} requestId={act.fault.requestId} />}
      {children}
      <Button type="submit" tone="main" disabled={act.isBusy} className="justify-self-start">
        {act.isBusy ? "Working" : submit}
      </Button>
    </form>
  );
}
