import { CopyButton } from "../copy-button.tsx";
import { LANGUAGES, runCode, type Language, type RunCall } from "./run-code.ts";
import { Tabs } from "../ui/tabs.tsx";
import { KeyChoice, useKeyChoice } from "./key-choice.tsx";

interface CodeTabsProps {
  readonly call: RunCall;
  readonly promptId: string;
  readonly language: Language;
  readonly onLanguage: (language: Language) => void;
}

/** The current form as code. The code sends exactly what the form would send. */
export function CodeTabs({ call, promptId, language, onLanguage }: CodeTabsProps) {
  const { keys, key, choose } = useKeyChoice(promptId);
  const codeIn = (one: Language) => runCode(one, call, { baseUrl: location.origin, key });
  return (
    <section className="min-w-0 overflow-clip rounded-3 border border-line bg-panel">
      <Tabs
        title="Use it"
        value={language}
        onChange={(value) => onLanguage(LANGUAGES.find((one) => one.value === value)?.value ?? "curl")}
        actions={<CopyButton text={codeIn(language)} />}
        tabs={LANGUAGES.map(({ value, label }) => ({
          value,
          label,
          content: <Code text={codeIn(value)} />,
        }))}
      />
      <KeyChoice keys={keys} chosen={key} onChoose={choose} />
    </section>
  );
}

function Code({ text }: { readonly text: string }) {
  return (
    <pre
      tabIndex={0}
      className="max-h-[480px] overflow-auto bg-sunk p-4 font-mono text-[12.5px] leading-5 outline-offset-[-2px] [tab-size:2]"
    >
      <code>{text}</code>
    </pre>
  );
}
