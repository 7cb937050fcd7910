import assert from 'node:assert/strict'
import { it } from 'node:test'
import { desired, stored } from '../testing/stored-worker.js'
import { GivenUp, Loads } from './loads.js'

const worker = (changes: Partial<ReturnType<typeof desired>> = {}, generation = 1) => ({
  ...stored('mail', { desired: desired({ state: 'running', ...changes }) }),
  generation,
})

/** Whether a load is given up when its worker becomes `next`. */
async function isGivenUp(kind: 'start' | 'switch' | 'candidates', next: ReturnType<typeof worker>, stops = false): Promise<boolean> {
  const loads = new Loads()
  let loaded: () => void = () => undefined
  const loading = loads.run(kind, worker(), (signal) => {
    return new Promise<void>((resolve, reject) => {
      loaded = resolve
      // A load that turns the abort into an error of its own.
      signal.addEventListener('abort', () => reject(new Error('not healthy')))
    })
  })
  loads.review(next, stops)
  loaded()
  return loading.then(
    () => false,
    (error: unknown) => error instanceof GivenUp,
  )
}

const rows: readonly (readonly [
  title: string,
  kind: 'start' | 'switch' | 'candidates',
  next: ReturnType<typeof worker>,
  stops: boolean,
  given: boolean,
])[] = [
  ['a stop ends a start', 'start', worker({ state: 'stopped' }, 2), true, true],
  ['a stop ends a switch', 'switch', worker({ state: 'stopped' }, 2), true, true],
  ['a stop ends the load of a candidate', 'candidates', worker({ state: 'stopped' }, 2), true, true],
  ['a drain ends a start although the worker has not changed', 'start', worker(), true, true],
  ['a pause ends a switch', 'switch', worker({ paused: true }, 2), false, true],
  ['a pause ends the load of a candidate', 'candidates', worker({ paused: true }, 2), false, true],
  ['a pause leaves a start, which begins paused', 'start', worker({ paused: true }, 2), false, false],
  ['another version ends a start', 'start', worker({ version: '2.0.0' }, 2), false, true],
  ['another version ends a switch', 'switch', worker({ version: '2.0.0' }, 2), false, true],
  ['other candidates end the load of a candidate', 'candidates', worker({ candidates: ['2.0.0'] }, 2), false, true],
  ['other candidates leave a switch', 'switch', worker({ candidates: ['2.0.0'] }, 2), false, false],
  ['any other change leaves a start', 'start', worker({ starts: 1 }, 2), false, false],
  ['an older state leaves a switch', 'switch', worker({ version: '2.0.0' }, 1), false, false],
]
for (const [title, kind, next, stops, given] of rows) {
  it(title, async () => assert.equal(await isGivenUp(kind, next, stops), given))
}

it('no load begins after the close', async () => {
  const loads = new Loads()
  loads.close()
  await assert.rejects(
    loads.run('start', worker(), async () => assert.fail('it began')),
    GivenUp,
  )
})
