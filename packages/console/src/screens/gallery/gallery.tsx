/** Every component in every state and both themes, for judging changes to the design tokens. */
import { Coins, Copy, KeyRound, RotateCw, Trash2 } from "lucide-react";
import { useState, type ReactNode } from "react";
import { DrawnCover } from "../../components/prompt/drawn-cover.tsx";
import { FormDialog } from "../../components/form-dialog.tsx";
import { Page } from "../../components/shell/page.tsx";
import { Badge, Status } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty, Failure } from "../../components/ui/empty.tsx";
import { Field, Input, Segments, Select, TextArea } from "../../components/ui/field.tsx";
import { Menu, MenuItem, MenuRule } from "../../components/ui/menu.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { Skeleton } from "../../components/ui/skeleton.tsx";
import { Table, Td } from "../../components/ui/table.tsx";
import { cx } from "../../components/ui/class-names.ts";
import { Tabs } from "../../components/ui/tabs.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { Tooltip } from "../../components/ui/tooltip.tsx";

export function GalleryScreen() {
  return (
    <main className="p-4 sm:p-8">
      <Page title="Components" meta="Every component in every state, both themes from the same tokens.">
        <div className="grid grid-cols-[minmax(0,1fr)] gap-6 lg:grid-cols-2">
          {(["light", "dark"] as const).map((theme) => (
            <div
              key={theme}
              data-theme={theme}
              className={cx(
                "grid grid-cols-[minmax(0,1fr)] content-start gap-6 rounded-3 border border-line bg-bg p-4 text-ink",
                theme === "light" ? "theme-light" : "theme-dark",
              )}
            >
              <h2 className="capitalize">{theme}</h2>
              <Colors />
              <Type />
              <Buttons />
              <Fields />
              <States />
              <Tabular />
              <Floating />
              <Whole />
            </div>
          ))}
        </div>
      </Page>
    </main>
  );
}

function Group({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <p className="text-12 text-dim">{name}</p>
      {children}
    </div>
  );
}

const SURFACES = ["bg-sunk", "bg-bg", "bg-panel", "bg-line", "bg-edge", "bg-faint", "bg-dim", "bg-ink", "bg-accent"];
const STATES = [
  "bg-c1",
  "bg-c2",
  "bg-c3",
  "bg-c4",
  "bg-c5",
  "bg-ok",
  "bg-ok-soft",
  "bg-warn",
  "bg-warn-soft",
  "bg-bad",
  "bg-bad-soft",
];

function Colors() {
  return (
    <Group name="Colors and a drawn cover">
      {[SURFACES, STATES].map((row) => (
        <div key={row[0]} className="flex overflow-hidden rounded-1 ring-1 ring-line">
          {row.map((name) => (
            <i key={name} className={`h-5 flex-1 ${name}`} />
          ))}
        </div>
      ))}
      <div className="grid grid-cols-5 gap-2">
        {["a", "b", "c", "e", "h"].map((seed) => (
          <div key={seed} className="aspect-[16/10] overflow-hidden rounded-2">
            <DrawnCover seed={`${seed}Cover`} />
          </div>
        ))}
      </div>
    </Group>
  );
}

function Type() {
  return (
    <Group name="Type">
      <p className="flex flex-wrap items-baseline gap-x-4">
        <span className="text-28 font-semibold tabular-nums">2,418</span>
        <span className="text-20 font-semibold">Page title 20</span>
        <span className="text-16">Reading text 16</span>
        <span className="text-14 font-semibold">Section 14</span>
        <span>Control 13</span>
        <span className="text-12 text-dim">Meta 12</span>
        <span className="text-11">Axis 11</span>
        <code>Code !=</code>
      </p>
    </Group>
  );
}

function Buttons() {
  return (
    <Group name="Buttons: main, plain, quiet, danger, disabled, small">
      <div className="flex flex-wrap gap-2">
        <Button tone="main">Run for 25 credits</Button>
        <Button>
          <Copy aria-hidden className="size-4" strokeWidth={1.75} />
          Copy
        </Button>
        <Button tone="quiet">Quiet</Button>
        <Button tone="danger">Revoke key</Button>
        <Button disabled>Disabled</Button>
        <Button small>Small</Button>
        <Tooltip content="Run again">
          <Button square aria-label="Run again">
            <RotateCw aria-hidden className="size-4" strokeWidth={1.75} />
          </Button>
        </Tooltip>
      </div>
    </Group>
  );
}

