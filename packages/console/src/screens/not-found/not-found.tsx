import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { Empty } from "../../components/ui/empty.tsx";
import { buttonClass } from "../../components/ui/button.tsx";

export function NotFoundScreen() {
  return (
    <main className="grid min-h-dvh content-center">
      <Empty
        icon={Compass}
        title="There is no such page"
        act={
          <Link to="/" className={buttonClass()}>
            Open the marketplace
          </Link>
        }
      >
        The address is misspelled, or what it showed is gone.
      </Empty>
    </main>
  );
}
