import { Menu as Base } from "@base-ui/react/menu";
import type { LucideIcon } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { cx } from "./class-names.ts";

interface MenuProps {
  /** The button that opens it. */
  readonly trigger: ReactElement<Record<string, unknown>>;
  readonly children: ReactNode;
  readonly side?: "top" | "bottom";
  readonly align?: "start" | "end";
  /** True if the menu starts open, because opening it is what loaded it. */
  readonly isOpen?: boolean;
}

export function Menu({ trigger, children, side = "bottom", align = "end", isOpen = false }: MenuProps) {
  return (
    <Base.Root defaultOpen={isOpen}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner side={side} align={align} sideOffset={4} className="z-30">
          <Base.Popup className="min-w-52 animate-enter rounded-3 bg-float p-1 text-13 shadow-2 outline-none">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

interface MenuItemProps {
  readonly icon?: LucideIcon;
  readonly danger?: boolean;
  readonly aside?: ReactNode;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

export function MenuItem({ icon: Icon, danger = false, aside, onClick, children }: MenuItemProps) {
  return (
    <Base.Item
      onClick={onClick}
      className={cx(
        "flex min-h-8 cursor-pointer items-center gap-2.5 rounded-2 px-2 py-1 outline-none select-none data-highlighted:bg-press",
        danger && "text-bad",
      )}
    >
      {Icon === undefined ? null : (
        <Icon aria-hidden strokeWidth={1.75} className={cx("size-4 shrink-0", !danger && "text-dim")} />
      )}
      <span className="min-w-0 truncate">{children}</span>
      {aside === undefined ? null : <span className="ml-auto pl-4 text-12 text-dim">{aside}</span>}
    </Base.Item>
  );
}

export function MenuRule() {
  return <Base.Separator className="my-1 h-px bg-line" />;
}
