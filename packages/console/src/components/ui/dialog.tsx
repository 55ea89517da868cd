import { Dialog as Base } from "@base-ui/react/dialog";
import { useRef, type ReactNode } from "react";

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children?: ReactNode;
}

export function Dialog({ open, onClose, title, description, children }: DialogProps) {
  const returnFocus = useOpener(open);
  return (
    <Base.Root open={open} onOpenChange={whenClosed(onClose)}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-20 bg-[var(--veil)]" />
        <Base.Viewport className="fixed inset-0 z-20 grid items-start justify-items-center overflow-y-auto px-4 py-[12vh]">
          <Base.Popup
            finalFocus={returnFocus}
            className="grid w-full max-w-[440px] animate-enter gap-4 rounded-3 bg-float p-5 shadow-2 [overflow-wrap:anywhere]"
          >
            <div className="grid gap-1">
              <Base.Title className="text-14 font-semibold">{title}</Base.Title>
              {description === undefined ? null : (
                <Base.Description className="text-dim">{description}</Base.Description>
              )}
            </div>
            {children}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

/** Ignores the second click of the double click that opened the dialog, which lands outside it. */
export function whenClosed(close: () => void): (isOpen: boolean, details: { readonly event: Event }) => void {
  return (isOpen, { event }) => {
    const isSecondClick = event instanceof MouseEvent && event.detail > 1;
    if (!isOpen && !isSecondClick) close();
  };
}

/**
 * Remembers what had the focus when the dialog opened, so that it gets the focus back. It is read before the dialog
 * renders, because an autofocused field would be mistaken for it. True: the opener is gone, such as a menu item. If
 * nothing had the focus, as when the page's address opens the dialog, the first control of what was made gets it, or
 * nothing does: the first control of the whole page is the link that skips to the content.
 */
export function useOpener(isOpen: boolean): () => HTMLElement | boolean {
  const opener = useRef<Element | null>(null);
  const wasOpen = useRef(false);
  if (isOpen && !wasOpen.current) opener.current = document.activeElement;
  wasOpen.current = isOpen;
  return () => {
    if (opener.current === document.body) return document.querySelector<HTMLElement>("[data-made]") ?? false;
    return opener.current instanceof HTMLElement && opener.current.isConnected ? opener.current : true;
  };
}
