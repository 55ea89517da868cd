/** A bounded memory of what took time to find: what was asked for least recently is forgotten first. */
export class Remembered<Value> {
  readonly #max: number;
  readonly #values = new Map<string, Value>();

  constructor(max: number) {
    this.#max = max;
  }

  find(key: string): Value | null {
    const value = this.#values.get(key);
    if (value === undefined) return null;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const oldest = this.#values.keys().next();
    if (this.#values.size > this.#max && oldest.done !== true) this.#values.delete(oldest.value);
  }
}
