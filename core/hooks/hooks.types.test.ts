import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type Collect, deny, type First, type Gate, type HookSpecs, type Notify, type PluginHooks, type Settle, type Waterfall } from 'zin'

interface TypesTestHooks {
  onTypesTest: Notify<[worker: string, job: { readonly id: string; readonly tags: readonly string[] }]>
  onTypesTestStop: Settle<[worker: string]>
  collectTypesTest: Collect<[], number>
  resolveTypesTest: First<[keyId: string], string>
  transformTypesTest: Waterfall<{ readonly delay: number }, [worker: string]>
  beforeTypesTest: Gate<[worker: string]>
}

declare module 'zin' {
  interface HookMap extends TypesTestHooks {}
}

const specs = {
  onTypesTest: { kind: 'notify', args: ['worker', 'job'], summary: 'x' },
  onTypesTestStop: { kind: 'settle', args: ['worker'], summary: 'x' },
  collectTypesTest: { kind: 'collect', args: [], summary: 'x' },
  resolveTypesTest: { kind: 'first', args: ['keyId'], summary: 'x' },
  transformTypesTest: { kind: 'waterfall', args: ['options', 'worker'], summary: 'x' },
  beforeTypesTest: { kind: 'gate', args: ['worker'], summary: 'x' },
} satisfies HookSpecs<TypesTestHooks>

// @ts-expect-error a hook is missing
export const missing = {} satisfies HookSpecs<Pick<TypesTestHooks, 'onTypesTest'>>
// @ts-expect-error the kind is not the declared one
export const wrongKind = { onTypesTest: { kind: 'gate', args: [], summary: 'x' } } satisfies HookSpecs<Pick<TypesTestHooks, 'onTypesTest'>>

/** Never run: the compiler checks it. */
export function listeners(hooks: PluginHooks): void {
  hooks.on('onTypesTest', (worker, job) => worker.length + job.id.length)
  hooks.on('onTypesTest', (worker) => worker)
  hooks.on('onTypesTest', async () => {})
  hooks.on('onTypesTest', { handler: (worker) => worker, order: 'pre', sequential: true })
  hooks.on('collectTypesTest', () => 1)
  hooks.on('resolveTypesTest', async (keyId) => (keyId === 'a' ? 'secret' : undefined))
  hooks.on('transformTypesTest', (options) => ({ ...options, delay: 1 }))
  hooks.on('transformTypesTest', () => {})
  hooks.on('beforeTypesTest', (worker) => (worker === 'a' ? deny('busy') : undefined))
  // @ts-expect-error the hook is not declared
  hooks.on('onTypesTset', () => {})
  // @ts-expect-error the first argument is a string
  hooks.on('onTypesTest', (worker: number) => worker)
  // @ts-expect-error the hook has two arguments
  hooks.on('onTypesTest', (_worker, _job, extra) => extra)
  // @ts-expect-error arguments are shared and read-only
  hooks.on('onTypesTest', (_worker, job) => job.tags.push('x'))
  // @ts-expect-error a collect listener must return a value
  hooks.on('collectTypesTest', () => {})
  // @ts-expect-error the value has another type
  hooks.on('resolveTypesTest', () => 1)
  // @ts-expect-error a waterfall returns a value of its type
  hooks.on('transformTypesTest', () => ({ delay: 'soon' }))
  // @ts-expect-error a gate denies with deny(reason), not with false
  hooks.on('beforeTypesTest', () => false)
  // @ts-expect-error there are only two tiers to choose
  hooks.on('onTypesTest', { handler: () => {}, order: 5 })
}

/** Never run: the compiler checks it. */
export async function emitters(hooks: PluginHooks): Promise<void> {
  const job = { id: '1', tags: [] }
  const started = hooks.slot('onTypesTest')
  if (started.active) started.call('emails', job)
  const failures = await hooks.slot('onTypesTestStop').call('emails')
  failures[0]?.plugin.length.toFixed()
  const readings = await hooks.slot('collectTypesTest').call()
  const reading: number | Error | undefined = readings.get('audit')
  const secret: string | undefined = await hooks.slot('resolveTypesTest').call('k1')
  const { delay } = await hooks.slot('transformTypesTest').call({ delay: 1 }, 'emails')
  const verdict = await hooks.slot('beforeTypesTest').call('emails')
  if (verdict.denied) verdict.reason.concat(verdict.plugin, secret ?? '', String(reading), delay.toFixed())
  // @ts-expect-error the hook is unknown
  hooks.slot('onTypesTset')
  // @ts-expect-error an argument is missing
  started.call('emails')
  // @ts-expect-error an argument has the wrong type
  started.call(1, job)
  // @ts-expect-error only the bus sets the listeners
  started.active = true
  // @ts-expect-error a notification cannot be refused
  started.call('emails', job).denied
  // @ts-expect-error an open gate has no reason
  verdict.reason.length.toFixed()
  // @ts-expect-error what was collected may be an error
  readings.get('audit')?.toFixed()
}

it('has one spec for every declared hook', () => {
  assert.equal(Object.keys(specs).length, 6)
})
