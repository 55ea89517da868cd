import encode from "qr";
import { useMemo } from "react";

interface QrCodeProps {
  readonly text: string;
  readonly label: string;
}

/** Dark on light in both themes, because not all cameras can read inverted codes. */
export function QrCode({ text, label }: QrCodeProps) {
  const rows = useMemo(() => encode(text, "raw", { border: 2 }), [text]);
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      shapeRendering="crispEdges"
      className="theme-light w-44 rounded-2 border border-line bg-panel text-ink"
    >
      <path d={path} fill="currentColor" />
    </svg>
  );
}
