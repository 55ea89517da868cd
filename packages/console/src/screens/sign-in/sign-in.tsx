import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { Entry } from "../../components/shell/entry.tsx";
import { SignInForm } from "../../components/shell/sign-in-form.tsx";

export function SignInScreen() {
  const { from } = useSearch({ from: "/sign-in" });
  const router = useRouter();
  const navigate = useNavigate();
  const goOn = () => {
    if (from?.startsWith("/") === true && !from.startsWith("//")) router.history.push(from);
    else void navigate({ to: "/" });
  };
  return (
    <Entry title="Sign in">
      <SignInForm onDone={goOn} />
      <p className="text-12 text-dim text-pretty">
        No password, or a forgotten one? An operator makes a sign-in link with{" "}
        <code>promptd admin sign-in-link --user YOUR-E-MAIL</code>.
      </p>
    </Entry>
  );
}
