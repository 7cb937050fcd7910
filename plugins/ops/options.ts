import { defineOptions, type OptionsOf, Type } from 'zin'

export type OpsOptions = OptionsOf<typeof opsOptions>

const names = Type.Array(Type.String({ minLength: 1 }))

export const opsOptions = defineOptions(
  Type.Object({
    roles: Type.Array(Type.String({ minLength: 1 }), { default: ['admin'], description: 'Token roles that have access' }),
    permissions: Type.Record(Type.String(), names, {
      default: { 'workers:deploy': ['admin'] },
      description: 'Permission → roles that have it. A permission that is not listed is granted to every caller with access',
    }),
  }),
)
