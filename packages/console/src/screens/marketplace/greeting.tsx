import { X } from "lucide-react";
import { useState } from "react";
import { Button } from "../../components/ui/button.tsx";
import { endGreeting, isGreetingDue } from "../../greeting.ts";

/** The first step, for people who just used a welcome link. Once dismissed, it does not return. */
export function Greeting() {
  const [isShown, setShown] = useState(isGreetingDue);
  if (!isShown) return null;
  const close = () => {
    endGreeting();
    setShown(false);
  };
  return (
    <section aria-label="Welcome" className="flex items-center gap-3 rounded-3 bg-accent-soft py-1.5 pr-1.5 pl-4">
      <p className="flex-1">
        <b className="font-semibold">Welcome to promptd.</b> Open a prompt below, fill in its sample, and run it.
      </p>
      <Button tone="quiet" square aria-label="Dismiss welcome" title="Dismiss welcome" onClick={close}>
        <X aria-hidden className="size-4" strokeWidth={1.75} />
      </Button>
    </section>
  );
}
