import { Type } from 'typebox'
import type { WorkerHealthCheck } from './health/check.js'
import type { WorkerProcessor } from './processors/processor.js'

/** Options of `workers()`. */
export interface WorkersOptions {
  /** Folders that processor files must lie in; relative ones start at the folder of `zin.config.ts`. Default: `processors`. */
  readonly processorRoots?: readonly string[]
  /** Worker name → its processor: a function, or a file path. */
  readonly processors?: Readonly<Record<string, WorkerProcessor | string>>
  /** Worker name, or `name@version` → its health check. */
  readonly healthChecks?: Readonly<Record<string, WorkerHealthCheck>>
  /** URL → the code behind it, compiled in: a record whose processor is exactly this text runs it, with no fetch. */
  readonly prebuilt?: Readonly<Record<string, WorkerProcessor>>
  /** `edge`: nothing is loaded, so files, and URLs that are not prebuilt, are refused. Default `node`. */
  readonly runtime?: 'node' | 'edge'
  /** `memoryMb`: heap of one thread or process that runs a processor, 16–65536. Default 256. */
  readonly sandbox?: { readonly memoryMb?: number }
  /** D1-style binding of the driver `edge-sql`. */
  readonly edgeSql?: unknown
  /** How long a job of a process that died is left alone before another takes it up, in ms. Default 30000. */
  readonly jobLockMs: number
  /** How often a job may lose its process and still be given to another, 0–100; then it fails. Default 3. */
  readonly maxStalls: number
}

export const workersOptions = {
  schema: Type.Object(
    {
      processorRoots: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
      // A function has no JSON schema: it is told from a path when it is registered.
      processors: Type.Optional(Type.Object({}, { additionalProperties: true })),
      healthChecks: Type.Optional(Type.Object({}, { additionalProperties: true })),
      prebuilt: Type.Optional(Type.Object({}, { additionalProperties: true })),
      sandbox: Type.Optional(
        Type.Object({ memoryMb: Type.Optional(Type.Integer({ minimum: 16, maximum: 65_536 })) }, { additionalProperties: false }),
      ),
      // A binding has no JSON schema: it is checked when its store is opened.
      edgeSql: Type.Optional(Type.Unknown()),
      jobLockMs: Type.Integer({ minimum: 1000, maximum: 600_000 }),
      maxStalls: Type.Integer({ minimum: 0, maximum: 100 }),
      runtime: Type.Optional(Type.Union([Type.Literal('node'), Type.Literal('edge')])),
    },
    { additionalProperties: false },
  ),
  defaults: { jobLockMs: 30_000, maxStalls: 3 } as WorkersOptions,
}
