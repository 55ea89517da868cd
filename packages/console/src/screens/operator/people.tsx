import type { CreatedPersonInvitation, NewPersonInvitation, PersonOfInstallation } from "@promptd/contract/manage";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { AtSign, Ellipsis, Link2, LogOut, ScrollText, ShieldCheck, Snowflake, Users } from "lucide-react";
import { useState } from "react";
import { faultOf, manage } from "../../api.ts";
import { formatDay, nameIn } from "../../components/format.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { OneTimeSecret } from "../../components/one-time-secret.tsx";
import { ListPanel } from "../../components/list-panel.tsx";
import { runWithToast } from "../../components/run-with-toast.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { Field, Input } from "../../components/ui/field.tsx";
import { Menu, MenuItem } from "../../components/ui/menu.tsx";
import { ACTIONS_COLUMN, Breakable, NAME_OF_ROW, Table, Td } from "../../components/ui/table.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { textOf } from "../../sign-in.ts";
import { InviteDialog, OpenInvitations } from "./invitations.tsx";
import { peopleQuery } from "./queries.ts";
import { SearchBox } from "./search-box.tsx";

interface Made {
  readonly title: string;
  readonly link: string;
  readonly note: string;
}

export function PeopleSection() {
  const { q } = useSearch({ from: "/inside/operator/people" });
  const navigate = useNavigate({ from: "/operator/people" });
  const [isInviting, setInviting] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const queries = useQueryClient();
  const invite = async (body: NewPersonInvitation) => {
    const invitation = await manage.send("invitePerson", { body });
    const { email, link, hasPerson } = invitation;
    void queries.invalidateQueries({ queryKey: ["operator", "invitations"] });
    const here = hasPerson ? ", who already has an account" : "";
    if (link === null) toast(`An invitation is on its way to ${email}${here}`);
    else setMade({ title: `Invitation link for ${email}${here}`, link, note: noteOf(invitation) });
  };
  return (
    <>
      <SearchBox
        label="Name or email"
        about="People sign in. They can use their own account and any account they are a member of."
        value={q}
        onSearch={(text) => void navigate({ search: { q: text }, replace: true })}
      >
        <Button className="ml-auto" onClick={() => setInviting(true)}>
          Invite
        </Button>
      </SearchBox>
      {made === null ? null : (
        <OneTimeSecret title={made.title} secret={made.link} copyLabel="Copy link" onDone={() => setMade(null)}>
          <p className="text-dim">{made.note}</p>
        </OneTimeSecret>
      )}
      <OpenInvitations
        q={q}
        onRenew={({ email, plan, credits }) =>
          void runWithToast(
            () => invite({ email, plan: plan ?? undefined, credits: credits ?? undefined }),
            "The earlier link no longer works",
          )
        }
      />
      <People q={q} onMade={setMade} />
      <InviteDialog isOpen={isInviting} onClose={() => setInviting(false)} onInvite={invite} />
    </>
  );
}

function noteOf({ hasPerson, plan, credits }: CreatedPersonInvitation): string {
  const lasts = "It works once and expires in seven days.";
  if (!hasPerson) return lasts;
  const isEmpty = plan !== "pro" && (credits ?? 0) === 0;
  return `${lasts} ${isEmpty ? "It adds nothing to the account they already have." : "Its plan and credits go to the account they already have."}`;
}

interface PeopleProps {
  readonly q: string | undefined;
  readonly onMade: (made: Made) => void;
}

function People({ q, onMade }: PeopleProps) {
  const people = useInfiniteQuery(peopleQuery(q));
  return (
    <ListPanel
      list={people}
      what="The people"
      empty={
        <Empty icon={Users} title="No people match">
          An account that nobody has signed in to is under Accounts.
        </Empty>
      }
    >
      {(rows) => (
        <Table
          label="People"
          columns={[{ label: "Person", fill: true }, "State", { label: "Since", from: "sm" }, ACTIONS_COLUMN]}
        >
          {rows.map((row) => (
            <tr key={row.personId} className="hover:bg-hover">
              <Td fill whole>
                <span className={NAME_OF_ROW} title={row.name}>
                  {row.name}
                </span>{" "}
                <span className="text-dim max-lg:block">
                  <Breakable text={row.email} />
                </span>
              </Td>
              <Td>
                <span className="inline-flex gap-1">
                  {row.isFrozen ? <Badge tone="bad">no access</Badge> : null}
                  {row.isOperator ? <Badge tone="live">operator</Badge> : null}
                  {row.linkAskedAt === null ? null : <Badge tone="warn">requested a link</Badge>}
                </span>
              </Td>
              <Td from="sm">{formatDay(row.createdAt)}</Td>
              <Td num>
                <PersonActions row={row} onMade={onMade} />
              </Td>
            </tr>
          ))}
        </Table>
      )}
    </ListPanel>
  );
}

interface PersonActionsProps {
  readonly row: PersonOfInstallation;
  readonly onMade: (made: Made) => void;
}

type OpenDialog = "address" | "sessions" | "operator" | "access" | null;

