import { Segments } from "../../components/ui/field.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { setTheme, useTheme, type Theme } from "../../theme.ts";

const THEMES = [
  { value: "system", label: "Match system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
] as const satisfies readonly { value: Theme; label: string }[];

export function AppearanceSection() {
  const theme = useTheme();
  return (
    <Panel title="Appearance" aside="in this browser">
      <div className="grid max-w-[400px] gap-1">
        <span className="font-medium">Theme</span>
        <Segments
          label="Theme"
          value={theme}
          options={THEMES}
          onChange={(value) => setTheme(THEMES.find((one) => one.value === value)?.value ?? "system")}
        />
      </div>
    </Panel>
  );
}
