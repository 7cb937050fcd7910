import type { JsonSchema } from 'zin'

/** A further MySQL or MariaDB server. */
export interface RdbConnectionOptions {
  readonly driver: 'rdb'
  /** Default `localhost`. */
  readonly host?: string
  /** Default 3306. */
  readonly port?: number
  /** Default `zin`. */
  readonly database?: string
  /** Default `root`. */
  readonly username?: string
  /** Default empty. */
  readonly password?: string
  /** Default 10. */
  readonly poolLimit?: number
}

/** A further SQLite file. */
export interface SqliteConnectionOptions {
  readonly driver: 'sqlite'
  /** Relative to the data directory. Default `<name>.db`. */
  readonly file?: string
}

export interface DatabaseOptions {
  /** Named connections beside `default`, for `tables(name)`. Default none. */
  readonly connections: Readonly<Record<string, RdbConnectionOptions | SqliteConnectionOptions>>
}

const text = { type: 'string', minLength: 1 }

export const databaseOptions: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    connections: {
      type: 'object',
      description: 'Named connections beside `default`',
      propertyNames: { pattern: '^(?!default$)[a-z][a-z0-9_-]{0,39}$' },
      additionalProperties: {
        type: 'object',
        required: ['driver'],
        oneOf: [
          {
            additionalProperties: false,
            properties: {
              driver: { const: 'rdb' },
              host: text,
              port: { type: 'integer', minimum: 1, maximum: 65_535 },
              database: text,
              username: text,
              password: { type: 'string' },
              poolLimit: { type: 'integer', minimum: 1, maximum: 1000 },
            },
          },
          { additionalProperties: false, properties: { driver: { const: 'sqlite' }, file: text } },
        ],
      },
    },
  },
}

export const databaseDefaults: DatabaseOptions = { connections: {} }
