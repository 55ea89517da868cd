import type { ManagedRun } from "@promptd/contract/manage";
import { isFinal } from "../../api.ts";
import { countCredits, formatCredits, formatWhole } from "../format.ts";
import { Facts, type Fact } from "../facts.tsx";

interface ReceiptProps {
  readonly run: Pick<ManagedRun, "receipt" | "runStatus"> & Partial<Pick<ManagedRun, "answeredBy">>;
}

/**
 * Shows what a run used and what it costs: its tokens, the credits held at the start, then those charged and released at
 * the end.
 */
export function Receipt({ run: { receipt, runStatus, answeredBy } }: ReceiptProps) {
  const isLive = !isFinal(runStatus);
  const used: Fact[] = [
    ...(answeredBy === null || answeredBy === undefined ? [] : [{ label: "Answered by", value: answeredBy }]),
    ...tokensOf(receipt),
  ];
  if (receipt.held === null) {
    if (used.length === 0) return <p className="text-dim">This run is free.</p>;
    return <Facts isReceipt facts={[...used, { label: "Charged", value: "free", isSum: true }]} />;
  }
  const facts: Fact[] = [
    ...used,
    { label: "Held", value: countCredits(receipt.held) },
    ...(isLive ? [] : [{ label: "Released", value: countCredits(receipt.givenBack) }]),
    {
      label: isLive ? "Charged at the end" : "Charged",
      value: isLive ? `at most ${countCredits(receipt.held)}` : formatCredits(receipt.charged),
      isSum: true,
    },
  ];
  return <Facts isReceipt facts={facts} />;
}

/** Nothing for models that do not count tokens. */
function tokensOf({ inputTokens, outputTokens }: ManagedRun["receipt"]): Fact[] {
  if (!inputTokens && !outputTokens) return [];
  return [
    { label: "Input tokens", value: formatWhole(inputTokens ?? 0) },
    { label: "Output tokens", value: formatWhole(outputTokens ?? 0) },
  ];
}
