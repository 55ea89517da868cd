import { Missing } from "../../components/query-states.tsx";

export function NotFoundScreen() {
  return (
    <main className="grid min-h-dvh content-center">
      <Missing title="There is no such page" to="/" label="Open the marketplace">
        The address is misspelled, or what it showed is gone.
      </Missing>
    </main>
  );
}
