import { Outlet } from "@tanstack/react-router";
import { KeySquare, Palette, ShieldCheck, UserRound, Users, Wallet, Webhook } from "lucide-react";
import { Page } from "../../components/shell/page.tsx";
import { Sections, useTabTitle, type Section } from "../../components/shell/sections.tsx";

const SECTIONS: readonly Section[] = [
  { to: "/settings", label: "Profile", icon: UserRound, isFirst: true },
  { to: "/settings/security", label: "Security", icon: ShieldCheck },
  { to: "/settings/tokens", label: "Tokens", icon: KeySquare },
  { to: "/settings/webhooks", label: "Webhooks", icon: Webhook },
  { to: "/settings/members", label: "Members", icon: Users },
  { to: "/settings/account", label: "Account", icon: Wallet },
  { to: "/settings/appearance", label: "Appearance", icon: Palette },
];

export function SettingsScreen() {
  const tabTitle = useTabTitle("Settings", SECTIONS);
  return (
    <Page title="Settings" tabTitle={tabTitle}>
      <Sections label="Settings" sections={SECTIONS}>
        <Outlet />
      </Sections>
    </Page>
  );
}
