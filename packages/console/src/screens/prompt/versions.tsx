import { useInfiniteQuery } from "@tanstack/react-query";
import { versionsQuery } from "../../api.ts";
import { CopyIcon } from "../../components/copy-button.tsx";
import { formatDay } from "../../components/format.ts";
import { ListPanel } from "../../components/list-panel.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { ACTIONS_COLUMN, Table, Td } from "../../components/ui/table.tsx";

/** Published versions, newest first. A version never changes, so code that names one always runs the same prompt. */
export function Versions({ slug }: { readonly slug: string }) {
  const versions = useInfiniteQuery(versionsQuery(slug));
  return (
    <ListPanel
      list={versions}
      what="The versions"
      title="Versions"
      aside="published versions never change"
      shapes={2}
      note={null}
      empty={null}
    >
      {(rows) => (
        <Table
          label="Versions"
          columns={[
            { label: "Version", num: true },
            { label: "Published", from: "sm" },
            { label: "What changed", fill: true },
            { label: "Labels", isHidden: true },
            ACTIONS_COLUMN,
          ]}
        >
          {rows.map(({ promptVersionId, version, publishedAt, note, isLatest, labels }) => (
            <tr key={promptVersionId}>
              <Td num>{version}</Td>
              <Td from="sm">{formatDay(publishedAt)}</Td>
              <Td fill whole>
                <span title={note ?? undefined}>{note}</span>
                <span className="block text-12 text-dim sm:hidden">{formatDay(publishedAt)}</span>
              </Td>
              <Td>
                <span className="inline-flex gap-1 max-sm:flex-col max-sm:items-start">
                  {isLatest ? <Badge tone="live">latest</Badge> : null}
                  {labels.map((label) => (
                    <Badge key={label}>{label}</Badge>
                  ))}
                </span>
              </Td>
              <Td num>
                <CopyIcon text={promptVersionId} label={`Copy ID of version ${version}`} />
              </Td>
            </tr>
          ))}
        </Table>
      )}
    </ListPanel>
  );
}
