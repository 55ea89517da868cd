/** A drawn cover. The hash of an id picks the family, the hue, and every length, so an id always gives the same picture. */
import { useMemo, type CSSProperties, type ReactNode } from "react";

const HUES = [28, 55, 82, 118, 150, 182, 214, 246, 292, 345] as const;
const W = 320;
const H = 200;

type Random = () => number;

/** Mulberry32, seeded by FNV-1a of the text: small, and deterministic everywhere. */
function seeded(text: string): Random {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  let state = hash >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const TONES = ["cover-0", "cover-1", "cover-2", "cover-3", "cover-4", "cover-5"] as const;
const tone = (index: number) => TONES[index % TONES.length] ?? TONES[0];
const between = (random: Random, min: number, max: number) => min + random() * (max - min);

function strata(random: Random): ReactNode[] {
  const slant = between(random, 20, 90);
  const bands: ReactNode[] = [];
  for (let x = -slant; x < W + slant;) {
    const width = between(random, 12, 46);
    // Under the next band, because the ground would show between their edges.
    const end = x + width + 4;
    const points = `${x + slant},0 ${end + slant},0 ${end},${H} ${x},${H}`;
    bands.push(<polygon key={x} className={tone(Math.floor(random() * 6))} points={points} />);
    x += width;
  }
  return bands;
}

function arcs(random: Random): ReactNode[] {
  const cx = between(random, 90, 230);
  const count = 5;
  return Array.from({ length: count }, (_, index) => (
    <circle key={index} className={tone(index === count - 1 ? 5 : index + 1)} cx={cx} cy={H} r={190 - index * 36} />
  ));
}

function wave(random: Random, y: number, height: number): string {
  let path = `M0 ${H}V${y}`;
  for (let x = 0; x < W; x += 80) path += `q20 ${-between(random, 2, height)} 40 0t40 0`;
  return `${path}V${H}z`;
}

function folds(random: Random): ReactNode[] {
  const sun = (
    <circle key="sun" className="cover-5" cx={between(random, 60, 260)} cy={between(random, 45, 75)} r={26} />
  );
  const hills = [1, 2, 3, 4].map((index) => (
    <path key={index} className={tone(index)} d={wave(random, 72 + index * 24, 22)} />
  ));
  return [sun, ...hills];
}

function contours(random: Random): ReactNode[] {
  const [cx, cy] = [between(random, 90, 230), between(random, 70, 130)];
  const angle = between(random, -30, 30);
  return Array.from({ length: 12 }, (_, index) => (
    <ellipse
      key={index}
      className={index === 11 ? "cover-2" : "cover-line"}
      cx={cx + index * 1.5}
      cy={cy}
      rx={250 - index * 20}
      ry={160 - index * 12.5}
      transform={`rotate(${angle + index * 3} ${cx} ${cy})`}
    />
  ));
}

function tiles(random: Random): ReactNode[] {
  const size = 40;
  const grounds: ReactNode[] = [];
  const quarters: ReactNode[] = [];
  for (let x = 0; x < W; x += size) {
    for (let y = 0; y < H; y += size) {
      const ground = Math.floor(random() * 6);
      const degrees = Math.floor(random() * 4) * 90;
      const key = `${x} ${y}`;
      // Both overlap their neighbors, because what is below would show between their edges.
      grounds.push(
        <rect key={`g${key}`} className={tone(ground)} x={x} y={y} width={size + 0.5} height={size + 0.5} />,
      );
      quarters.push(
        <path
          key={`q${key}`}
          className={tone(ground + 1 + Math.floor(random() * 4))}
          d={`M${x - 0.5} ${y - 0.5}h${size + 0.5}v0.5a${size} ${size} 0 0 1 ${-size} ${size}h-0.5z`}
          transform={`rotate(${degrees} ${x + size / 2} ${y + size / 2})`}
        />,
      );
    }
  }
  return [...grounds, ...quarters];
}

const FAMILIES = [strata, arcs, folds, contours, tiles] as const;

interface DrawnCoverProps {
  readonly seed: string;
  readonly isVideo?: boolean;
}

export function DrawnCover({ seed, isVideo = false }: DrawnCoverProps) {
  const { hue, drawing } = useMemo(() => draw(seed), [seed]);
  const style = { "--h": String(hue) } as CSSProperties;
  return (
    <svg aria-hidden viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="xMidYMid slice" className="size-full" style={style}>
      <rect className="cover-0" width={W} height={H} />
      {drawing}
      {isVideo
        ? [1, 2, 3].map((part) => <rect key={part} className="cover-5" x={part * 80 - 1} width={2} height={H} />)
        : null}
    </svg>
  );
}

function draw(seed: string): { readonly hue: number; readonly drawing: ReactNode[] } {
  const random = seeded(seed);
  const hue = HUES[Math.floor(random() * HUES.length)] ?? HUES[0];
  const family = FAMILIES[Math.floor(random() * FAMILIES.length)] ?? strata;
  return { hue, drawing: family(random) };
}
