import type { ReactNode } from "react";
import { SearchForm } from "../../components/ui/field.tsx";

interface SearchBoxProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onSearch: (text: string | undefined) => void;
  /** Beside the field. */
  readonly children?: ReactNode;
}

/** What narrows a list of the installation. */
export function SearchBox({ label, value, onSearch, children }: SearchBoxProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchForm label={label} value={value} className="w-full sm:w-96" onSearch={onSearch} />
      {children}
    </div>
  );
}
