import type { ManagedRun } from "@promptd/contract/manage";
import { isFinal } from "../../api.ts";
import { countCredits } from "../format.ts";
import { Facts, type Fact } from "../facts.tsx";

interface ReceiptProps {
  readonly run: Pick<ManagedRun, "receipt" | "runStatus"> & Partial<Pick<ManagedRun, "answeredBy">>;
}

/** Shows what a run costs: the credits held at the start, then those charged and released at the end. */
export function Receipt({ run: { receipt, runStatus, answeredBy } }: ReceiptProps) {
  if (receipt.held === null) return <p className="text-dim">This run is free.</p>;
  const isLive = !isFinal(runStatus);
  const facts: Fact[] = [
    ...(answeredBy === null || answeredBy === undefined ? [] : [{ label: "Answered by", value: answeredBy }]),
    { label: "Held", value: countCredits(receipt.held) },
    ...(isLive ? [] : [{ label: "Released", value: countCredits(receipt.givenBack) }]),
    {
      label: isLive ? "Charged at the end" : "Charged",
      value: isLive ? `at most ${countCredits(receipt.held)}` : countCredits(receipt.charged),
      isSum: true,
    },
  ];
  return <Facts isReceipt facts={facts} />;
}
