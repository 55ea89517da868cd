import type { ReactNode } from "react";
import { SearchForm } from "../../components/ui/field.tsx";

interface SearchBoxProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onSearch: (text: string | undefined) => void;
  /** What the list contains, if its name does not make that clear. */
  readonly about?: string;
  /** Shown next to the field. */
  readonly children?: ReactNode;
}

/** The filters above an operator's list. */
export function SearchBox({ label, value, onSearch, about, children }: SearchBoxProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchForm label={label} value={value} className="w-full sm:w-96" onSearch={onSearch} />
      {children}
      {about === undefined ? null : <p className="w-full text-12 text-dim">{about}</p>}
    </div>
  );
}
