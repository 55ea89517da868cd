import { Missing } from "../../components/query-states.tsx";
import { Page } from "../../components/shell/page.tsx";

export function NotFoundScreen() {
  return (
    <main className="grid min-h-dvh content-center">
      <Page title="No such page" hasHead={false}>
        <Missing title="There is no such page" to="/" label="Open the marketplace">
          The address is misspelled, or what it showed is gone.
        </Missing>
      </Page>
    </main>
  );
}
