import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Clapperboard, ImageIcon, TextCursorInput } from "lucide-react";
import { manage, ownPromptQuery } from "../../api.ts";
import { Page } from "../../components/shell/page.tsx";
import { Button } from "../../components/ui/button.tsx";
import { FaultNote } from "../../components/fault-note.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { useAction } from "../../components/use-action.ts";
import { TEMPLATES, type Template } from "./templates.ts";

const ICONS = { text: TextCursorInput, image: ImageIcon, video: Clapperboard } as const;

/** The part that the model receives. The editor explains the fields above it. */
const bodyOf = ({ source }: Template) => source.slice(source.indexOf("---\n", 4) + 4).trim();

export function NewPromptScreen() {
  const action = useAction();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const start = ({ source }: Template) =>
    action.run(async () => {
      const prompt = await manage.send("createDraft", { body: { source } });
      queries.setQueryData(ownPromptQuery(prompt.promptId).queryKey, prompt);
      void queries.invalidateQueries({ queryKey: ["own-prompts"] });
      await navigate({ to: "/author/$promptId", params: { promptId: prompt.promptId } });
    });
  return (
    <Page
      title="New prompt"
      path={
        <nav aria-label="Path">
          <Link to="/author" className="hover:text-ink">
            My prompts
          </Link>
        </nav>
      }
      meta="Start with a small working prompt and change it. Only members of this account see a draft until you publish it."
    >
      <FaultNote fault={action.fault} title="The draft could not be created." />
      <ul className="grid grid-cols-[minmax(0,1fr)] gap-4 sm:grid-cols-[repeat(2,minmax(0,1fr))] 2xl:grid-cols-[repeat(4,minmax(0,1fr))]">
        {TEMPLATES.map((template) => {
          const Icon = ICONS[template.modality];
          return (
            <li key={template.name} className="grid">
              <Panel
                className="grid grid-rows-[auto_1fr_auto]"
                title={
                  <span className="inline-flex items-center gap-2">
                    <Icon aria-hidden className="size-4 text-dim" strokeWidth={1.75} />
                    {template.name}
                  </span>
                }
                foot={
                  <Button
                    disabled={action.isBusy}
                    aria-label={`Use this template: ${template.name}`}
                    onClick={() => void start(template)}
                  >
                    Use this template
                  </Button>
                }
              >
                <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
                  <p className="text-dim">{template.about}</p>
                  <pre
                    aria-label={`Template prompt: ${template.name}`}
                    className="rounded-2 bg-sunk p-3 font-mono text-[12px] leading-5 whitespace-pre-wrap"
                  >
                    {bodyOf(template)}
                  </pre>
                </div>
              </Panel>
            </li>
          );
        })}
      </ul>
    </Page>
  );
}
