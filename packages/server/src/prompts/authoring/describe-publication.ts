import type { PromptSource } from "../prompt-definition.ts";
import { describeUnknownId } from "../publishing/new-prompt-or-version.ts";
import type { Publication } from "../publishing/publish.ts";
import { describeSource } from "./validate-prompts.ts";

/**
 * Describes, in sentences, what publishing a file did that its author may not have intended. For an unchanged file, the
 * warnings about its content are left out.
 */
export function describePublication(source: PromptSource, publication: Publication): string[] {
  const { slug, promptId, outcome, replacedTitle, isPublishedAgain } = publication;
  const unknownId = describeUnknownId(source.promptId, promptId);
  return [
    ...(outcome === "unchanged" ? [] : describeSource(source)),
    // If two titles produce the same slug, the second file becomes a version of the first file's prompt.
    ...(replacedTitle === null
      ? []
      : [
          `It became a new version of the prompt ${slug} (${promptId}), previously titled "${replacedTitle}", because both titles produce the same slug. If they are two different prompts, add a "slug:" to this file and publish it again, then publish the older prompt's file again.`,
        ]),
    ...(isPublishedAgain
      ? [
          `The prompt ${slug} (${promptId}) had been unpublished and is now published again with all its versions. To undo this, unpublish it.`,
        ]
      : []),
    ...(outcome === "unchanged" || unknownId === null ? [] : [unknownId]),
  ];
}
