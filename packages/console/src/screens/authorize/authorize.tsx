import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { manage, sessionQuery } from "../../api.ts";
import { chosenAccount } from "../../account.ts";
import { ActForm } from "../../components/act-form.tsx";
import { QueryFailure } from "../../components/query-states.tsx";
import { Page } from "../../components/shell/page.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { DaysField, Field, Input } from "../../components/ui/field.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { Loading, Skeleton } from "../../components/ui/skeleton.tsx";
import { useAct } from "../../components/use-act.ts";
import { textOf } from "../../sign-in.ts";

/**
 * What a program asks for, by the names of the protocol. It stands behind the number sign: the router would read values
 * of a query as JSON, and write them back in another form.
 */
function readAsked() {
  const asked = new URLSearchParams(location.hash.slice(1));
  return (name: string) => asked.get(name) ?? undefined;
}

/** A program asks for access: who it is, what it may do, and the person's yes or no. */
export function AuthorizeScreen() {
  const [asked] = useState(readAsked);
  const [clientId, redirectUri] = [asked("client_id") ?? "", asked("redirect_uri") ?? ""];
  const client = useQuery({
    queryKey: ["client", clientId, redirectUri],
    queryFn: ({ signal }) => manage.send("showClient", { query: { clientId, redirectUri }, signal }),
    retry: false,
  });
  const isPossible = asked("response_type") === "code" && asked("code_challenge_method") === "S256";
  return (
    <Page title="Give access">
      {client.data === undefined ? (
        client.isError ? (
          <QueryFailure what="The program" query={client} />
        ) : (
          <Loading what="the program">
            <Skeleton className="h-24" />
          </Loading>
        )
      ) : !isPossible ? (
        <Failure title="The program asks in a way that is not supported here.">
          It has to ask for a code, with PKCE and the method S256.
        </Failure>
      ) : (
        <Consent
          name={client.data.name}
          clientId={clientId}
          redirectUri={redirectUri}
          codeChallenge={asked("code_challenge") ?? ""}
          state={asked("state")}
        />
      )}
    </Page>
  );
}

interface ConsentProps {
  readonly name: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly state: string | undefined;
}

const CAP_DEFAULT = 500;

function Consent({ name, clientId, redirectUri, codeChallenge, state }: ConsentProps) {
  const { data: session } = useQuery(sessionQuery);
  const act = useAct();
  const account = session?.accounts.find(({ accountId }) => accountId === (chosenAccount() ?? session.accountId));
  const allow = async (form: FormData) => {
    const cap = textOf(form, "cap");
    const program = { clientId, redirectUri, codeChallenge, ...(state === undefined ? {} : { state }) };
    const terms = { monthlyCap: cap === "" ? null : Number(cap), days: Number(textOf(form, "days")) };
    const { redirectTo } = await manage.send("authorizeClient", { body: { ...program, ...terms } });
    location.assign(redirectTo);
  };
  const refuse = () => {
    const address = new URL(redirectUri);
    address.searchParams.set("error", "access_denied");
    address.searchParams.set("iss", location.origin); // as with a code, whose program looks which server answers
    if (state !== undefined) address.searchParams.set("state", state);
    location.assign(address.href);
  };
  return (
    <Panel title={name}>
      <div className="grid max-w-[520px] gap-4">
        <p className="text-pretty">
          “{name}” wants to find and run prompts, and to read their runs, with the credits of{" "}
          <strong>{account?.name ?? "your account"}</strong>. It gets an API key of its own, which you can revoke under
          Keys at any time. It cannot see your other keys, change prompts or settings.
        </p>
        <p className="text-dim [overflow-wrap:anywhere]">
          Its name is what it calls itself. You return to {redirectUri}
        </p>
        <ActForm act={act} submit="Give access" onSubmit={(form) => act.run(() => allow(form))}>
          <Field label="Monthly cap" help="Credits that it may spend in a month; empty means no cap.">
            {(control) => <Input {...control} name="cap" type="number" min={1} step={1} defaultValue={CAP_DEFAULT} />}
          </Field>
          <DaysField label="Ends" choices={[7, 30, 90, 365]} defaultDays={90} />
        </ActForm>
        <Button onClick={refuse} className="justify-self-start">
          Refuse
        </Button>
      </div>
    </Panel>
  );
}
