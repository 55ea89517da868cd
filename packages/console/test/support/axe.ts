import axe from "axe-core";
import type { Page } from "playwright-core";

/** What axe calls serious or critical on the page as it is now. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const scope = globalThis as unknown as { axe: typeof axe };
    const { violations } = await scope.axe.run({ resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  });
}

/** Opens each path and waits until it shows what it has. */
export async function faultsOfPages(page: Page, url: string, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    await page.goto(url + path);
    await page.locator("h1, h2").first().waitFor();
    await page.waitForLoadState("networkidle");
    found.push(...(await seriousFaults(page)).map((fault) => `${path} ${fault}`));
  }
  return found;
}
