import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { Button } from "./ui/button.tsx";
import { toast } from "./ui/toast.tsx";

const SHOWN_MS = 1_500;

interface CopyButtonProps {
  readonly text: string;
  readonly label?: string;
  readonly small?: boolean;
}

export function CopyButton({ text, label = "Copy", small = true }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), SHOWN_MS);
    } catch {
      toast("The browser did not allow copying. Select the text, then copy it.", { isBad: true });
    }
  };
  const Icon = isCopied ? Check : Copy;
  return (
    <Button small={small} onClick={() => void copy()}>
      <Icon aria-hidden className="size-3.5" strokeWidth={1.75} />
      <span aria-live="polite">{isCopied ? "Copied" : label}</span>
    </Button>
  );
}
