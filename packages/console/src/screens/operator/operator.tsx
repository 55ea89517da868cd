import { useQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { Activity, Boxes, ListTree, ScrollText, ShieldAlert, Users, Wallet } from "lucide-react";
import { sessionQuery } from "../../api.ts";
import { NoSuchPage } from "../../components/shell/no-such-page.tsx";
import { Page } from "../../components/shell/page.tsx";
import { Sections, useTabTitle, type Section } from "../../components/shell/sections.tsx";

const SECTIONS: readonly Section[] = [
  { to: "/operator", label: "Overview", icon: Activity, isFirst: true },
  { to: "/operator/runs", label: "Runs", icon: ListTree },
  { to: "/operator/models", label: "Models", icon: Boxes },
  { to: "/operator/people", label: "People", icon: Users },
  { to: "/operator/accounts", label: "Accounts", icon: Wallet },
  { to: "/operator/prompts", label: "Prompts", icon: ShieldAlert },
  { to: "/operator/audit", label: "Audit", icon: ScrollText },
];

/** The whole installation. For everyone but operators, the page does not exist. */
export function OperatorScreen() {
  const { data: session } = useQuery(sessionQuery);
  const tabTitle = useTabTitle("Operator", SECTIONS);
  if (session === undefined) return null;
  if (!session.person.isOperator) return <NoSuchPage />;
  return (
    <Page title="Operator" tabTitle={tabTitle}>
      <Sections label="Operator" sections={SECTIONS}>
        <Outlet />
      </Sections>
    </Page>
  );
}
