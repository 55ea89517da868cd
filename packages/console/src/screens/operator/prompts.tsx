import type { ModeratedPrompt } from "@promptd/contract/manage";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Ban, CircleCheck, Ellipsis, Percent, ShieldAlert, Star } from "lucide-react";
import { useState } from "react";
import { manage } from "../../api.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { formatCompact, formatDay, nameIn } from "../../components/format.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { ListPanel } from "../../components/list-panel.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { Field, Input } from "../../components/ui/field.tsx";
import { Menu, MenuItem } from "../../components/ui/menu.tsx";
import { ACTIONS_COLUMN, Table, Td } from "../../components/ui/table.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { textOf } from "../../sign-in.ts";
import { moderatedQuery } from "./queries.ts";
import { SearchBox } from "./search-box.tsx";

export function PromptsSection() {
  const { q } = useSearch({ from: "/inside/operator/prompts" });
  const navigate = useNavigate({ from: "/operator/prompts" });
  return (
    <>
      <SearchBox
        label="Title or slug"
        value={q}
        onSearch={(text) => void navigate({ search: { q: text }, replace: true })}
      />
      <Prompts q={q} />
    </>
  );
}

const TONES = { published: "ok", unpublished: "neutral", blocked: "bad" } as const;

function Prompts({ q }: { readonly q: string | undefined }) {
  const prompts = useInfiniteQuery(moderatedQuery(q));
  return (
    <ListPanel
      list={prompts}
      what="The prompts"
      empty={<Empty icon={ShieldAlert} title={q === undefined ? "No prompts published yet" : "No prompts match"} />}
    >
      {(rows) => (
        <Table
          label="Prompts"
          columns={[
            { label: "Prompt", fill: true },
            "State",
            { label: "Author", from: "sm" },
            { label: "Uses", num: true, from: "sm" },
            { label: "Author’s share", num: true, from: "xl" },
            { label: "Published", from: "xl" },
            ACTIONS_COLUMN,
          ]}
        >
          {rows.map((row) => (
            <Row key={row.promptId} row={row} />
          ))}
        </Table>
      )}
    </ListPanel>
  );
}

function Row({ row }: { readonly row: ModeratedPrompt }) {
  return (
    <tr className="hover:bg-hover">
      <Td fill>
        {row.state === "published" ? (
          <Link to="/p/$slug" params={{ slug: row.slug }} data-row className="font-medium hover:underline">
            {row.title}
          </Link>
        ) : (
          <span className="font-medium">{row.title}</span>
        )}
        {row.moderation === null ? null : <span className="pl-2 text-bad">{row.moderation.reason}</span>}
      </Td>
      <Td>
        <span className="inline-flex gap-1">
          <Badge tone={TONES[row.state]}>{row.state}</Badge>
          {row.isFeatured ? <Badge tone="live">featured</Badge> : null}
        </span>
      </Td>
      <Td from="sm">
        <Link to="/operator/accounts/$accountId" params={{ accountId: row.accountId }} className="hover:underline">
          {row.accountEmail}
        </Link>
      </Td>
      <Td num from="sm">
        {formatCompact(row.uses)}
      </Td>
      <Td num from="xl">
        {row.authorSharePercent === null ? "default" : `${row.authorSharePercent}%`}
      </Td>
      <Td from="xl">{formatDay(row.publishedAt)}</Td>
      <Td num>
        <PromptActions row={row} />
      </Td>
    </tr>
  );
}

function PromptActions({
  row: { promptId, title, state, isFeatured, authorSharePercent },
}: {
  readonly row: ModeratedPrompt;
}) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState<"block" | "share" | null>(null);
  const params = { promptId };
  const refresh = () => queries.invalidateQueries({ queryKey: ["operator", "prompts"] });
  const feature = async () => {
    const body = { isFeatured: !isFeatured };
    await runWithToast(
      () => manage.send("featurePrompt", { params, body }),
      isFeatured ? "No longer featured" : "Prompt featured",
    );
    await refresh();
  };
  const allow = async () => {
    await runWithToast(
      () => manage.send("moderatePrompt", { params, body: { isBlocked: false } }),
      "Prompt allowed again",
    );
    await refresh();
  };
  const block = async (form: FormData) => {
    await manage.send("moderatePrompt", { params, body: { isBlocked: true, reason: textOf(form, "reason") } });
    toast("Prompt blocked");
    await refresh();
  };
  const share = async (form: FormData) => {
    const percent = textOf(form, "percent");
    await manage.send("setAuthorShare", { params, body: { percent: percent === "" ? null : Number(percent) } });
    toast("Author’s share changed");
    await refresh();
  };
  return (
    <>
      <Menu
        trigger={
          <Button tone="quiet" small square aria-label={`Actions for ${title}`}>
            <Ellipsis aria-hidden className="size-4" strokeWidth={1.75} />
          </Button>
        }
      >
        <MenuItem icon={Star} onClick={() => void feature()}>
          {isFeatured ? "Stop featuring" : "Feature"}
        </MenuItem>
        <MenuItem icon={Percent} onClick={() => setAsking("share")}>
          Author’s share
        </MenuItem>
        {state === "blocked" ? (
          <MenuItem icon={CircleCheck} onClick={() => void allow()}>
            Allow again
          </MenuItem>
        ) : (
          <MenuItem icon={Ban} danger onClick={() => setAsking("block")}>
            Block
          </MenuItem>
        )}
      </Menu>
      <Block isOpen={asking === "block"} title={title} onClose={() => setAsking(null)} onSubmit={block} />
      <Share
        isOpen={asking === "share"}
        percent={authorSharePercent}
        onClose={() => setAsking(null)}
        onSubmit={share}
      />
    </>
  );
}

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onSubmit: (form: FormData) => Promise<void>;
}

function Block({ isOpen, onClose, onSubmit, title }: DialogProps & { readonly title: string }) {
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Block “${nameIn(title)}”?`}
      description="The prompt leaves the marketplace, and its author cannot publish it again. Runs in progress finish normally."
      submit="Block prompt"
      isDanger
      onSubmit={onSubmit}
    >
      <Field label="Reason" help="The author sees this.">
        {(control) => <Input {...control} name="reason" maxLength={500} required autoFocus />}
      </Field>
    </FormDialog>
  );
}

function Share({ isOpen, onClose, onSubmit, percent }: DialogProps & { readonly percent: number | null }) {
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title="Author’s share"
      description="The author’s share of what others pay for each run."
      submit="Change share"
      onSubmit={onSubmit}
    >
      <Field label="Percent" help="Leave empty for this installation’s default.">
        {(control) => (
          <Input {...control} name="percent" type="number" min={0} max={100} defaultValue={percent ?? ""} autoFocus />
        )}
      </Field>
    </FormDialog>
  );
}
