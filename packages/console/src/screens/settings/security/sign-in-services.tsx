import type { Features } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { sessionQuery } from "../../../api.ts";
import { FormDialog } from "../../../components/form-dialog.tsx";
import { formatDay } from "../../../components/format.ts";
import { QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { PasswordField } from "../../../components/shell/person-fields.tsx";
import { Button } from "../../../components/ui/button.tsx";
import { Failure } from "../../../components/ui/empty.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { ACTIONS_COLUMN, Table, Td } from "../../../components/ui/table.tsx";
import { toast } from "../../../components/ui/toast.tsx";
import { askAuth, serviceName, textOf } from "../../../sign-in.ts";
import { loginsQuery, type Login } from "../auth-queries.ts";

/** A service with the person's login there, if it is linked. */
interface Service {
  readonly provider: string;
  readonly name: string;
  readonly login: Login | null;
  /** False: it is linked, but the server no longer offers it. */
  readonly isOffered: boolean;
}

/** Links the person to sign-in services of this server, and unlinks them. Shows nothing if there are none. */
export function SignInServices() {
  const logins = useQuery(loginsQuery);
  const { data: session } = useQuery(sessionQuery);
  const [linking, setLinking] = useState<Service | null>(null);
  const [unlinking, setUnlinking] = useState<Service | null>(null);
  if (logins.isLoadingError) return <QueryFailure what="The sign-in services" query={logins} />;
  if (logins.data === undefined || session === undefined) {
    return <RowShapes what="the sign-in services" title="Sign-in services" rows={1} />;
  }
  const services = servicesOf(logins.data, session.features);
  if (services.length === 0) return null;
  const hasPassword = logins.data.some(({ providerId }) => providerId === "credential");
  return (
    <Panel title="Sign-in services" aside="accounts elsewhere that sign you in here" flush>
      <Outcome features={session.features} />
      <Table label="Sign-in services" columns={[{ label: "Service", fill: true }, "State", ACTIONS_COLUMN]}>
        {services.map((service) => (
          <Row
            key={service.login?.id ?? service.provider}
            service={service}
            onLink={() => setLinking(service)}
            onUnlink={() => setUnlinking(service)}
          />
        ))}
      </Table>
      <LinkDialog service={linking} hasPassword={hasPassword} onClose={() => setLinking(null)} />
      <UnlinkDialog service={unlinking} hasPassword={hasPassword} onClose={() => setUnlinking(null)} />
    </Panel>
  );
}

function servicesOf(logins: readonly Login[], features: Features): Service[] {
  const linked = logins.filter(({ providerId }) => providerId !== "credential");
  const of = (provider: string, login: Login | null): Service => ({
    provider,
    name: serviceName(provider, features),
    login,
    isOffered: features.signInWith.includes(provider),
  });
  const free = features.signInWith.filter((name) => !linked.some(({ providerId }) => providerId === name));
  return [...linked.map((login) => of(login.providerId, login)), ...free.map((name) => of(name, null))];
}

interface RowProps {
  readonly service: Service;
  readonly onLink: () => void;
  readonly onUnlink: () => void;
}

function Row({ service: { name, login, isOffered }, onLink, onUnlink }: RowProps) {
  return (
    <tr className="hover:bg-hover">
      <Td fill>
        <span className="font-medium" title={name}>
          {name}
        </span>
        {isOffered ? null : <span className="text-12 text-dim max-lg:block lg:pl-2">no longer offered here</span>}
      </Td>
      <Td>{login === null ? <span className="text-dim">not linked</span> : `linked ${formatDay(login.createdAt)}`}</Td>
      <Td num>
        {login === null ? (
          <Button small aria-label={`Link ${name}`} onClick={onLink}>
            Link
          </Button>
        ) : (
          <Button small tone="quiet" aria-label={`Unlink ${name}`} onClick={onUnlink}>
            Unlink
          </Button>
        )}
      </Td>
    </tr>
  );
}

const HERE = "/settings/security";

interface ServiceDialogProps {
  /** Null: the dialog is closed. */
  readonly service: Service | null;
  readonly hasPassword: boolean;
  readonly onClose: () => void;
}

/** The service's answer comes back in this page's address. */
function LinkDialog({ service, hasPassword, onClose }: ServiceDialogProps) {
  const { provider = "", name = "" } = service ?? {};
  return (
    <FormDialog
      isOpen={service !== null}
      onClose={onClose}
      title={`Link ${name}`}
      description={`Next, you sign in at ${name} and come back here. After that, you can also sign in with it, even if it knows you by another email address.`}
      submit="Continue"
      onSubmit={async (form) => {
        const { url } = await askAuth<{ readonly url: string }>("link-social", {
          provider,
          ...(hasPassword ? { password: textOf(form, "password") } : {}),
          callbackURL: `${HERE}?linked=${provider}`,
          errorCallbackURL: `${HERE}?service=${provider}`,
        });
        location.assign(url);
      }}
    >
      {hasPassword ? <PasswordField kind="current" label="Your password" autoFocus /> : null}
    </FormDialog>
  );
}

function UnlinkDialog({ service, hasPassword, onClose }: ServiceDialogProps) {
  const queries = useQueryClient();
  const { login = null, name = "" } = service ?? {};
  return (
    <FormDialog
      isOpen={service !== null}
      onClose={onClose}
      title={`Unlink ${name}?`}
      description={`You will no longer be able to sign in with ${name}. Your account there stays as it is.`}
      submit="Unlink"
      isDanger
      onSubmit={async (form) => {
        await askAuth("unlink-account", {
          accountId: login?.id,
          ...(hasPassword ? { password: textOf(form, "password") } : {}),
        });
        toast(`${name} unlinked`);
        await queries.invalidateQueries({ queryKey: loginsQuery.queryKey });
      }}
    >
      {hasPassword ? <PasswordField kind="current" label="Your password" autoFocus /> : null}
    </FormDialog>
  );
}

/** Says how linking ended, after the service has sent the person back. */
function Outcome({ features }: { readonly features: Features }) {
  const { linked, service, error } = useSearch({ from: "/inside/settings/security" });
  const navigate = useNavigate({ from: "/settings/security" });
  const done = linked === undefined ? null : serviceName(linked, features);
  useEffect(() => {
    if (done === null) return;
    toast(`${done} linked. You can sign in with it from now on`);
    void navigate({ search: {}, replace: true, resetScroll: false });
  }, [done, navigate]);
  if (error === undefined) return null;
  const name = service === undefined ? "The sign-in service" : serviceName(service, features);
  return (
    <div className="p-4">
      <Failure title={refusalOf(error, name)} />
    </div>
  );
}

function refusalOf(error: string, name: string): string {
  if (error === "access_denied") return `You canceled at ${name}, so nothing was linked.`;
  if (error === "account_already_linked_to_different_user")
    return `This account at ${name} is already linked to another person here. Sign in at ${name} with a different account, or unlink it from that person first.`;
  if (error === "unable_to_link_account")
    return `${name} was not linked. You must stay signed in here until you come back.`;
  return `${name} did not identify you, so nothing was linked. Try again.`;
}
