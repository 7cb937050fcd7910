import { Type } from 'typebox'

export interface OpsOptions {
  /** Roles of tokens that pass the guard. */
  readonly roles: readonly string[]
  /** Permission → roles that have it. A permission that is not listed comes with passing the guard. */
  readonly permissions: Readonly<Record<string, readonly string[]>>
}

const names = Type.Array(Type.String({ minLength: 1 }))

export const opsOptions = {
  schema: Type.Object({ roles: names, permissions: Type.Record(Type.String(), names) }, { additionalProperties: false }),
  defaults: { roles: ['admin'], permissions: { 'workers:deploy': ['admin'] } } as OpsOptions,
}
