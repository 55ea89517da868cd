import { BlockShapes, Loading, Skeleton } from "../ui/skeleton.tsx";

/** Placeholder while a screen's script loads: a title and two columns, like most screens. */
export function ScreenShapes() {
  return (
    <Loading what="the page">
      <div className="mx-auto grid w-full max-w-[1320px] gap-6">
        <Skeleton className="h-7 w-48" />
        <BlockShapes className="lg:grid-cols-2" heights={[["h-96"], ["h-64"]]} />
      </div>
    </Loading>
  );
}
