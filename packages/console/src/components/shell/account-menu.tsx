import type { SessionInfo } from "@promptd/contract/manage";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Activity, BookOpen, Check, LogOut, Settings, UserRound } from "lucide-react";
import type { ReactElement } from "react";
import { chooseAccount, chosenAccount } from "../../account.ts";
import { faultOf, sessionQuery } from "../../api.ts";
import { signOut } from "../../sign-in.ts";
import { canLeave } from "../unsaved-changes.ts";
import { Menu, MenuItem, MenuRule } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";

interface AccountMenuProps {
  readonly session: SessionInfo;
  readonly trigger: ReactElement<Record<string, unknown>>;
}

export function AccountMenu({ session, trigger }: AccountMenuProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const leave = async () => {
    if (!(await canLeave())) return;
    try {
      await signOut();
    } catch (error) {
      toast(faultOf(error).message, { isBad: true });
      return;
    }
    chooseAccount(null);
    queries.clear();
    await navigate({ to: "/sign-in", search: {}, ignoreBlocker: true });
  };
  const change = async (accountId: string) => {
    // Unsaved text belongs to the old account, whose pages do not exist in the new one.
    if (!(await canLeave())) return;
    await navigate({ to: "/", ignoreBlocker: true });
    chooseAccount(accountId);
    // Nothing of the old account may stay on screen. The session belongs to the person and holds this menu.
    void queries.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
  };
  return (
    <Menu trigger={trigger} side="top" align="start" isOpen>
      <p className="max-w-64 truncate px-2 py-1.5 text-12 text-dim">{session.person.email}</p>
      {session.accounts.length < 2
        ? null
        : session.accounts.map(({ accountId, name, role }) => (
            <MenuItem
              key={accountId}
              icon={accountId === chosenAccount() ? Check : UserRound}
              aside={role}
              onClick={() => void change(accountId)}
            >
              {name}
            </MenuItem>
          ))}
      <MenuRule />
      <MenuItem icon={BookOpen} onClick={() => void navigate({ to: "/docs" })}>
        Docs
      </MenuItem>
      <MenuItem icon={Settings} onClick={() => void navigate({ to: "/settings" })}>
        Settings
      </MenuItem>
      {session.person.isOperator ? (
        <MenuItem icon={Activity} onClick={() => void navigate({ to: "/operator" })}>
          Operator
        </MenuItem>
      ) : null}
      <MenuRule />
      <MenuItem icon={LogOut} onClick={() => void leave()}>
        Sign out
      </MenuItem>
    </Menu>
  );
}
