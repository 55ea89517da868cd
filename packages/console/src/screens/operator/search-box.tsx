import type { ReactNode } from "react";
import { SearchInput } from "../../components/ui/field.tsx";
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
        className="w-full sm:w-96"
        onSubmit={(event) => {
          event.preventDefault();
          const text = textOf(new FormData(event.currentTarget), "q").trim();
          onSearch(text === "" ? undefined : text);
        }}
      >
        <SearchInput
          key={value}
          name="q"
          label={label}
          defaultValue={value}
          onChange={({ target }) => target.value === "" && value !== "" && onSearch(undefined)}
        />
      </form>
      {children}
    </div>
  );
}
