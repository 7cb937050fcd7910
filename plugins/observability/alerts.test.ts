import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { alertQueries, folder } from './testing/queries.js'

describe('the alert rules', () => {
  it('each have tests in which they fire and do not fire', () => {
    const tests = readFileSync(new URL('testing/alert-tests.yml', folder), 'utf8')
    const untested = alertQueries().filter(({ of }) => {
      const fires = new RegExp(`alertname: ${of}\\n +exp_alerts:\\n +- exp_labels:`)
      return !tests.includes(`alertname: ${of}, exp_alerts: [] }`) || !fires.test(tests)
    })
    assert.deepEqual(untested, [])
  })

  it('are as many as the README says', () => {
    assert.match(readFileSync(new URL('README.md', folder), 'utf8'), new RegExp(` ${alertQueries().length} alert rules `))
  })

  const promtool = (args: readonly string[]) =>
    spawnSync('promtool', args, { cwd: fileURLToPath(folder), encoding: 'utf8', timeout: 60_000 })
  // Only where promtool is installed (Debian: apt-get install prometheus).
  if (promtool(['--version']).error === undefined) {
    for (const [what, ...args] of [
      ['are valid', 'check', 'rules', '--lint-fatal', 'prometheus/alerts.yml'],
      ['belong to a valid configuration', 'check', 'config', '--lint-fatal', 'prometheus/prometheus.yml'],
      ['pass their tests', 'test', 'rules', 'testing/alert-tests.yml'],
    ] as const) {
      it(what, () => {
        const { status, stderr, stdout } = promtool(args)
        assert.equal(status, 0, stdout + stderr)
      })
    }
  }
})
