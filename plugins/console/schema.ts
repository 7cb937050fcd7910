import { Type } from 'zin'

const open = { additionalProperties: true } as const
const text = Type.String()

export const bootResponse = Type.Object({
  app: Type.Object({ name: text, environment: text, production: Type.Boolean(), region: Type.Optional(text) }),
  caller: Type.Object({ kind: text, id: text }),
  may: Type.Object({
    write: Type.Boolean(),
    admin: Type.Boolean(),
    payload: Type.Boolean(),
    operate: Type.Boolean(),
    subjects: Type.Boolean(),
  }),
  readOnly: Type.Boolean(),
  refreshInterval: Type.Integer({ description: 'ms' }),
  plugins: Type.Array(text, { description: 'Names of the enabled plugins' }),
  modules: Type.Array(Type.Object({ plugin: text, url: text })),
})

export const pluginsResponse = Type.Object({
  plugins: Type.Array(Type.Object({ name: text }, open)),
  hooks: Type.Array(Type.Object({ name: text }, open)),
  routes: Type.Array(Type.Object({ method: text, path: text }, open)),
  settings: Type.Array(Type.Object({ name: text }, open)),
})

export const workersQuery = Type.Object(
  {
    q: Type.String({ minLength: 1, maxLength: 200, description: 'Part of a name, ignoring case' }),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  },
  { additionalProperties: false },
)

export const workersResponse = Type.Object({
  workers: Type.Array(Type.Object({ name: text, state: text })),
  total: Type.Integer({ description: 'Number of all matches' }),
  searched: Type.Integer({ description: 'Number of workers that were searched' }),
  complete: Type.Boolean({ description: 'Whether all workers were searched' }),
})
