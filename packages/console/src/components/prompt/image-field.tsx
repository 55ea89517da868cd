/** One image of a run: dropped, pasted, chosen from a file, photographed, or given by address. */
import { imageFromBytes, imageFromUrl } from "@promptd/client";
import { Camera, ImagePlus, Link2, X } from "lucide-react";
import { useEffect, useId, useRef, useState, type DragEvent } from "react";
import { formatBytes } from "../format.ts";
import type { FormImage } from "./prompt-form.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Input } from "../ui/field.tsx";

/** The types that the server accepts. */
const TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const BYTES_MAX = 10 * 1024 * 1024;

interface ImageFieldProps {
  readonly label: string;
  readonly help: string;
  readonly aside: string | undefined;
  readonly image: FormImage | null;
  readonly fault: string | undefined;
  /** True: this field receives images pasted anywhere on the page. */
  readonly takesPaste: boolean;
  readonly onChange: (image: FormImage | null) => void;
}

export function ImageField({ label, help, aside, image, fault, takesPaste, onChange }: ImageFieldProps) {
  const id = useId();
  const [refusal, setRefusal] = useState<string | null>(null);
  /** The address as typed; null when its field is closed. A valid address counts at once, so a run cannot miss it. */
  const [address, setAddress] = useState<string | null>(null);
  const isShown = image !== null && address === null;
  const group = useFocusAfterChange(isShown);
  const type = (text: string | null) => {
    setRefusal(text !== null && /^http:/i.test(text.trim()) ? NO_ADDRESS : null);
    setAddress(text);
    onChange(text === null ? null : imageOfAddress(text));
  };
  const take = async (file: File | undefined) => {
    if (file === undefined) return;
    const problem = await fileProblem(file);
    setRefusal(problem);
    if (problem !== null) return;
    setAddress(null);
    onChange(await readFile(file));
  };
  usePaste(takesPaste, take);
  const isTyped = address !== null && address.trim() !== "" && image === null;
  const note = refusal ?? (fault !== undefined && isTyped ? NO_ADDRESS : fault);
  return (
    <div ref={group} tabIndex={-1} role="group" aria-labelledby={`${id}-label`} className="grid gap-1 rounded-2">
      <div className="flex items-baseline justify-between gap-3">
        <span id={`${id}-label`} className="font-medium [overflow-wrap:anywhere]">
          {label}
        </span>
        {aside === undefined ? null : <span className="text-12 text-dim">{aside}</span>}
      </div>
      {isShown ? (
        <Preview image={image} onRemove={() => onChange(null)} />
      ) : (
        <DropZone
          label={label}
          isBad={note !== undefined && note !== null}
          address={address}
          onFile={take}
          onAddress={type}
          onUse={() => (image === null ? setRefusal(NO_ADDRESS) : setAddress(null))}
        />
      )}
      {note === undefined || note === null ? (
        help === "" ? null : (
          <p className="text-12 text-dim">{help}</p>
        )
      ) : (
        <p role="alert" className="text-12 text-bad">
          {note}
        </p>
      )}
    </div>
  );
}

/** The focused button is removed with its container. Focus moves on so that the form still receives shortcuts. */
function useFocusAfterChange(hasImage: boolean) {
  const group = useRef<HTMLDivElement>(null);
  const had = useRef(hasImage);
  useEffect(() => {
    if (had.current === hasImage) return;
    had.current = hasImage;
    if (document.activeElement === document.body) group.current?.focus({ preventScroll: true });
  }, [hasImage]);
  return group;
}

const NO_ADDRESS = "Enter an image address that starts with https://, such as https://example.org/photo.jpg.";

/** Null: the text is not an image address, or not yet. */
function imageOfAddress(text: string): FormImage | null {
  const address = text.trim();
  const isFit = /^https:\/\/\S+\.\S+$/.test(address);
  return isFit ? { input: imageFromUrl(address), preview: "", name: address, bytes: null } : null;
}

/** Rounds up, in the unit of the limit, so that a file over the limit never shows the limit itself as its size. */
const inMebibytes = (bytes: number) => (Math.ceil((bytes / 1024 / 1024) * 10) / 10).toFixed(1);

async function fileProblem(file: File): Promise<string | null> {
  const { type, size } = file;
  if (!TYPES.includes(type)) return "This file is not a PNG, JPEG, WebP, or GIF. Choose another file.";
  if (size > BYTES_MAX) return `This file is ${inMebibytes(size)} MiB. The limit is 10 MiB. Choose a smaller file.`;
  // The browser derives the type from the file name only.
  try {
    (await createImageBitmap(file)).close();
    return null;
  } catch {
    return "This file is named like an image but cannot be read as one. Choose another file.";
  }
}

