import { Search } from "lucide-react";
import type { ReactNode } from "react";
import { Input } from "../../components/ui/field.tsx";
import { textOf } from "../../sign-in.ts";

interface SearchBoxProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onSearch: (text: string | undefined) => void;
  /** Beside the field. */
  readonly children?: ReactNode;
}

/** A search that begins with Enter: each one reads the database. */
export function SearchBox({ label, value = "", onSearch, children }: SearchBoxProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <form
        role="search"
        className="relative w-full sm:w-96"
        onSubmit={(event) => {
          event.preventDefault();
          const text = textOf(new FormData(event.currentTarget), "q").trim();
          onSearch(text === "" ? undefined : text);
        }}
      >
        <Search
          aria-hidden
          strokeWidth={1.75}
          className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-dim"
        />
        <Input
          key={value}
          type="search"
          name="q"
          aria-label={label}
          placeholder={label}
          defaultValue={value}
          maxLength={200}
          className="pl-8!"
        />
      </form>
      {children}
    </div>
  );
}
