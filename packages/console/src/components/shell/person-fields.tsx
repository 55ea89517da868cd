/** Fields for signing in, setting up an account, and choosing a new password. */
import { Eye, EyeOff } from "lucide-react";
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { Field, Input } from "../ui/field.tsx";

interface EmailFieldProps {
  /** If known, it cannot be changed. Null asks for it. */
  readonly known?: string | null;
}

export function EmailField({ known = null }: EmailFieldProps) {
  return (
    <Field label="Email">
      {(control) => (
        <Input
          {...control}
          name="email"
          type="email"
          autoComplete="username"
          required
          defaultValue={known ?? ""}
          disabled={known !== null}
          autoFocus={known === null}
        />
      )}
    </Field>
  );
}

const LENGTH_MIN = 12;
const LENGTH_MAX = 128;

interface PasswordFieldProps {
  /** `new`: the person chooses a password. */
  readonly kind: "current" | "new";
  readonly label?: string;
  readonly name?: string;
  readonly help?: string;
  readonly autoFocus?: boolean;
}

export function PasswordField(props: PasswordFieldProps) {
  const { kind, label = "Password", name = "password", autoFocus = false } = props;
  const isNew = kind === "new";
  const help =
    props.help ?? (isNew ? `At least ${LENGTH_MIN} characters. A few random words are easy to remember.` : undefined);
  const [isShown, setShown] = useState(false);
  const Icon = isShown ? EyeOff : Eye;
  return (
    <Field label={label} help={help}>
      {(control) => (
        <span className="relative block">
          <Input
            {...control}
            name={name}
            type={isShown ? "text" : "password"}
            autoComplete={isNew ? "new-password" : "current-password"}
            {...(isNew ? { minLength: LENGTH_MIN, maxLength: LENGTH_MAX } : {})}
            required
            autoFocus={autoFocus}
            spellCheck={false}
            className="pr-9!"
          />
          <Button
            tone="quiet"
            small
            square
            aria-label="Show what you typed"
            aria-pressed={isShown}
            className="absolute top-0.5 right-0.5"
            onClick={() => setShown(!isShown)}
          >
            <Icon aria-hidden className="size-4" strokeWidth={1.75} />
          </Button>
        </span>
      )}
    </Field>
  );
}
