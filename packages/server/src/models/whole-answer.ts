/**
 * An answer that has come whole. Who looks into it reads `content` and hands it on as it is: to take the body of a Response,
 * and to make another one of it, costs 20 us each time (measured 2026-11).
 */
export class WholeAnswer extends Response {
  readonly content: Buffer<ArrayBuffer>;

  constructor(content: Buffer<ArrayBuffer>, init: ResponseInit) {
    super(content, init);
    this.content = content;
  }
}

/** Takes the body, unless it was taken already: only what this returns is to be read on. */
export async function wholeAnswer(answer: Response): Promise<WholeAnswer> {
  return answer instanceof WholeAnswer ? answer : new WholeAnswer(Buffer.from(await answer.arrayBuffer()), answer);
}
