import { defineOptions, type OptionsOf, Type } from 'zin'

export type OpsOptions = OptionsOf<typeof opsOptions>

const names = Type.Array(Type.String({ minLength: 1 }))

export const opsOptions = defineOptions(
  Type.Object({
    roles: Type.Array(Type.String({ minLength: 1 }), { default: ['admin'], description: 'Roles of tokens that pass the guard' }),
    permissions: Type.Record(Type.String(), names, {
      default: { 'workers:deploy': ['admin'] },
      description: 'Permission → roles that have it. A permission that is not listed comes with passing the guard',
    }),
  }),
)
