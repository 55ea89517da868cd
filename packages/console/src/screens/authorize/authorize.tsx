import { SCOPES, type Scope } from "@promptd/contract";
import { CARRIED_CODE, type ClientRequest } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { manage, sessionQuery } from "../../api.ts";
import { chosenAccount } from "../../account.ts";
import { ActionForm } from "../../components/action-form.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { QueryFailure } from "../../components/query-states.tsx";
import { ScopeFields, scopesOf } from "../../components/ui/scope-fields.tsx";
import { Page } from "../../components/shell/page.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { DaysField, Field, Input } from "../../components/ui/field.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { Loading, Skeleton } from "../../components/ui/skeleton.tsx";
import { useAction } from "../../components/use-action.ts";
import { textOf } from "../../sign-in.ts";

/**
 * Reads the program's request, by OAuth parameter names. It is in the fragment, because the router would parse query
 * values as JSON and rewrite them.
 */
function readParams() {
  const params = new URLSearchParams(location.hash.slice(1));
  return (name: string) => params.get(name) ?? undefined;
}

/** Shows which program requests access and what it may do, and asks the person to authorize or deny it. */
export function AuthorizeScreen() {
  const [param] = useState(readParams);
  const [clientId, redirectUri] = [param("client_id") ?? "", param("redirect_uri") ?? ""];
  const client = useQuery({
    queryKey: ["client", clientId, redirectUri],
    queryFn: ({ signal }) => manage.send("showClient", { query: { clientId, redirectUri }, signal }),
    retry: false,
  });
  const isPossible = param("response_type") === "code" && param("code_challenge_method") === "S256";
  const resource = param("resource");
  const isForHere = resource === undefined || URL.parse(resource)?.origin === location.origin;
  return (
    <Page title="Authorize access">
      {client.data === undefined ? (
        client.isError ? (
          <QueryFailure what="The program" query={client} />
        ) : (
          <Loading what="the program">
            <Skeleton className="h-24" />
          </Loading>
        )
      ) : !isPossible ? (
        <Failure title="The program’s request is not supported.">
          It must use the authorization code flow with PKCE (S256).
        </Failure>
      ) : !isForHere ? (
        <Failure title="The program wants access for another server.">
          It would pass your access to this server on to {resource}. Remove that server from the program.
        </Failure>
      ) : (
        <Consent
          name={client.data.name}
          request={{
            clientId,
            redirectUri,
            codeChallenge: param("code_challenge") ?? "",
            ...(param("state") === undefined ? {} : { state: param("state") }),
          }}
          scopes={SCOPES.filter((scope) => param("scope")?.split(" ").includes(scope))}
        />
      )}
    </Page>
  );
}

interface ConsentProps {
  readonly name: string;
  readonly request: ClientRequest;
  /** Scopes for a management token. Empty if the program requests an API key. */
  readonly scopes: readonly Scope[];
}

const CAP_DEFAULT = 500;

function Consent({ name, request, scopes }: ConsentProps) {
  const { data: session } = useQuery(sessionQuery);
  const action = useAction();
  const [code, setCode] = useState<string | null>(null);
  const { redirectUri } = request;
  const isOperator = session?.person.isOperator === true;
  const offered = scopes.filter((scope) => scope !== "operator" || isOperator);
  const account = session?.accounts.find(({ accountId }) => accountId === (chosenAccount() ?? session.accountId));
  const allow = async (form: FormData) => {
    const { redirectTo } = scopes.length === 0 ? await giveKey(request, form) : await giveToken(request, form);
    if (redirectUri === CARRIED_CODE) setCode(new URL(redirectTo).searchParams.get("code"));
    else location.assign(redirectTo);
  };
  if (scopes.length > 0 && offered.length === 0) {
    return (
      <Failure title="The program requests operator access.">You are not an operator of this installation.</Failure>
    );
  }
  if (code !== null) return <CarriedCode name={name} code={code} />;
  const accountName = <strong>{account?.name ?? "your account"}</strong>;
  return (
    <Panel title={name}>
      <div className="grid max-w-[520px] gap-4">
        {scopes.length === 0 ? (
          <p className="text-pretty">
            “{name}” wants to find prompts, run them, and read their runs, using the credits of {accountName}. It gets
            its own API key, which you can revoke under Keys at any time. It cannot see your other keys or change
            prompts or settings.
          </p>
        ) : (
          <p className="text-pretty">
            “{name}” wants to act on your behalf in {accountName}. It gets a management token, which you can revoke
            under Settings at any time.
            {offered.includes("keys:write")
              ? " API keys that it creates stay valid until you revoke them under Keys."
              : null}
          </p>
        )}
        <p className="text-dim [overflow-wrap:anywhere]">
          The program chose this name itself, and promptd has not verified it.{" "}
          {redirectUri === CARRIED_CODE
            ? "Continue only if you started this yourself: anyone with the code gets access."
            : `You will be sent back to ${redirectUri}`}
        </p>
        <ActionForm
          action={action}
          submit="Authorize"
          onSubmit={(form) => action.run(() => allow(form))}
          aside={redirectUri === CARRIED_CODE ? null : <Button onClick={() => refuse(request)}>Deny</Button>}
        >
          {scopes.length === 0 ? (
            <Field label="Monthly cap" help="Credits it can spend per month. Leave empty for no cap.">
              {(control) => <Input {...control} name="cap" type="number" min={1} step={1} defaultValue={CAP_DEFAULT} />}
            </Field>
          ) : (
            <ScopeFields legend="Permissions" offered={offered} areChosen />
          )}
          <DaysField label="Expires" choices={[7, 30, 90, 365]} defaultDays={90} />
        </ActionForm>
      </div>
    </Panel>
  );
}

function giveKey(request: ClientRequest, form: FormData) {
  const cap = textOf(form, "cap");
  const terms = { monthlyCap: cap === "" ? null : Number(cap), days: Number(textOf(form, "days")) };
  return manage.send("authorizeClient", { body: { ...request, ...terms } });
}

function giveToken(request: ClientRequest, form: FormData) {
  const terms = { scopes: scopesOf(form), days: Number(textOf(form, "days")) };
  return manage.send("authorizeClientWithToken", { body: { ...request, ...terms } });
}

function refuse({ redirectUri, state }: ClientRequest) {
  const address = new URL(redirectUri);
  address.searchParams.set("error", "access_denied");
  address.searchParams.set("iss", location.origin); // as with a code: programs check which server responded
  if (state !== undefined) address.searchParams.set("state", state);
  location.assign(address.href);
}

/** For a program on a machine without a browser. */
function CarriedCode({ name, code }: { readonly name: string; readonly code: string }) {
  return (
    <Panel title="Your code">
      <div className="grid max-w-[520px] gap-4">
        <p>Enter it where “{name}” asks for it. It works once and expires in ten minutes.</p>
        <div className="flex items-center gap-2 rounded-2 border border-edge py-1 pr-1 pl-3">
          <code className="min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">{code}</code>
          <CopyButton text={code} label="Copy code" />
        </div>
      </div>
    </Panel>
  );
}
