import type { AccountDeletion, AccountOfPerson } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { chooseAccount, chosenAccount } from "../../account.ts";
import { creditsQuery, download, manage, sessionQuery } from "../../api.ts";
import { Facts } from "../../components/facts.tsx";
import { FormDialog } from "../../components/form-dialog.tsx";
import { formatCredits, nameIn } from "../../components/format.ts";
import { QueryFailure, RowShapes } from "../../components/query-states.tsx";
import { saveFile } from "../../components/save-file.ts";
import { Button } from "../../components/ui/button.tsx";
import { FaultNote } from "../../components/fault-note.tsx";
import { Field, Input } from "../../components/ui/field.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { useAction } from "../../components/use-action.ts";
import { textOf } from "../../sign-in.ts";
import { NameForm } from "./name-form.tsx";

/** The chosen account: its details, export, and deletion. */
export function AccountSection() {
  const session = useQuery(sessionQuery);
  if (session.isLoadingError) return <QueryFailure what="The account" query={session} />;
  const account = session.data?.accounts.find(({ accountId }) => accountId === chosenAccount());
  if (account === undefined) return <RowShapes what="the account" title="Account" rows={3} />;
  const isOwner = account.role === "owner";
  return (
    <>
      <Panel title="Account" aside="keys, credits, runs, and prompts belong to it">
        <Facts
          facts={[
            ...(isOwner ? [] : [{ label: "Name", value: account.name }]),
            { label: "Email", value: account.email },
            { label: "Your role", value: account.role },
            { label: "ID", value: <code className="text-12">{account.accountId}</code> },
          ]}
        />
      </Panel>
      {isOwner ? (
        <>
          <Naming key={account.accountId} account={account} />
          <Export account={account} />
          <Deletion account={account} />
        </>
      ) : (
        <Leaving account={account} />
      )}
    </>
  );
}

interface AccountProps {
  readonly account: AccountOfPerson;
}

function Naming({ account }: AccountProps) {
  const queries = useQueryClient();
  const save = async (name: string) => {
    await manage.send("updateAccount", { body: { name } });
    await queries.invalidateQueries();
  };
  return (
    <NameForm
      title="Name"
      label="Account name"
      help="Shown in the marketplace as the author of the account’s prompts."
      name={account.name}
      onSave={save}
    />
  );
}

/** For members. Owners remove themselves on the members page. */
function Leaving({ account }: AccountProps) {
  const [isAsking, setAsking] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const leave = async () => {
    await manage.send("leaveAccount");
    chooseAccount(null);
    queries.clear();
    toast(`You have left ${nameIn(account.name)}`);
    await navigate({ to: "/" });
  };
  return (
    <Panel title="Leave account">
      <div className="grid justify-items-start gap-3">
        <p className="max-w-[72ch] text-dim">Only owners can export or delete the account.</p>
        <Button onClick={() => setAsking(true)}>Leave account</Button>
      </div>
      <FormDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Leave ${nameIn(account.name)}?`}
        description="You lose access immediately, and your management tokens for it stop working. An owner can invite you again."
        submit="Leave account"
        isDanger
        onSubmit={leave}
      />
    </Panel>
  );
}

function Export({ account }: AccountProps) {
  const action = useAction();
  const save = () =>
    action.run(async () => {
      const archive = await download("/manage/v1/account/export");
      saveFile(`promptd-${account.accountId}.tar.gz`, archive);
      toast("Archive saved");
    });
  return (
    <Panel title="Export">
      <div className="grid justify-items-start gap-3">
        <FaultNote fault={action.fault} />
        <p className="max-w-[72ch] text-dim">
          One archive (.tar.gz) of everything stored for this account: members, keys and tokens without their secrets,
          every version of every prompt, runs with inputs and outputs, the journal, usage, and the files that still
          exist.
        </p>
        <Button disabled={action.isBusy} onClick={() => void save()}>
          {action.isBusy ? "Packing" : "Download archive"}
        </Button>
      </div>
    </Panel>
  );
}

function Deletion({ account }: AccountProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <Panel title="Delete account">
      <div className="grid justify-items-start gap-3">
        <p className="max-w-[72ch] text-dim">
          Ends all access to the account immediately and deletes its data. This can’t be undone. First export anything
          you want to keep.
        </p>
        <Button tone="danger" onClick={() => setAsking(true)}>
          Delete account
        </Button>
      </div>
      <DeleteDialog isOpen={isAsking} account={account} onClose={() => setAsking(false)} />
    </Panel>
  );
}

const CHOICES: readonly {
  readonly value: AccountDeletion["prompts"];
  readonly label: string;
  readonly note: string;
}[] = [
  {
    value: "remove",
    label: "Remove them",
    note: "They are removed from the marketplace, and calls to them return 404.",
  },
  {
    value: "keep",
    label: "Leave them published",
    note: "They stay without an author name, earn nothing, and can no longer change.",
  },
];

function PromptsChoice() {
  return (
    <fieldset className="grid gap-1.5">
      <legend className="pb-1 font-medium">Its prompts</legend>
      {CHOICES.map(({ value, label, note }) => (
        <label key={value} className="flex items-baseline gap-2.5">
          <input
            type="radio"
            name="prompts"
            value={value}
            defaultChecked={value === "remove"}
            className="translate-y-px accent-accent"
          />
          <span>
            {label}. <span className="text-dim">{note}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface DeleteDialogProps extends AccountProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function DeleteDialog({ isOpen, account, onClose }: DeleteDialogProps) {
  const { data: credits } = useQuery(creditsQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const isMatch = typed.trim().toLowerCase() === account.email.toLowerCase();
  const close = () => {
    setTyped("");
    onClose();
  };
  const remove = async (form: FormData) => {
    const prompts = textOf(form, "prompts") === "keep" ? "keep" : "remove";
    await manage.send("deleteAccount", { body: { confirm: typed.trim(), prompts } });
    chooseAccount(null);
    queries.clear();
    toast(`Account ${account.email} deleted`);
    await navigate(account.isPersonal ? { to: "/sign-in", search: {} } : { to: "/" });
  };
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={close}
      title={`Delete account ${nameIn(account.name)}?`}
      submit="Delete permanently"
      isDanger
      isReady={isMatch}
      onSubmit={remove}
    >
      <ul className="grid list-disc gap-1 pl-5">
        <li>
          Keys and tokens stop working immediately{account.isPersonal ? ", and you are signed out everywhere" : ""}.
        </li>
        <li>Runs in progress are canceled. Runs, inputs, outputs, and files are deleted within a minute or two.</li>
        <li>
          {credits === undefined || credits.available === 0
            ? "Remaining credits are lost."
            : `${formatCredits(credits.available)} will be lost.`}
        </li>
        <li>The credit journal and usage totals are kept under the account ID, without a name.</li>
      </ul>
      <PromptsChoice />
      <Field
        label={`Type ${account.email} to confirm`}
        help={isMatch ? null : "Enter this address to enable the button."}
      >
        {(control) => (
          <Input
            {...control}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
            autoFocus
          />
        )}
      </Field>
    </FormDialog>
  );
}
