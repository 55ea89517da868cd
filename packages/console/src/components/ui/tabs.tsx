import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

interface Tab {
  readonly value: string;
  readonly label: string;
  readonly content: ReactNode;
}

interface TabsProps {
  readonly tabs: readonly Tab[];
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Shown before the tabs. */
  readonly title?: string;
  /** Shown at the right end. */
  readonly actions?: ReactNode;
}

export function Tabs({ tabs, value, onChange, title, actions }: TabsProps) {
  return (
    <Base.Root value={value} onValueChange={(next: unknown) => onChange(String(next))}>
      <div className="flex flex-wrap items-center gap-x-4 border-b border-line px-4">
        {title === undefined ? null : <h2 className="py-3 whitespace-nowrap">{title}</h2>}
        <Base.List className="flex min-w-0 gap-4 overflow-x-auto [scrollbar-width:none]">
          {tabs.map((tab) => (
            <Base.Tab
              key={tab.value}
              value={tab.value}
              className="-mb-px h-11 border-b-2 border-transparent whitespace-nowrap text-dim hover:text-ink focus-visible:-outline-offset-2 data-active:border-accent data-active:font-medium data-active:text-ink"
            >
              {tab.label}
            </Base.Tab>
          ))}
        </Base.List>
        {actions === undefined ? null : <div className="ml-auto flex items-center gap-2 py-1.5">{actions}</div>}
      </div>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className="outline-offset-[-2px]">
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
