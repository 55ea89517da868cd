/** Version of this release, as the packages carry it. */
export const VERSION = "0.1.0";
