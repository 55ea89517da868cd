import { Check, CircleAlert } from "lucide-react";
import { useSyncExternalStore } from "react";

interface ToastMessage {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
  /** False: for screen readers only, because the page already shows it. */
  readonly isSeen: boolean;
}

const SHOWN_MS = 4_000;
let messages: readonly ToastMessage[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly ToastMessage[]): void {
  messages = next;
  for (const listener of listeners) listener();
}

/** Shows the result of an action for a moment. Anything people must read belongs on the page instead. */
export function toast(text: string, { isBad = false }: { readonly isBad?: boolean } = {}): void {
  add({ text, isBad, isSeen: true });
}

/**
 * Announces to screen readers what the page already shows. They read changes in a live region that already exists, and
 * often skip text that arrives together with its region.
 */
export function announce(text: string): void {
  add({ text, isBad: false, isSeen: false });
}

function add(message: Omit<ToastMessage, "id">): void {
  lastId += 1;
  const id = lastId;
  // Announcements never push out visible toasts.
  const pushedOut = message.isSeen ? messages.filter(({ isSeen }) => isSeen).slice(0, -2) : [];
  set([...messages.filter((one) => !pushedOut.includes(one)), { id, ...message }]);
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
      // Above the publish bar, if there is one.
      className="pointer-events-none fixed inset-x-0 bottom-20 z-40 grid justify-items-center gap-2 px-4 in-[:root:has(.bar-at-end)]:bottom-48 sm:bottom-6 sm:in-[:root:has(.bar-at-end)]:bottom-28"
    >
      {shown.map((message) =>
        message.isSeen ? (
          <Seen key={message.id} {...message} />
        ) : (
          <p key={message.id} className="sr-only">
            {message.text}
          </p>
        ),
      )}
    </div>
  );
}

function Seen({ text, isBad }: ToastMessage) {
  return (
    <div className="flex max-w-full animate-enter items-center gap-3 rounded-3 bg-float px-3 py-2.5 shadow-2">
      {isBad ? (
        <CircleAlert aria-hidden className="size-4 shrink-0 text-bad" strokeWidth={1.75} />
      ) : (
        <Check aria-hidden className="size-4 shrink-0 text-ok" strokeWidth={1.75} />
      )}
      <span className="min-w-0 [overflow-wrap:anywhere]">{text}</span>
    </div>
  );
}
