import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AttemptEnd } from 'zin/plugins/workers'
import { JobTraces } from './job-traces.js'

const end = (id: string) => ({ worker: 'mails', job: { id } }) as AttemptEnd

it('attempts whose end is never reported do not keep later ones from having an exemplar', () => {
  const traces = new JobTraces()
  for (let id = 0; id < 10_000; id++) traces.note('mails', String(id), `trace ${id}`)
  // Another attempt of the oldest job.
  traces.note('mails', '0', 'a later trace')
  traces.note('mails', 'next', 'the next trace')
  assert.deepEqual(
    ['next', '0', '1', '2'].map((id) => traces.take(end(id))),
    ['the next trace', 'a later trace', undefined, 'trace 2'],
  )
})
