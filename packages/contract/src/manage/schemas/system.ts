import { z } from "zod";
import { checkListQuery, runsFilter } from "../../schemas/list-runs.ts";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { uuidField } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import type {
  AccountDetail,
  CallOfRun,
  InstallationRun,
  InstallationRunRow,
  ListInstallationRunsQuery,
  ModelHealth,
  SystemState,
} from "../system.ts";
import { none, pageOf, textField } from "./request-fields.ts";
import { accountMembers, memberSchema } from "./members.ts";
import { creditsSchema } from "./credits-and-models.ts";
import { momentSchema, namesMembers, receiptSchema, rowMembers } from "./runs.ts";

const foundMembers = {
  ...rowMembers,
  accountId: idSchema,
  accountEmail: z.string(),
  cause: z.string().nullable(),
} as const;
const foundSchema: z.ZodType<InstallationRunRow> = z.strictObject(foundMembers);

const callSchema: z.ZodType<CallOfRun> = z.strictObject({
  attempt: countSchema,
  step: countSchema,
  item: countSchema,
  model: z.string(),
  provider: z.string(),
  sentAt: timeSchema,
  endedAt: timeSchema.nullable(),
  outcome: z.string().nullable(),
  httpStatus: z.int().nullable(),
  providerCode: z.string().nullable(),
  providerRequestId: z.string().nullable(),
  inputTokens: countSchema.nullable(),
  outputTokens: countSchema.nullable(),
});

const detailSchema: z.ZodType<InstallationRun> = z.strictObject({
  ...foundMembers,
  ...namesMembers,
  causeDetail: z.string().nullable(),
  runOptions: z.record(z.string(), z.string()),
  timeline: z.array(momentSchema),
  receipt: receiptSchema,
  calls: z.array(callSchema),
});

const healthSchema: z.ZodType<ModelHealth> = z.strictObject({
  model: z.string(),
  calls: countSchema,
  failed: countSchema,
  medianMs: countSchema.nullable(),
  lastFailure: z
    .strictObject({
      at: timeSchema,
      outcome: z.string(),
      httpStatus: z.int().nullable(),
      providerCode: z.string().nullable(),
    })
    .nullable(),
  history: z.array(z.strictObject({ calls: countSchema, failed: countSchema })),
});

const accountSchema: z.ZodType<AccountDetail> = z.strictObject({
  ...accountMembers,
  credits: creditsSchema,
  members: z.array(memberSchema),
});

const findQuery = z
  .object({
    ...runsFilter,
    id: uuidField("id").optional(),
    accountId: uuidField("accountId").optional(),
    model: textField("model", 200).optional(),
    cause: textField("cause", 100).optional(),
  })
  .check(checkListQuery) satisfies z.ZodType<ListInstallationRunsQuery>;

const systemSchema: z.ZodType<SystemState> = z.strictObject({
  version: z.string(),
  now: timeSchema,
  workers: z.array(
    z.strictObject({
      workerId: idSchema,
      host: z.string(),
      pid: z.int(),
      version: z.string(),
      isDraining: z.boolean(),
      startedAt: timeSchema,
      heartbeatAt: timeSchema,
      running: countSchema,
    }),
  ),
  queue: z.strictObject({ waiting: countSchema, oldestAt: timeSchema.nullable(), running: countSchema }),
  failures: z.array(z.strictObject({ cause: z.string(), model: z.string(), runs: countSchema })),
  mail: z.strictObject({
    waiting: countSchema,
    givenUp: countSchema,
    lastFault: z.strictObject({ text: z.string(), at: timeSchema }).nullable(),
  }),
  askedLinks: z.array(z.strictObject({ personId: idSchema, email: z.string(), askedAt: timeSchema })),
  operatorsWithoutSignIn: z.array(z.strictObject({ personId: idSchema, email: z.string() })),
  storage: z.strictObject({ databaseBytes: countSchema }),
});

export const systemSchemas = {
  getSystem: { params: none, query: none, body: null, data: systemSchema },
  listInstallationRuns: { params: none, query: findQuery, body: null, data: pageOf(foundSchema) },
  getInstallationRun: {
    params: z.object({ runId: uuidField("runId") }),
    query: none,
    body: null,
    data: detailSchema,
  },
  listModelHealth: { params: none, query: none, body: null, data: z.strictObject({ rows: z.array(healthSchema) }) },
  getAccount: {
    params: z.object({ accountId: uuidField("accountId") }),
    query: none,
    body: null,
    data: accountSchema,
  },
} satisfies Record<string, EndpointSchemas>;