async function readFile(file: File): Promise<FormImage> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { input: imageFromBytes(bytes), preview: URL.createObjectURL(file), name: file.name, bytes: file.size };
}

type TakeFile = (file: File | undefined) => Promise<void>;

function usePaste(isOn: boolean, take: TakeFile): void {
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    if (!isOn) return undefined;
    const onPaste = (event: ClipboardEvent) => {
      const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
      if (file === undefined) return;
      event.preventDefault();
      void latest.current(file);
    };
    addEventListener("paste", onPaste);
    return () => removeEventListener("paste", onPaste);
  }, [isOn]);
}

interface DropZoneProps {
  readonly label: string;
  readonly isBad: boolean;
  /** Null when the address field is closed. */
  readonly address: string | null;
  readonly onFile: TakeFile;
  readonly onAddress: (text: string | null) => void;
  readonly onUse: () => void;
}

function DropZone({ label, isBad, address, onFile, onAddress, onUse }: DropZoneProps) {
  const file = useRef<HTMLInputElement>(null);
  const camera = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void onFile(event.dataTransfer.files[0]);
  };
  return (
    <div
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={cx(
        "grid justify-items-center gap-3 rounded-2 border border-dashed px-4 py-5 text-dim",
        isOver ? "border-accent bg-accent-soft" : isBad ? "border-bad" : "border-edge",
      )}
    >
      <p className="text-center">Drop or paste an image here</p>
      <div className="flex flex-wrap justify-center gap-2">
        <Button small onClick={() => file.current?.click()}>
          <ImagePlus aria-hidden className="size-3.5" strokeWidth={1.75} />
          Choose a file
        </Button>
        <Button small onClick={() => camera.current?.click()} className="pointer-fine:hidden">
          <Camera aria-hidden className="size-3.5" strokeWidth={1.75} />
          Take a photo
        </Button>
        <Button small onClick={() => onAddress(address === null ? "" : null)} aria-expanded={address !== null}>
          <Link2 aria-hidden className="size-3.5" strokeWidth={1.75} />
          Use an address
        </Button>
      </div>
      {address === null ? null : <AddressField text={address} isBad={isBad} onText={onAddress} onUse={onUse} />}
      <input
        ref={file}
        type="file"
        aria-label={`${label}: file`}
        accept={TYPES.join(",")}
        className="hidden"
        onChange={(event) => void onFile(event.target.files?.[0])}
      />
      <input
        ref={camera}
        type="file"
        aria-label={`${label}: photo`}
        accept="image/*"
        capture="environment"
        className="hidden"
        onChange={(event) => void onFile(event.target.files?.[0])}
      />
    </div>
  );
}

interface AddressFieldProps {
  readonly text: string;
  readonly isBad: boolean;
  readonly onText: (text: string) => void;
  readonly onUse: () => void;
}

function AddressField({ text, isBad, onText, onUse }: AddressFieldProps) {
  return (
    <div className="flex w-full gap-2">
      <Input
        aria-label="Image address"
        aria-invalid={isBad || undefined}
        type="url"
        placeholder="https://"
        autoFocus
        value={text}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
          event.preventDefault();
          onUse();
        }}
      />
      <Button onClick={onUse}>Use</Button>
    </div>
  );
}

function Preview({ image, onRemove }: { readonly image: FormImage; readonly onRemove: () => void }) {
  const [size, setSize] = useState<string | null>(null);
  const facts = [size, image.bytes === null ? "fetched when the run starts" : formatBytes(image.bytes)];
  return (
    <div className="flex items-center gap-3 rounded-2 border border-edge p-2">
      {image.preview === "" ? (
        <span className="grid size-14 shrink-0 place-items-center rounded-1 bg-sunk text-dim">
          <Link2 aria-hidden className="size-4" strokeWidth={1.75} />
        </span>
      ) : (
        <img
          src={image.preview}
          alt="Your image"
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setSize(`${naturalWidth} × ${naturalHeight}`)}
          className="size-14 shrink-0 rounded-1 object-cover"
        />
      )}
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{image.name}</p>
        <p className="text-12 text-dim tabular-nums">{facts.filter((fact) => fact !== null).join(" · ")}</p>
      </div>
      <Button tone="quiet" square aria-label="Remove image" title="Remove image" onClick={onRemove}>
        <X aria-hidden className="size-4" strokeWidth={1.75} />
      </Button>
    </div>
  );
}
