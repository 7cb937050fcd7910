import { defineOptions, type OptionsOf, Type } from 'zin'
import type { EdgeBinding } from './worker/d1.js'

/** Options of `edgeProxy()`. */
export type EdgeProxyOptions = OptionsOf<typeof edgeProxyOptions>

export const edgeProxyOptions = defineOptions(
  Type.Object({
    binding: Type.Optional(
      Type.Unsafe<EdgeBinding>({
        description: 'D1-style binding with `prepare` and `batch`. Default: the SQLite file `edge.db` in the data folder',
      }),
    ),
  }),
)
