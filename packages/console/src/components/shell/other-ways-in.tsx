import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Fingerprint } from "lucide-react";
import { featuresQuery } from "../../api.ts";
import { canUsePasskeys, signInWithPasskey } from "../../passkeys.ts";
import { serviceAddress, serviceName } from "../../sign-in.ts";
import { Button } from "../ui/button.tsx";
import type { useAction } from "../use-action.ts";

interface OtherWaysInProps {
  /** The page's action; the page shows its errors. */
  readonly action: ReturnType<typeof useAction>;
  /** Null when the person cannot have a passkey here yet. */
  readonly onPasskey: (() => void) | null;
  /** Where the sign-in service redirects to afterward. */
  readonly from: string;
  /** Called before the browser leaves for a service. */
  readonly onLeave?: () => void;
}

/** Offers a passkey and the server's sign-in services, if any. */
export function OtherWaysIn({ action, onPasskey, from, onLeave }: OtherWaysInProps) {
  const { data: features } = useQuery(featuresQuery);
  const queries = useQueryClient();
  const hasPasskeys = onPasskey !== null && features?.passkeys === true && canUsePasskeys();
  if (features === undefined || (features.signInWith.length === 0 && !hasPasskeys)) return null;
  const usePasskey = () =>
    action.run(async () => {
      await signInWithPasskey();
      queries.clear();
      onPasskey?.();
    });
  const goTo = (service: string) =>
    action.run(async () => {
      const address = await serviceAddress(service, from);
      onLeave?.();
      location.assign(address);
    });
  return (
    <div className="flex flex-wrap gap-2 border-t border-line pt-4">
      {hasPasskeys ? (
        <Button disabled={action.isBusy} onClick={() => void usePasskey()}>
          <Fingerprint aria-hidden className="size-4" strokeWidth={1.75} />
          Sign in with a passkey
        </Button>
      ) : null}
      {features.signInWith.map((service) => (
        <Button key={service} disabled={action.isBusy} onClick={() => void goTo(service)}>
          Sign in with {serviceName(service, features)}
        </Button>
      ))}
    </div>
  );
}
