import { Missing } from "../query-states.tsx";
import { Page } from "./page.tsx";

export function NoSuchPage() {
  return (
    <Page title="No such page" hasHead={false}>
      <Missing title="Page not found" to="/" label="Open the marketplace">
        Check the address. The page may have been deleted.
      </Missing>
    </Page>
  );
}
