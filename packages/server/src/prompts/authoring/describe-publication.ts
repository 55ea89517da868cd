import type { PromptSource } from "../prompt-definition.ts";
import { describeUnknownId } from "../publishing/new-prompt-or-version.ts";
import type { Publication } from "../publishing/publish.ts";
import { describeSource } from "./validate-prompts.ts";

/** What publishing a file did that its author may not have meant, as sentences. What it says was said when it was published. */
export function describePublication(source: PromptSource, publication: Publication): string[] {
  const { slug, promptId, outcome, replacedTitle, isPublishedAgain } = publication;
  const unknownId = describeUnknownId(source, publication);
  return [
    ...(outcome === "unchanged" ? [] : describeSource(source)),
    // Two titles may share the slug that is made from them, and the second is then a version of the first's prompt.
    ...(replacedTitle === null
      ? []
      : [
          `It became a new version of the prompt ${slug} (${promptId}), whose title was "${replacedTitle}", since both titles give that slug. If they are two prompts, give this one a "slug:" of its own in its file and publish it again, and publish the older one's file again.`,
        ]),
    ...(isPublishedAgain
      ? [
          `The prompt ${slug} (${promptId}) had been unpublished, and is published again with all its versions. Unpublish it to take that back.`,
        ]
      : []),
    ...(outcome === "unchanged" || unknownId === null ? [] : [unknownId]),
  ];
}
