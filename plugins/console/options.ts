import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `webConsole()`. */
export type ConsoleOptions = OptionsOf<typeof consoleOptions>

const closed = { additionalProperties: false } as const

export const consoleOptions = defineOptions(
  Type.Object({
    port: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 65_535, description: 'Also serve the console on its own on this port, on the same address' }),
    ),
    auth: Type.Optional(
      Type.Object(
        { username: Type.String({ minLength: 1 }), password: Type.String({ minLength: 8 }) },
        {
          ...closed,
          description:
            '`{username, password}` for the console on `port`; required in production and unless the app listens on a loopback address only',
        },
      ),
    ),
    refreshInterval: Type.Integer({
      minimum: 1_000,
      maximum: 600_000,
      default: 5_000,
      description: 'How often pages poll data that no event stream delivers, in ms',
    }),
    readOnly: Type.Boolean({
      default: false,
      description: 'Hides all buttons that change something, and rejects such requests on `port`. Does not restrict the APIs themselves',
    }),
    region: Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: 'Region name shown next to the environment' })),
  }),
)
