import { NoSuchPage } from "../../components/shell/no-such-page.tsx";

export function NotFoundScreen() {
  return (
    <main className="grid min-h-dvh content-center">
      <NoSuchPage />
    </main>
  );
}
