import { defineOptions, type OptionsOf, type Static, Type } from 'zin'

const text = Type.String({ minLength: 1 })

const rdbConnection = Type.Object(
  {
    driver: Type.Literal('rdb'),
    host: Type.Optional(text),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
    database: Type.Optional(text),
    username: Type.Optional(text),
    password: Type.Optional(Type.String()),
    poolLimit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  },
  { additionalProperties: false },
)

const sqliteConnection = Type.Object({ driver: Type.Literal('sqlite'), file: Type.Optional(text) }, { additionalProperties: false })

/** A further MySQL or MariaDB server. Omitted fields have the defaults of their settings: `host` is `localhost`, as `DB_HOST`. */
export type RdbConnectionOptions = Readonly<Static<typeof rdbConnection>>

/** A further SQLite file; `file` is relative to the data directory, default `<name>.db`. */
export type SqliteConnectionOptions = Readonly<Static<typeof sqliteConnection>>

export type DatabaseOptions = OptionsOf<typeof databaseOptions>

export const databaseOptions = defineOptions(
  Type.Object({
    connections: Type.Record(Type.String(), Type.Union([rdbConnection, sqliteConnection]), {
      propertyNames: { pattern: '^(?!default$)[a-z][a-z0-9_-]{0,39}$' },
      default: {},
      description:
        "Further connections for `tables(name)`: `{ reports: { driver: 'rdb', host, port, database, username, password, poolLimit } }` or `{ cache: { driver: 'sqlite', file } }`. Omitted fields have the defaults of the settings below; `file` is relative to the data directory and `<name>.db` by default",
    }),
  }),
)
