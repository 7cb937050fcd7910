import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { NodeStatus } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import { nodeStatus } from '../testing/helpers.js'
import type { LocalWorker } from './local-worker.js'
import { StatusReports } from './status-reports.js'

/** A store whose writes take effect in the order in which they were sent, each after a turn of the event loop. */
function scene() {
  const stored = { states: new Map<string, string>(), busy: -1, down: false }
  let last: Promise<void> = Promise.resolve()
  const write = (statuses: readonly NodeStatus[], busy?: number): Promise<void> => {
    const done = last.then(async () => {
      await turn()
      if (stored.down) throw new Error('away')
      for (const { worker, state } of statuses) stored.states.set(worker, state)
      if (busy !== undefined) stored.busy = busy
    })
    last = done.catch(() => undefined)
    return done
  }
  const errors: unknown[] = []
  const shared = { report: (statuses: readonly NodeStatus[]) => write(statuses), restore: write } as unknown as SharedState
  return { errors, reports: new StatusReports(shared, (error) => errors.push(error)), stored }
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

function worker(name: string) {
  const now = { busy: 0, state: 'starting' as NodeStatus['state'] }
  return Object.assign(now, { status: () => nodeStatus(name, { draining: {}, ...now }) }) as unknown as LocalWorker & typeof now
}

it('a restore at any moment of a report neither brings earlier statuses and numbers back, nor leaves any out', async () => {
  for (let moment = 0; moment < 12; moment++) {
    const { reports, stored } = scene()
    const [mail, idle] = [worker('mail'), worker('idle')]
    await Promise.all([reports.add(mail), reports.add(idle)])
    Object.assign(mail, { busy: 1, state: 'running' })
    const written = [reports.add(mail), reports.refresh([mail, idle])]
    // The first ones are microtasks, before the report is sent; the others turns of the event loop, while it is on its way.
    for (let step = 0; step < moment; step++) await (moment < 6 ? undefined : turn())
    stored.states.clear()
    await Promise.all([...written, reports.restore()])
    await reports.refresh([mail, idle])
    const states = Object.fromEntries([...stored.states].sort())
    assert.deepEqual([states, stored.busy], [{ idle: 'starting', mail: 'running' }, 1], `moment ${moment}`)
  }
})

it('a restore that fails is repeated by the next report', async () => {
  const { errors, reports, stored } = scene()
  const mail = worker('mail')
  await reports.add(mail)
  stored.states.clear()
  stored.down = true
  assert.equal(await reports.restore(), false)
  assert.equal(errors.length, 1)
  stored.down = false
  assert.equal(await reports.refresh([mail]), true)
  assert.deepEqual([...stored.states], [['mail', 'starting']])
})

it('a number of jobs that is counted at any moment of a report is stored once that is confirmed', async () => {
  for (let moment = 0; moment < 12; moment++) {
    const { reports, stored } = scene()
    const mail = worker('mail')
    const written = reports.add(mail)
    for (let step = 0; step < moment; step++) await (moment < 6 ? undefined : turn())
    mail.busy = 3
    assert.equal(await reports.refresh([mail]), true)
    assert.equal(stored.busy, 3, `moment ${moment}`)
    await written
  }
})
