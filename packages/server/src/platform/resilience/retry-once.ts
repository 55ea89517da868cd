/** Two attempts at most: the second one when the error of the first says that it may succeed. */
export async function retryOnce<Result>(
  attempt: () => Promise<Result>,
  mayRetry: (error: unknown) => boolean,
): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    if (!mayRetry(error)) throw error;
    return attempt();
  }
}
