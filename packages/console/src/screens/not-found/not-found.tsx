import { Missing } from "../../components/query-states.tsx";
import { Page } from "../../components/shell/page.tsx";

export function NotFoundScreen() {
  return (
    <main className="grid min-h-dvh content-center">
      <Page title="No such page" hasHead={false}>
        <Missing title="Page not found" to="/" label="Open the marketplace">
          Check the address. The page may have been deleted.
        </Missing>
      </Page>
    </main>
  );
}
