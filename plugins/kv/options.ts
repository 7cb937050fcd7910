import type { JsonSchema } from 'zin'

export interface KvOptions {
  /** Begins every key in Redis. Default: the app's name. */
  readonly prefix?: string
}

export const kvOptions: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    prefix: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$', description: 'Begins every key in Redis; default: the name of the app' },
  },
}

export const kvDefaults: KvOptions = {}
