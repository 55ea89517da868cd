import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { Button } from "./ui/button.tsx";
import { toast } from "./ui/toast.tsx";
import { Tooltip } from "./ui/tooltip.tsx";

const SHOWN_MS = 1_500;

interface CopyButtonProps {
  readonly text: string;
  readonly label?: string;
  readonly small?: boolean;
}

export function CopyButton({ text, label = "Copy", small = true }: CopyButtonProps) {
  const { isCopied, copy } = useCopy(text);
  const Icon = isCopied ? Check : Copy;
  return (
    <Button small={small} onClick={() => void copy()}>
      <Icon aria-hidden className="size-3.5" strokeWidth={1.75} />
      <span aria-live="polite">{isCopied ? "Copied" : label}</span>
    </Button>
  );
}

/** An icon-only copy button, placed next to the value it copies. */
export function CopyIcon({ text, label }: { readonly text: string; readonly label: string }) {
  const { isCopied, copy } = useCopy(text);
  const Icon = isCopied ? Check : Copy;
  return (
    <Tooltip content={text}>
      <Button small square tone="quiet" aria-label={label} className="-my-1" onClick={() => void copy()}>
        <Icon aria-hidden className="size-3.5" strokeWidth={1.75} />
        <span aria-live="polite" className="sr-only">
          {isCopied ? "Copied" : ""}
        </span>
      </Button>
    </Tooltip>
  );
}

function useCopy(text: string): { readonly isCopied: boolean; readonly copy: () => Promise<void> } {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), SHOWN_MS);
    } catch {
      toast("The browser blocked copying. Select the text and copy it.", { isBad: true });
    }
  };
  return { isCopied, copy };
}
