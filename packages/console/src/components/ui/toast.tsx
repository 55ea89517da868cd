import { Check, CircleAlert } from "lucide-react";
import { useSyncExternalStore } from "react";

interface ToastMessage {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
}

const SHOWN_MS = 4_000;
let messages: readonly ToastMessage[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly ToastMessage[]): void {
  messages = next;
  for (const listener of listeners) listener();
}

/** Says for a moment what became of an act. What must be read stands on the page instead. */
export function toast(text: string, { isBad = false }: { readonly isBad?: boolean } = {}): void {
  lastId += 1;
  const id = lastId;
  set([...messages.slice(-2), { id, text, isBad }]);
  setTimeout(() => set(messages.filter((one) => one.id !== id)), SHOWN_MS);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => messages);
  return (
    <div
      aria-live="polite"
      className="pointer-events-none fixed inset-x-0 bottom-20 z-40 grid justify-items-center gap-2 px-4 sm:bottom-6"
    >
      {shown.map(({ id, text, isBad }) => (
        <div
          key={id}
          className="flex max-w-full animate-enter items-center gap-3 rounded-3 bg-float px-3 py-2.5 shadow-2"
        >
          {isBad ? (
            <CircleAlert aria-hidden className="size-4 shrink-0 text-bad" strokeWidth={1.75} />
          ) : (
            <Check aria-hidden className="size-4 shrink-0 text-ok" strokeWidth={1.75} />
          )}
          <span className="min-w-0 [overflow-wrap:anywhere]">{text}</span>
        </div>
      ))}
    </div>
  );
}
