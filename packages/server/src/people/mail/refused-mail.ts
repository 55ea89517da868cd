/**
 * True: the server has refused this mail's addresses or text for good (5xx), so that another attempt would be refused as
 * well. A refused sign-in says nothing of the mail.
 */
export function isRefusedForGood(error: unknown): boolean {
  if (!(error instanceof Error && "code" in error && "responseCode" in error)) return false;
  const status = Number(error.responseCode);
  return (error.code === "EENVELOPE" || error.code === "EMESSAGE") && status >= 500 && status < 600;
}
