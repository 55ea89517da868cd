import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ActionForm } from "../../../components/action-form.tsx";
import { CopyButton } from "../../../components/copy-button.tsx";
import { FormDialog } from "../../../components/form-dialog.tsx";
import { QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { PasswordField } from "../../../components/shell/person-fields.tsx";
import { Badge } from "../../../components/ui/badge.tsx";
import { Button } from "../../../components/ui/button.tsx";
import { Field, Input } from "../../../components/ui/field.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { toast } from "../../../components/ui/toast.tsx";
import { useAction } from "../../../components/use-action.ts";
import { askAuth, textOf } from "../../../sign-in.ts";
import { loginsQuery, ownSessionQuery } from "../auth-queries.ts";
import { QrCode } from "./qr-code.tsx";

/** Sets up an authenticator app and shows backup codes in case it is lost. */
interface Enabling {
  readonly totpURI: string;
  readonly backupCodes: readonly string[];
}

type OpenDialog = "enable" | "disable" | null;

export function SecondFactor() {
  const own = useQuery(ownSessionQuery);
  const { data: logins } = useQuery(loginsQuery);
  const queries = useQueryClient();
  const [openDialog, setOpenDialog] = useState<OpenDialog>(null);
  const [enabling, setEnabling] = useState<Enabling | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  if (own.isLoadingError) return <QueryFailure what="Two-factor authentication" query={own} />;
  if (own.data === undefined)
    return <RowShapes what="two-factor authentication" title="Two-factor authentication" rows={2} />;
  const hasPassword = logins?.some(({ providerId }) => providerId === "credential") === true;
  const isOn = own.data.user.twoFactorEnabled === true;
  const refresh = () => queries.invalidateQueries({ queryKey: ["auth"] });
  const confirm = async (form: FormData) => {
    const password = textOf(form, "password");
    if (openDialog === "enable") setEnabling(await askAuth<Enabling>("two-factor/enable", { password }));
    else {
      await askAuth("two-factor/disable", { password });
      setCodes(null);
      toast("Two-factor authentication turned off");
      await refresh();
    }
  };
  const finish = async () => {
    setCodes(enabling?.backupCodes ?? []);
    setEnabling(null);
    await refresh();
  };
  return (
    <Panel
      title="Two-factor authentication"
      aside={isOn ? <Badge tone="ok">on</Badge> : <Badge>off</Badge>}
      actions={
        enabling === null && hasPassword ? (
          <Button small tone={isOn ? "danger" : "plain"} onClick={() => setOpenDialog(isOn ? "disable" : "enable")}>
            {isOn ? "Turn off" : "Turn on"}
          </Button>
        ) : null
      }
    >
      {enabling !== null ? (
        <Pairing enabling={enabling} onDone={() => void finish()} />
      ) : codes !== null ? (
        <BackupCodes codes={codes} onDone={() => setCodes(null)} />
      ) : (
        <p className="max-w-[72ch] text-dim">
          {isOn
            ? "Signing in with your password also asks for a code from your authenticator app."
            : "An authenticator app on your phone generates a code for each sign-in, so a stolen password alone is not enough."}
          {hasPassword ? "" : " It needs a password; set one first."}
        </p>
      )}
      <FormDialog
        isOpen={openDialog !== null}
        onClose={() => setOpenDialog(null)}
        title={openDialog === "disable" ? "Turn off two-factor authentication?" : "Turn on two-factor authentication"}
        description="Confirm with your password."
        submit={openDialog === "disable" ? "Turn off" : "Continue"}
        isDanger={openDialog === "disable"}
        onSubmit={confirm}
      >
        <PasswordField kind="current" autoFocus />
      </FormDialog>
    </Panel>
  );
}

function Pairing({ enabling: { totpURI }, onDone }: { readonly enabling: Enabling; readonly onDone: () => void }) {
  const action = useAction();
  const secret = new URL(totpURI).searchParams.get("secret") ?? "";
  const verify = (form: FormData) =>
    action.run(async () => {
      await askAuth("two-factor/verify-totp", { code: textOf(form, "code").replaceAll(/\s/g, "") });
      onDone();
    });
  return (
    <div className="grid items-start gap-6 sm:grid-cols-[176px_minmax(0,400px)]">
      <QrCode text={totpURI} label="Code to scan with your authenticator app" />
      <div className="grid gap-4">
        <p>Scan the code with your authenticator app, or enter this key in it:</p>
        <div className="flex items-center gap-2 rounded-2 border border-edge py-1 pr-1 pl-3">
          <code className="min-w-0 flex-1 [overflow-wrap:anywhere]">{secret}</code>
          <CopyButton text={secret} label="Copy key" />
        </div>
        <ActionForm action={action} submit="Confirm" onSubmit={verify}>
          <Field label="Code from the app" help="Six digits; they change every 30 seconds.">
            {(control) => (
              <Input
                {...control}
                name="code"
                inputMode="numeric"
                autoComplete="one-time-code"
                maxLength={8}
                required
                autoFocus
              />
            )}
          </Field>
        </ActionForm>
      </div>
    </div>
  );
}

function BackupCodes({ codes, onDone }: { readonly codes: readonly string[]; readonly onDone: () => void }) {
  return (
    <div className="grid justify-items-start gap-3">
      <p className="max-w-[72ch]">
        Two-factor authentication is on. Save these backup codes somewhere you can reach without your phone. Each code
        signs you in once. They won’t be shown again.
      </p>
      <ul className="grid w-full max-w-[400px] grid-cols-2 gap-x-6 gap-y-1 rounded-2 bg-sunk p-4 font-mono">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex gap-2">
        <CopyButton text={codes.join("\n")} label="Copy codes" small={false} />
        <Button onClick={onDone}>I’ve saved them</Button>
      </div>
    </div>
  );
}