function Fields() {
  const [quality, setQuality] = useState("low");
  return (
    <Group name="Fields">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Name" aside="1 to 60" help="Only you see it.">
          {(control) => <Input {...control} defaultValue="photo-booth" />}
        </Field>
        <Field label="Expires" fault="November has 30 days.">
          {(control) => <Input {...control} defaultValue="Nov 31, 2026" />}
        </Field>
        <Field label="May run">
          {(control) => (
            <Select {...control}>
              <option>All prompts</option>
              <option>Chosen prompts</option>
            </Select>
          )}
        </Field>
        <Field label="Account">{(control) => <Input {...control} disabled defaultValue="Okafor studio" />}</Field>
        <Field label="Text">{(control) => <TextArea {...control} placeholder="It grows with its text." />}</Field>
        <Field label="Quality">
          {(control) => (
            <Segments
              id={control.id}
              label="Quality"
              value={quality}
              onChange={setQuality}
              options={["low", "medium", "high"].map((value) => ({ value, label: value }))}
            />
          )}
        </Field>
      </div>
    </Group>
  );
}

function States() {
  return (
    <Group name="Badges and states">
      <div className="flex flex-wrap items-center gap-2">
        <Badge>stable</Badge>
        <Badge tone="live">open</Badge>
        <Badge tone="ok">new</Badge>
        <Badge tone="warn">ends Nov 27</Badge>
        <Badge tone="bad">revoked</Badge>
      </div>
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        <Status tone="neutral">Queued</Status>
        <Status tone="live">Running</Status>
        <Status tone="ok">Succeeded</Status>
        <Status tone="bad">Failed</Status>
      </div>
    </Group>
  );
}

function Tabular() {
  const [tab, setTab] = useState("curl");
  const rows = (
    <Table
      label="Runs"
      columns={[
        "Status",
        { label: "Prompt", fill: true },
        { label: "Took", num: true },
        { label: "Credits", num: true },
      ]}
    >
      <tr>
        <Td>
          <Status tone="ok">Succeeded</Status>
        </Td>
        <Td fill>Restyle a room</Td>
        <Td num>13.8 s</Td>
        <Td num>25</Td>
      </tr>
      <tr>
        <Td>
          <Status tone="live">Running</Status>
        </Td>
        <Td fill>Garden makeover with a title that is longer than its column</Td>
        <Td num>4 s</Td>
        <Td num>25 held</Td>
      </tr>
    </Table>
  );
  return (
    <Group name="Tabs and table">
      <section className="overflow-clip rounded-3 border border-line bg-panel">
        <Tabs
          value={tab}
          onChange={setTab}
          tabs={["curl", "TypeScript", "Python"].map((name) => ({ value: name, label: name, content: rows }))}
        />
      </section>
    </Group>
  );
}

function Floating() {
  const [isOpen, setOpen] = useState(false);
  return (
    <Group name="Menu, dialog, toast: press to open">
      <div className="flex flex-wrap gap-2">
        <Menu trigger={<Button>Menu</Button>} align="start">
          <MenuItem icon={Copy} aside="⌘C" onClick={() => toast("ID copied")}>
            Copy ID
          </MenuItem>
          <MenuItem icon={RotateCw} onClick={() => toast("Key rolled")}>
            Roll key
          </MenuItem>
          <MenuRule />
          <MenuItem icon={Trash2} danger onClick={() => toast("The key could not be revoked.", { isBad: true })}>
            Revoke key
          </MenuItem>
        </Menu>
        <Button onClick={() => setOpen(true)}>Dialog</Button>
        <Button onClick={() => toast("Key copied")}>Toast</Button>
      </div>
      <FormDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="Revoke “shop-backend”?"
        description="It was last used 11 s ago. Requests with this key will immediately fail with 401. This can’t be undone."
        submit="Revoke key"
        isDanger
        onSubmit={() => Promise.resolve()}
      />
    </Group>
  );
}

function Whole() {
  return (
    <Group name="Empty, loading, failed">
      <div className="grid gap-4 sm:grid-cols-2">
        <Panel>
          <Empty icon={KeyRound} title="No keys yet" action={<Button>Create key</Button>}>
            A key lets your code run prompts and pay with your credits.
          </Empty>
        </Panel>
        <Panel title="Balance" aside="today" foot={<Coins aria-hidden className="size-4" strokeWidth={1.75} />}>
          <div className="grid gap-3">
            <Skeleton className="h-24" />
            <Skeleton />
            <Skeleton className="h-3 w-2/3" />
          </div>
        </Panel>
      </div>
      <Failure
        title="The runs could not be loaded."
        requestId="01a1fbd3-61c8-7e19-b0c4-2f61d98a5e37"
        onRetry={() => toast("Tried again")}
      >
        The server did not respond within 10 s.
      </Failure>
    </Group>
  );
}
