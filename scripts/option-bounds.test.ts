import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as plugins from 'zin/plugins'
import { createTestHost } from 'zin/testing'

interface Bounded {
  readonly type?: string
  readonly minimum?: number
  readonly maximum?: number
}

interface Factory {
  (options: object): Parameters<typeof createTestHost>[0] extends { plugins?: readonly (infer P)[] } | undefined ? P : never
  readonly spec: {
    readonly name: string
    readonly options?: { readonly schema: { readonly properties?: Readonly<Record<string, Bounded>> } }
  }
}

const factories = Object.values(plugins).filter((one) => typeof one === 'function' && 'spec' in one) as unknown as Factory[]

describe('a number outside of the bounds of its option stops the boot, with a line that names it', () => {
  for (const factory of factories)
    for (const [option, { minimum, maximum }] of Object.entries(factory.spec.options?.schema.properties ?? {})) {
      const outside = [...(minimum === undefined ? [] : [minimum - 1]), ...(maximum === undefined ? [] : [maximum + 1])]
      for (const value of outside)
        it(`${factory.spec.name}({ ${option}: ${value} })`, async () => {
          await assert.rejects(createTestHost({ plugins: [factory({ [option]: value })] }), new RegExp(`\\b${option}\\b`))
        })
    }
})
