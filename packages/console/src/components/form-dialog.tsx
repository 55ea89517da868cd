import type { FormEvent, ReactNode } from "react";
import { Button } from "./ui/button.tsx";
import { Dialog } from "./ui/dialog.tsx";
import { FaultNote } from "./fault-note.tsx";
import { useAction } from "./use-action.ts";

interface FormDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: ReactNode;
  /** The verb on the submit button. */
  readonly submit: string;
  readonly isDanger?: boolean;
  /** False disables the submit button until the input is valid. The default is true. */
  readonly isReady?: boolean;
  /** If it throws, the dialog stays open and shows the error. */
  readonly onSubmit: (form: FormData) => Promise<unknown>;
  readonly children?: ReactNode;
}

/** A dialog that asks for input or confirmation. It closes only after the action succeeds. */
export function FormDialog(props: FormDialogProps) {
  const { isOpen, onClose, title, description, submit, isDanger = false, isReady = true, onSubmit, children } = props;
  const action = useAction();
  const close = () => {
    action.clear();
    onClose();
  };
  // The running action changes the page behind the dialog, so that page must stay blocked until it ends.
  const cancel = () => {
    if (!action.isBusy) close();
  };
  const send = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    if (await action.run(() => onSubmit(form))) close();
  };
  return (
    <Dialog open={isOpen} onClose={cancel} title={title} description={description}>
      <form className="grid gap-4" onSubmit={(event) => void send(event)}>
        <FaultNote fault={action.fault} />
        {children}
        {/* Keeps the buttons in view in long dialogs. The space around the dialog is 12vh. */}
        <div className="sticky bottom-[-12vh] -mx-5 -mb-5 flex flex-wrap justify-end gap-2 rounded-3 bg-float px-5 pt-1 pb-5">
          <Button disabled={action.isBusy} onClick={cancel}>
            Cancel
          </Button>
          <Button type="submit" tone={isDanger ? "danger" : "main"} disabled={action.isBusy || !isReady}>
            {action.isBusy ? "Working" : submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
