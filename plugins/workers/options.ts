import { defineOptions, type OptionsOf, Type } from 'zin'
import type { WorkerHealthCheck } from './health/check.js'
import type { WorkerProcessor } from './processors/processor.js'
import type { CreateWorker } from './record/record.js'

/** Options of `workers()`. */
export type WorkersOptions = OptionsOf<typeof workersOptions>

/** Code by name. Code has no JSON schema, so each value is checked when it is registered. */
const byName = <T>(description: string) => Type.Record(Type.String(), Type.Unsafe<T>({}), { description })

export const workersOptions = defineOptions(
  Type.Object({
    declare: Type.Optional(
      Type.Array(Type.Unsafe<CreateWorker>({ type: 'object' }), {
        description: 'Workers that this app has, as in `Workers.declare`: created when absent, and changed where they differ',
      }),
    ),
    processorRoots: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        description:
          'Folders that processor files must be in; relative ones are resolved from the folder of `zin.config.ts`. Default: `processors`',
      }),
    ),
    processors: Type.Optional(byName<WorkerProcessor | string>('Worker name, or `name@version` → function or file path')),
    healthChecks: Type.Optional(byName<WorkerHealthCheck>('Worker name, or `name@version` → health check')),
    prebuilt: Type.Optional(
      byName<WorkerProcessor>('URL → its code, compiled in: a record whose processor is exactly this text runs it without a fetch'),
    ),
    runtime: Type.Optional(
      Type.Union([Type.Literal('node'), Type.Literal('edge')], {
        description: '`edge`: no code is loaded, so files, and URLs that are not prebuilt, are rejected. Default: `node`',
      }),
    ),
    sandbox: Type.Optional(
      Type.Object(
        { memoryMb: Type.Optional(Type.Integer({ minimum: 16, maximum: 65_536 })) },
        {
          additionalProperties: false,
          description: '`{ memoryMb }`: heap of one thread or process that runs a processor, 16 to 65536 MiB. Default: 256',
        },
      ),
    ),
    edgeSql: Type.Optional(Type.Unknown({ description: 'D1-style binding of the driver `edge-sql`; checked when its store is opened' })),
    blameJobs: Type.Optional(
      Type.Boolean({
        description:
          'Whether an error in inline code that nothing catches is charged to its job alone. Costs about a fifth of the throughput of short jobs before Node 24. Default: true on Node 24 and later',
      }),
    ),
    jobLockMs: Type.Integer({
      minimum: 1000,
      maximum: 600_000,
      default: 30_000,
      description: 'How long the lock of a job lasts without renewal, in ms; then another node may run the job',
    }),
    maxStalls: Type.Integer({
      minimum: 0,
      maximum: 100,
      default: 3,
      description: 'How many times a job may stall and be run again before it fails',
    }),
  }),
)
