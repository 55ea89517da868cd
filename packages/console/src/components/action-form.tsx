import type { FormEvent, ReactNode } from "react";
import { Button } from "./ui/button.tsx";
import { FaultNote } from "./fault-note.tsx";
import type { Action } from "./use-action.ts";

interface ActionFormProps {
  readonly action: Action;
  readonly submit: string;
  readonly onSubmit: (form: FormData) => Promise<unknown>;
  /** Beside the button. */
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}

/** A form on a page. Errors appear above its fields. */
export function ActionForm({ action, submit, onSubmit, aside, children }: ActionFormProps) {
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void onSubmit(new FormData(event.currentTarget));
  };
  return (
    <form className="grid gap-4" onSubmit={send}>
      <FaultNote fault={action.fault} />
      {children}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" tone="main" disabled={action.isBusy}>
          {action.isBusy ? "Working" : submit}
        </Button>
        {aside}
      </div>
    </form>
  );
}
