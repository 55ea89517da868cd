import { faultOf } from "../api.ts";
import { toast } from "./ui/toast.tsx";

/** An action without a form: a toast says that it is done, or why it is not. */
export async function runWithToast(work: () => Promise<unknown>, done: string): Promise<void> {
  try {
    await work();
    toast(done);
  } catch (error) {
    toast(faultOf(error).message, { isBad: true });
  }
}
