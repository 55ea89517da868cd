/** The package has no types; these are the parts that tests use. */
declare module "@20minutes/s3rver" {
  import type { AddressInfo } from "node:net";

  class S3rver {
    constructor(options: object);
    configureBuckets(): Promise<void>;
    run(): Promise<AddressInfo>;
    close(): Promise<void>;
  }
  export = S3rver;
}
