import { defineOptions, type OptionsOf, Type } from 'zin'
import { lookEveryMs } from './judge/index.js'

/** Options of `canary()`. */
export type CanaryPluginOptions = OptionsOf<typeof canaryOptions>

export const canaryOptions = defineOptions(
  Type.Object({
    lookMs: Type.Integer({
      minimum: 50,
      maximum: 600_000,
      default: lookEveryMs,
      description: 'How often the leader evaluates a canary, in ms; after consecutive failures, it does so earlier',
    }),
    pollMs: Type.Integer({
      minimum: 50,
      maximum: 60_000,
      default: 5_000,
      description: 'How often a node reads the canaries, in ms, in case it missed a message',
    }),
    flushMs: Type.Integer({
      minimum: 20,
      maximum: 10_000,
      default: 1_000,
      description: 'How often a node stores its counts, in ms',
    }),
  }),
)
