import { defineOptions, type OptionsOf, Type } from 'zin'

export type KvOptions = OptionsOf<typeof kvOptions>

export const kvOptions = defineOptions(
  Type.Object({
    prefix: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._-]{1,64}$',
        description:
          'Prefix of every key in Redis, followed by `:kv:`. Default: the app name with spaces as `_`, plus a hash when it has characters other than ASCII letters, digits, `.`, `_` and `-`',
      }),
    ),
  }),
)
