/** Starting points for new prompts: small files that run as they are. Their roles mean the best enabled models. */
export interface Template {
  readonly name: string;
  readonly about: string;
  readonly modality: "text" | "image" | "video";
  readonly source: string;
}

const TEXT = `---
promptd: 1
title: Untitled text prompt
description: What it writes, in one sentence.
model: text-default
tags: [writing]
inputs:
  topic:
    label: Topic
    description: What to write about
    maxLength: 200
  tone:
    label: Tone
    options: [calm, lively]
    default: calm
samples:
  - inputs: { topic: tea }
---
Write two sentences about {{ topic }}.
The tone is {{ tone }}.
`;

const IMAGE = `---
promptd: 1
title: Untitled photo prompt
description: What it makes of a photo, in one sentence.
model: image-edit-default
tags: [photo]
images:
  - label: Photo
    description: A sharp photo in daylight
inputs:
  style:
    label: Style
    options:
      watercolor: "soft watercolor, visible paper, light washes"
      woodcut: "a two-color woodcut with rough edges"
    default: watercolor
options: { size: 1024x1024 }
---
Redraw the photo as {{ style }}.
Keep the subject, its pose, and the framing as they are.
`;

const PICTURE = `---
promptd: 1
title: Untitled image prompt
description: What it draws, in one sentence.
model: image-default
tags: [drawing]
inputs:
  subject:
    label: Subject
    description: What to draw
    maxLength: 200
  style:
    label: Style
    options: [watercolor, ink, poster]
    default: watercolor
options: { size: 1024x1024 }
---
Draw {{ subject }} as a {{ style }} illustration.
Keep the background plain, and put no words in the picture.
`;

const VIDEO = `---
promptd: 1
title: Untitled video prompt
description: What happens in the clip, in one sentence.
model: video-default
tags: [clip]
inputs:
  scene:
    label: Scene
    description: What the clip shows
    maxLength: 300
---
A short clip, one calm camera move: {{ scene }}.
`;

export const TEMPLATES: readonly Template[] = [
  { name: "Text", about: "Turns a topic and a tone into text.", modality: "text", source: TEXT },
  { name: "Image from text", about: "Turns a subject and a style into an image.", modality: "image", source: PICTURE },
  {
    name: "Image from a photo",
    about: "Turns a photo and a style into a new image.",
    modality: "image",
    source: IMAGE,
  },
  { name: "Video", about: "Turns a scene description into a short clip.", modality: "video", source: VIDEO },
];
