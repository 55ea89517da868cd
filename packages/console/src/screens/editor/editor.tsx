/** The editor of one prompt: its file on the left, its results on the right. */
import type { OwnPrompt } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { isMissing, modelsQuery, ownPromptQuery } from "../../api.ts";
import { Missing, QueryFailure } from "../../components/query-states.tsx";
import { Page } from "../../components/shell/page.tsx";
import { BlockShapes, Loading, Skeleton } from "../../components/ui/skeleton.tsx";
import { cx } from "../../components/ui/class-names.ts";
import { Tabs } from "../../components/ui/tabs.tsx";
import { PromptActions, PublishBar } from "./prompt-actions.tsx";
import { CodeEditor } from "./code/code-editor.tsx";
import { FilePane } from "./code/file-pane.tsx";
import { FaultList } from "./fault-list.tsx";
import { HistoryTab } from "./history-tab.tsx";
import { Notices } from "./notices.tsx";
import { RenderedTab } from "./rendered-tab.tsx";
import { DraftStatus } from "./draft-status.tsx";
import { useTrial } from "./test-run.ts";
import { TestTab } from "./test-tab.tsx";
import { useCheck } from "./use-check.ts";
import { useDraft } from "./use-draft.ts";

export function EditorScreen() {
  const { promptId } = useParams({ from: "/inside/author/$promptId" });
  // From here on the editor holds the text. Reading it again would only return what was just saved.
  const prompt = useQuery({
    ...ownPromptQuery(promptId),
    refetchOnMount: "always",
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  if (prompt.isError && isMissing(prompt.error)) {
    return (
      <Page title="No such prompt" hasHead={false}>
        <Missing title="Prompt not found" to="/author" label="Open my prompts">
          It was deleted, or it belongs to another account.
        </Missing>
      </Page>
    );
  }
  if (prompt.isError && prompt.data === undefined) {
    return (
      <Page title="Prompt" path={<Path />}>
        <QueryFailure what="The prompt" query={prompt} />
      </Page>
    );
  }
  // A cached text from an earlier visit could be mistaken for the saved one.
  if (prompt.isFetching && !prompt.isFetchedAfterMount) return <EditorShapes />;
  if (prompt.data === undefined) return <EditorShapes />;
  return <Editor key={promptId} prompt={prompt.data} />;
}

function Path() {
  return (
    <nav aria-label="Path">
      <Link to="/author" className="hover:text-ink">
        My prompts
      </Link>
    </nav>
  );
}

const COLUMNS = "lg:grid-cols-[minmax(0,1fr)_minmax(360px,0.72fr)]";
/** Two results are side by side on the right. */
const WITH_COMPARISON = "lg:grid-cols-[minmax(0,0.6fr)_minmax(360px,1fr)]";
const TABS = ["test", "rendered", "history"] as const;

function Editor({ prompt }: { readonly prompt: OwnPrompt }) {
  const { tab = "test", beside } = useSearch({ from: "/inside/author/$promptId" });
  const navigate = useNavigate({ from: "/author/$promptId" });
  const draft = useDraft(prompt);
  const checked = useCheck(draft.source);
  const trial = useTrial();
  const { data: models } = useQuery(modelsQuery);
  const [goTo, setGoTo] = useState<{ line: number; column: number | null } | null>(null);
  const tabs = [
    { value: "test", label: "Test run", content: <TestTab {...{ prompt, draft, checked, trial }} /> },
    { value: "rendered", label: "Rendered text", content: <RenderedTab {...{ draft, checked, trial }} /> },
    { value: "history", label: "History", content: <HistoryTab {...{ prompt, draft, checked }} /> },
  ];
  return (
    <Page
      title={prompt.title}
      tabTitle={`${prompt.title} · My prompts`}
      path={<Path />}
      meta={<DraftStatus prompt={prompt} draft={draft} />}
      actions={<PromptActions {...{ prompt, draft }} />}
    >
      <Notices prompt={prompt} draft={draft} />
      {/* Not a grid: a sticky element cannot leave its grid row. */}
      <div>
        <div
          className={cx(
            "grid grid-cols-[minmax(0,1fr)] items-start gap-6",
            beside !== undefined && tab === "test" ? WITH_COMPARISON : COLUMNS,
          )}
        >
          <FilePane>
            <div className="min-h-0 overflow-y-auto">
              <CodeEditor
                value={draft.source}
                read={draft.read}
                faults={checked.faults}
                known={{ config: checked.config, models: models?.models ?? [] }}
                goTo={goTo}
                onChange={draft.change}
              />
            </div>
            <FaultList checked={checked} onOpen={setGoTo} />
          </FilePane>
          <section aria-label="Working draft" className="min-w-0 overflow-clip rounded-3 border border-line bg-panel">
            <Tabs
              value={tab}
              tabs={tabs}
              onChange={(value) =>
                void navigate({
                  search: (old) => ({ ...old, tab: TABS.find((name) => name === value) }),
                  replace: true,
                  resetScroll: false,
                })
              }
            />
          </section>
        </div>
        <PublishBar {...{ prompt, draft, checked }} />
      </div>
    </Page>
  );
}

function EditorShapes() {
  return (
    <Page title="Prompt" path={<Path />} hasHead={false}>
      <Loading what="the prompt">
        <div className="grid gap-6">
          <Skeleton className="h-7 w-72 max-w-full" />
          <BlockShapes className={COLUMNS} heights={[["h-[560px]"], ["h-96"]]} />
        </div>
      </Loading>
    </Page>
  );
}
