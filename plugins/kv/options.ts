import { defineOptions, type OptionsOf, Type } from 'zin'

export type KvOptions = OptionsOf<typeof kvOptions>

export const kvOptions = defineOptions(
  Type.Object({
    prefix: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._-]{1,64}$',
        description:
          'Begins every key in Redis, followed by `:kv:`. Default: the name of the app, blanks as `_`, with a hash when it has characters beyond ASCII letters, digits, `.`, `_` and `-`',
      }),
    ),
  }),
)
