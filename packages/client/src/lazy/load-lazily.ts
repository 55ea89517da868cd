/** Whether a method returns an async iterator. */
type IsMany<Member> = Member extends (...given: never[]) => AsyncIterable<unknown> ? true : false;

/** All method names of a client, and whether each method returns an async iterator. */
type MethodsOf<Client> = { readonly [Name in keyof Client]: IsMany<Client[Name]> };

type Method = (...given: readonly unknown[]) => unknown;

/**
 * Clients whose methods are loaded when the first one is called: a page that only runs prompts never loads them.
 * @param clients every client with all of its methods.
 */
export function loadLazily<Clients extends object>(
  load: () => Promise<Clients>,
  clients: { readonly [Name in keyof Clients]: MethodsOf<Clients[Name]> },
): Clients {
  const loaders = mapEntries(clients, (client, methods) =>
    mapEntries(methods as Record<string, boolean>, (name, isMany) => {
      const find = async () => ((await load())[client as keyof Clients] as Record<string, Method>)[name] as Method;
      if (!isMany) return async (...given: unknown[]) => (await find())(...given);
      return async function* many(...given: unknown[]) {
        yield* (await find())(...given) as AsyncIterable<unknown>;
      };
    }),
  );
  return loaders as Clients;
}

function mapEntries<Value>(from: Readonly<Record<string, Value>>, to: (name: string, value: Value) => unknown): object {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, to(name, value)]));
}
