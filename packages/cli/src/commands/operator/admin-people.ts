import type { Command } from "../../command.ts";
import { runAsOperator } from "./run-operator.ts";

export const signInLink: Command = {
  summary: "Print a link that signs a user in once and expires in one hour",
  usage: "",
  details:
    "If the server can be reached from other machines, the link first asks for a new password and signs out all of the user's sessions.",
  session: `$ promptd admin sign-in-link --user ada@example.org
https://promptd.example.org/welcome#wbYILAngFS9RIaDcw8GzHg

The link works once, within an hour, and signs in at once.`,
  options: {
    user: {
      type: "string",
      value: "EMAIL|USERID",
      isRequired: true,
      summary: "email address of a person, or email address or id of an account",
    },
    operator: {
      type: "boolean",
      summary: "when they sign in, make the user an operator of this installation, and unfreeze their access",
    },
  },
  run: async (args, io) => {
    const user = args.required("user");
    const made = await runAsOperator(io, (operator) =>
      operator.people.signInLink(user, { makesOperator: args.flag("operator") }),
    );
    io.result(made, `${made.link}\n`);
    io.note(
      made.asksForPassword
        ? "The link works once, within an hour, and asks for a new password."
        : "The link works once, within an hour, and signs in at once.",
    );
    if (["PORT", "PROMPTD_PUBLIC_URL"].every((name) => (io.env[name] ?? "") === "")) {
      io.note("If the server has another address, run the command again with the server's PORT or PROMPTD_PUBLIC_URL.");
    }
  },
};
