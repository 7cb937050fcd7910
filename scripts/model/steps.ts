import fc from '../testing/properties.js'

/** An action on the worker, its queue, one of its jobs, or a process. */
export type Action =
  | { readonly kind: 'start' | 'stop' | 'restart' | 'pause' | 'resume' }
  | { readonly kind: 'scale' | 'concurrency'; readonly to: number }
  | {
      readonly kind: 'add'
      readonly jobs: number
      /** How long an attempt takes, in ms. */
      readonly ms: number
      /** How many attempts fail. */
      readonly failures: number
      readonly attempts: number
      readonly delay: number
      readonly priority: number
    }
  | { readonly kind: 'flow'; readonly children: number; readonly ms: number; readonly failures: number }
  | { readonly kind: 'retry' | 'cancel' | 'promote' | 'delete' | 'duplicate' | 'repeat'; readonly job: number }
  | { readonly kind: 'retryAll' | 'cancelAll' }
  | { readonly kind: 'purge'; readonly status: 'completed' | 'failed' | 'waiting' | 'delayed' }
  | { readonly kind: 'purgeAndUndo'; readonly status: 'completed' | 'failed' | 'delayed' }
  | { readonly kind: 'pauseQueue' | 'resumeQueue' }
  | { readonly kind: 'kill' | 'end'; readonly node: number }
  | { readonly kind: 'settle' }

/** One or two actions at the same time, each sent to a process. */
export interface Step {
  readonly actions: readonly Action[]
  readonly nodes: readonly [number, number]
}

const only = <K extends Action['kind']>(...kinds: readonly K[]) => fc.record({ kind: fc.constantFrom(...kinds) })
const job = fc.nat(40)
const small = fc.constantFrom(0, 0, 0, 5, 20, 80)

const add = fc.record({
  kind: fc.constant('add' as const),
  jobs: fc.constantFrom(1, 1, 2, 8),
  ms: small,
  failures: fc.constantFrom(0, 0, 0, 1, 2, 9),
  attempts: fc.constantFrom(1, 1, 2, 3),
  delay: fc.constantFrom(0, 0, 0, 50, 300),
  priority: fc.constantFrom(1, 1, 1, 0, 5, 10),
})
const flow = fc.record({
  kind: fc.constant('flow' as const),
  children: fc.constantFrom(1, 2, 3),
  ms: small,
  failures: fc.constantFrom(0, 0, 9),
})

/** Actions that may run beside another one. */
const action = fc.oneof(
  { weight: 8, arbitrary: add },
  { weight: 2, arbitrary: flow },
  { weight: 6, arbitrary: only('start', 'stop', 'restart', 'pause', 'resume') },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('scale' as const, 'concurrency' as const), to: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('retry', 'cancel', 'promote', 'delete', 'duplicate', 'repeat'), job }) },
  { weight: 2, arbitrary: only('retryAll', 'cancelAll') },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('purge' as const), status: fc.constantFrom('completed', 'failed', 'waiting', 'delayed') }),
  },
  { weight: 2, arbitrary: only('pauseQueue', 'resumeQueue') },
) as fc.Arbitrary<Action>

const alone = fc.oneof(
  { weight: 3, arbitrary: only('settle') },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('purgeAndUndo' as const), status: fc.constantFrom('completed', 'failed', 'delayed') }),
  },
) as fc.Arbitrary<Action>

const disaster = fc.record({ kind: fc.constantFrom('kill' as const, 'end' as const), node: fc.nat(1) }) as fc.Arbitrary<Action>

/** Sequences of steps. With `kills`, processes end in the middle of them. */
export function sequences({ steps, kills }: { readonly steps: number; readonly kills: boolean }): fc.Arbitrary<readonly Step[]> {
  const nodes = fc.tuple(fc.nat(1), fc.nat(1))
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: fc.record({ actions: fc.array(action, { minLength: 1, maxLength: 2 }), nodes }) },
    { weight: 2, arbitrary: fc.record({ actions: alone.map((one) => [one]), nodes }) },
    ...(kills ? [{ weight: 1, arbitrary: fc.record({ actions: fc.tuple(disaster, action), nodes }) }] : []),
  )
  return fc.array(step, { minLength: 1, maxLength: steps, size: 'max' })
}

/** A sequence as text, one step a line. */
export function textOf(steps: readonly Step[]): string {
  const one = ({ kind, ...rest }: Action): string => (Object.keys(rest).length === 0 ? kind : `${kind} ${JSON.stringify(rest)}`)
  return steps
    .map(({ actions, nodes }) => `  ${actions.map((action, i) => `${one(action)} @${nodes[i as 0 | 1]}`).join('  ‖  ')}`)
    .join('\n')
}
