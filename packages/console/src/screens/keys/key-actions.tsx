/** What can be done with a key that is in use. */
import type { CreatedKey, Key } from "@promptd/contract/manage";
import { useQueryClient } from "@tanstack/react-query";
import { Ellipsis, RotateCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { KEYS, manage } from "../../api.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { formatTime, nameIn } from "../../components/format.ts";
import { Button } from "../../components/ui/button.tsx";
import { Field, Select } from "../../components/ui/field.tsx";
import { Menu, MenuItem, MenuRule } from "../../components/ui/menu.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { textOf } from "../../sign-in.ts";

/** The last use is recorded with a delay of up to a minute, while the key's spending is known at once. */
export const isUnused = ({ lastUsedAt, last30Days, usedThisMonth }: Key) =>
  lastUsedAt === null && last30Days.runs === 0 && usedThisMonth === 0;
export const lastUseOf = ({ lastUsedAt }: Key) => (lastUsedAt === null ? "just now" : formatTime(lastUsedAt));
export const originOf = ({ lastUsedFrom }: Key) => (lastUsedFrom === null ? "" : ` from ${lastUsedFrom}`);

interface KeyActionsProps {
  readonly row: Key;
  readonly onRolled: (key: CreatedKey) => void;
}

export function KeyActions({ row, onRolled }: KeyActionsProps) {
  const [asking, setAsking] = useState<"roll" | "revoke" | null>(null);
  const close = () => setAsking(null);
  return (
    <>
      <Menu
        trigger={
          <Button tone="quiet" small square aria-label={`Actions for ${row.name}`}>
            <Ellipsis aria-hidden className="size-4" strokeWidth={1.75} />
          </Button>
        }
      >
        <MenuItem icon={RotateCw} onClick={() => setAsking("roll")}>
          Roll key
        </MenuItem>
        <MenuRule />
        <MenuItem icon={Trash2} danger onClick={() => setAsking("revoke")}>
          Revoke key
        </MenuItem>
      </Menu>
      <RollKey row={row} isOpen={asking === "roll"} onClose={close} onRolled={onRolled} />
      <RevokeKey row={row} isOpen={asking === "revoke"} onClose={close} />
    </>
  );
}

interface DialogProps {
  readonly row: Key;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** When the old key expires. By default, its users have a day to switch without an outage. */
const OVERLAPS = [
  { hours: 0, words: "Now" },
  { hours: 1, words: "In 1 hour" },
  { hours: 24, words: "In 24 hours" },
  { hours: 168, words: "In 7 days" },
] as const;

function RollKey({ row: { keyId, name }, isOpen, onClose, onRolled }: DialogProps & KeyActionsProps) {
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Roll “${nameIn(name)}”?`}
      description="Creates a new key with the same name, expiry, cap, and prompts. Replace the old key wherever it is used before it expires."
      submit="Roll key"
      onSubmit={async (form) => {
        const body = { overlapHours: Number(textOf(form, "hours")) };
        onRolled(await manage.send("rollKey", { params: { keyId }, body }));
        toast("Key rolled. The new key is shown above");
      }}
    >
      <Field label="Old key expires">
        {(control) => (
          <Select {...control} name="hours" defaultValue="24">
            {OVERLAPS.map(({ hours, words }) => (
              <option key={hours} value={hours}>
                {words}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </FormDialog>
  );
}

function RevokeKey({ row, isOpen, onClose }: DialogProps) {
  const queries = useQueryClient();
  const use = isUnused(row) ? "It has never been used." : `It was last used ${lastUseOf(row)}${originOf(row)}.`;
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Revoke “${nameIn(row.name)}”?`}
      description={`${use} Requests with this key will immediately fail with 401. This can’t be undone.`}
      submit="Revoke key"
      isDanger
      onSubmit={async () => {
        await manage.send("revokeKey", { params: { keyId: row.keyId } });
        toast("Key revoked");
        await queries.invalidateQueries({ queryKey: KEYS });
      }}
    />
  );
}
