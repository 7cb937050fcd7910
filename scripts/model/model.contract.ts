import { after, before, describe, it } from 'node:test'
import type { Env } from '../app-process.js'
import fc from '../testing/properties.js'
import { runModel } from './run.js'
import { sequences } from './steps.js'
import { type System, startSystem } from './system.js'

/** A few sequences of the model, of which `npm run model` drives many. */
export function modelContract(title: string, nodes: number, env: () => Env): void {
  describe(`workers and jobs, driven by random sequences of actions on ${title},`, () => {
    let system: System
    before(async () => {
      system = await startSystem(nodes, env())
    })
    after(() => system?.stop())

    const run = (kills: boolean, numRuns: number) =>
      fc.assert(
        fc.asyncProperty(sequences({ steps: 20, kills }), (steps) => runModel(system, steps)),
        { numRuns, endOnFailure: true },
      )

    it('report what ran, lose and double nothing, and end', () => run(false, 5))

    it('do so when processes end in the middle', () => run(true, 2))
  })
}
