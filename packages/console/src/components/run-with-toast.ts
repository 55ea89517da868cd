import { faultOf } from "../api.ts";
import { toast } from "./ui/toast.tsx";

/** Runs an action without a form. A toast reports success or the reason for the failure. */
export async function runWithToast(work: () => Promise<unknown>, done: string): Promise<void> {
  try {
    await work();
    toast(done);
  } catch (error) {
    toast(faultOf(error).message, { isBad: true });
  }
}