function PersonActions({ row, onMade }: PersonActionsProps) {
  const { personId, name, email, isOperator, isFrozen } = row;
  const navigate = useNavigate();
  const [openDialog, setOpenDialog] = useState<OpenDialog>(null);
  const queries = useQueryClient();
  const makeLink = async () => {
    try {
      const { link } = await manage.send("createSignInLink", { params: { personId } });
      void queries.invalidateQueries({ queryKey: ["operator"] }); // the overview no longer shows the request
      onMade({
        title: `Sign-in link for ${email}`,
        link,
        note: "It works once and expires in one hour. It asks the person for a new password and signs them out everywhere.",
      });
    } catch (error) {
      toast(faultOf(error).message, { isBad: true });
    }
  };
  return (
    <>
      <Menu
        trigger={
          <Button tone="quiet" small square aria-label={`Actions for ${name}`}>
            <Ellipsis aria-hidden className="size-4" strokeWidth={1.75} />
          </Button>
        }
      >
        <MenuItem icon={Link2} onClick={() => void makeLink()}>
          Create sign-in link
        </MenuItem>
        <MenuItem icon={ScrollText} onClick={() => void navigate({ to: "/operator/audit", search: { personId } })}>
          View audit log
        </MenuItem>
        <MenuItem icon={LogOut} onClick={() => setOpenDialog("sessions")}>
          Sign out everywhere
        </MenuItem>
        <MenuItem icon={AtSign} onClick={() => setOpenDialog("address")}>
          Change email
        </MenuItem>
        <MenuItem icon={ShieldCheck} onClick={() => setOpenDialog("operator")}>
          {isOperator ? "Remove operator role" : "Make operator"}
        </MenuItem>
        <MenuItem icon={Snowflake} danger={!isFrozen} onClick={() => setOpenDialog("access")}>
          {isFrozen ? "Restore access" : "Remove access"}
        </MenuItem>
      </Menu>
      <PersonDialogs row={row} openDialog={openDialog} onClose={() => setOpenDialog(null)} />
    </>
  );
}

const PEOPLE = ["operator", "people"];

interface PersonDialogsProps {
  readonly row: PersonOfInstallation;
  readonly openDialog: OpenDialog;
  readonly onClose: () => void;
}

/** Confirmations before changing what a person may do. */
function PersonDialogs({ row, openDialog, onClose }: PersonDialogsProps) {
  const { personId, isOperator, isFrozen } = row;
  const name = nameIn(row.name);
  const queries = useQueryClient();
  const change = async (body: { readonly isOperator?: boolean; readonly isFrozen?: boolean }, done: string) => {
    await manage.send("updatePerson", { params: { personId }, body });
    await queries.invalidateQueries({ queryKey: PEOPLE });
    toast(done);
  };
  return (
    <>
      <FormDialog
        isOpen={openDialog === "sessions"}
        onClose={onClose}
        title={`Sign out ${name} everywhere?`}
        description="This signs them out in every browser. They can sign in again. Their management tokens and API keys still work."
        submit="Sign out everywhere"
        isDanger
        onSubmit={async () => {
          await manage.send("signOutPerson", { params: { personId } });
          toast(`${name} is signed out everywhere`);
        }}
      />
      <AddressDialog row={row} isOpen={openDialog === "address"} onClose={onClose} />
      <FormDialog
        isOpen={openDialog === "operator"}
        onClose={onClose}
        title={isOperator ? `Remove the operator role from ${name}?` : `Make ${name} an operator?`}
        description={
          isOperator
            ? "They keep their accounts but can no longer see or manage the installation."
            : "They can do everything you can: read all runs, grant credits, block prompts, and remove access."
        }
        submit={isOperator ? "Remove operator role" : "Make operator"}
        isDanger={isOperator}
        onSubmit={() =>
          change({ isOperator: !isOperator }, `${name} is ${isOperator ? "no longer" : "now"} an operator`)
        }
      />
      <FormDialog
        isOpen={openDialog === "access"}
        onClose={onClose}
        title={isFrozen ? `Restore access for ${name}?` : `Remove access for ${name}?`}
        description={
          isFrozen
            ? "They can sign in again, and their management tokens work again."
            : "They can no longer sign in, and their management tokens stop working. API keys of their accounts work until they are revoked."
        }
        submit={isFrozen ? "Restore access" : "Remove access"}
        isDanger={!isFrozen}
        onSubmit={() =>
          change({ isFrozen: !isFrozen }, isFrozen ? `${name} can sign in again` : `${name} is locked out`)
        }
      />
    </>
  );
}

interface AddressDialogProps {
  readonly row: PersonOfInstallation;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function AddressDialog({ row: { personId, name, email }, isOpen, onClose }: AddressDialogProps) {
  const queries = useQueryClient();
  const change = async (form: FormData) => {
    const body = { email: textOf(form, "email") };
    const moved = await manage.send("updatePerson", { params: { personId }, body });
    await queries.invalidateQueries({ queryKey: PEOPLE });
    toast(`${nameIn(name)} now signs in as ${moved.email}`);
  };
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Change the email of ${nameIn(name)}`}
      description="They sign in with the new address, and their own account uses it too. Links sent to the old address stop working."
      submit="Change email"
      onSubmit={change}
    >
      <Field label="New email">
        {(control) => (
          <Input {...control} name="email" type="email" required maxLength={254} defaultValue={email} autoFocus />
        )}
      </Field>
    </FormDialog>
  );
}
