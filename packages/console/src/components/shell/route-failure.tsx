import { useRouter } from "@tanstack/react-router";
import { faultOf } from "../../api.ts";
import { Failure } from "../ui/empty.tsx";

/** Shown when a page could not be opened at all. */
export function RouteFailure({ error }: { readonly error: unknown }) {
  const router = useRouter();
  const { message, requestId } = faultOf(error);
  return (
    <main className="mx-auto grid min-h-dvh max-w-lg content-center px-4">
      <Failure title="This page could not be opened." requestId={requestId} onRetry={() => void router.invalidate()}>
        {message}
      </Failure>
    </main>
  );
}
