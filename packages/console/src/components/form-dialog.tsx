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
  /** The verb on the button. */
  readonly submit: string;
  readonly isDanger?: boolean;
  /** False: what was typed so far does not do, and the button waits; true when absent. */
  readonly isReady?: boolean;
  /** What it throws is shown in the dialog, which then stays. */
  readonly onSubmit: (form: FormData) => Promise<unknown>;
  readonly children?: ReactNode;
}

/** A dialog that asks for something or for a yes, does it, and stays open while it has not worked. */
export function FormDialog(props: FormDialogProps) {
  const { isOpen, onClose, title, description, submit, isDanger = false, isReady = true, onSubmit, children } = props;
  const action = useAction();
  const close = () => {
    action.clear();
    onClose();
  };
  // What is under way changes what stands behind the dialog: nothing is done there meanwhile.
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
        {/* In view, however long what is asked is: the room around the dialog is 12vh. */}
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
