import { Type } from 'typebox'
import type { WorkerProcessor } from './types.js'

/** Options of `workers()`. */
export interface WorkersOptions {
  /** Folders that processor files must lie in; relative ones start at the folder of `zin.config.ts`. Default: that folder. */
  readonly processorRoots?: readonly string[]
  /** Worker name → its processor: a function, or a file path. */
  readonly processors?: Readonly<Record<string, WorkerProcessor | string>>
}

export const workersOptions = {
  schema: Type.Object(
    {
      processorRoots: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
      // A function has no JSON schema: it is told from a path when it is registered.
      processors: Type.Optional(Type.Object({}, { additionalProperties: true })),
    },
    { additionalProperties: false },
  ),
  defaults: {} as WorkersOptions,
}
