import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `webConsole()`. */
export type ConsoleOptions = OptionsOf<typeof consoleOptions>

const closed = { additionalProperties: false } as const

export const consoleOptions = defineOptions(
  Type.Object({
    port: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 65_535, description: 'Also serve the console alone on this port of the same address' }),
    ),
    auth: Type.Optional(
      Type.Object(
        { username: Type.String({ minLength: 1 }), password: Type.String({ minLength: 8 }) },
        { ...closed, description: '`{username, password}` of the console on `port`; required unless the app listens on this machine only' },
      ),
    ),
    refreshInterval: Type.Integer({
      minimum: 1_000,
      maximum: 600_000,
      default: 5_000,
      description: 'How often pages read again what no stream tells them, in ms',
    }),
    readOnly: Type.Boolean({
      default: false,
      description: 'Pages have no buttons that change anything, and `port` refuses requests that do. Does not restrict the APIs themselves',
    }),
    region: Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: 'Shown beside the environment' })),
  }),
)
