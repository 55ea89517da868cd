import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { featuresQuery } from "../../api.ts";
import { Entry } from "../../components/shell/entry.tsx";
import { SetUpForm, useEnter } from "../../components/shell/one-time-link.tsx";
import { buttonClass } from "../../components/ui/button.tsx";
import { signUp, textOf } from "../../sign-in.ts";

/** For installations that let everybody in. */
export function SignUpScreen() {
  const { data: options } = useQuery(featuresQuery);
  const enter = useEnter();
  if (options !== undefined && options.signUp !== "open") {
    return (
      <Entry title="Create an account" lead="Nobody can sign up here alone. Ask an operator for an invitation.">
        <Link to="/sign-in" search={{}} className={`${buttonClass()} justify-self-start`}>
          Sign in
        </Link>
      </Entry>
    );
  }
  const send = async (form: FormData) => {
    await signUp({ name: textOf(form, "name"), email: textOf(form, "email"), password: textOf(form, "password") });
    enter();
  };
  return (
    <Entry title="Create an account" lead="It is yours alone; you may invite others to it later.">
      <SetUpForm email={null} asksName onSubmit={send} />
      <p className="text-12 text-dim">
        Here already?{" "}
        <Link to="/sign-in" search={{}} className="text-accent underline underline-offset-2">
          Sign in
        </Link>
        .
      </p>
    </Entry>
  );
}
