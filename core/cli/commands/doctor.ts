import { configErrors } from '../../config/errors.js'
import { findConfig } from '../../config/load.js'
import { messageOf } from '../../errors.js'
import { BootError } from '../../host/boot-error.js'
import { checkConfig } from '../../host/check-config.js'
import { defineCommand } from '../../host/command.js'
import { pluginsOf } from '../../host/plugin-list.js'
import { withDeadline } from '../../util/deadline.js'
import type { Finding, StoreInfo } from '../../util/stores.js'
import { type OpenApp, openApp } from '../open-app.js'
import { storesOf } from '../stores-of.js'

/** How long the check of one store may take, in ms. */
const checkMs = 20_000

export const doctorCommand = defineCommand({
  name: 'doctor',
  summary:
    'Check versions, configuration, permissions, disk space, and whether the stores respond, let the app write and have the right time',
  // It opens the app itself: an app that cannot be opened is one of the problems.
  needs: 'nothing',
  json: true,
  async run({ cwd, print }) {
    const found = await findConfig(cwd)
    if (found === undefined) throw configErrors.ZIN_CONFIG_MISSING(cwd)
    const { checkVersions } = await import('../doctor.js')
    const findings = [...(await checkVersions(found.rootDir))]
    try {
      const app = await openApp({ cwd, environment: process.env, roles: [] })
      try {
        findings.push(...(await print.waiting('the stores', examine(app))))
      } finally {
        await app.close()
      }
    } catch (error) {
      findings.push(...configurationProblems(error))
    }
    const rows = findings.map(({ check, message, fix }) => ({
      state: fix === undefined ? 'ok' : 'problem',
      check,
      message,
      ...(fix && { fix }),
    }))
    if (print.json) print.table(rows)
    else
      for (const { state, check, message, fix } of rows)
        print.line(`${state.padEnd(8)} ${check}: ${message}${fix === undefined ? '' : `. ${fix}`}`)
    return rows.every(({ state }) => state === 'ok') ? 0 : 1
  },
})

async function examine({ host, loaded }: OpenApp): Promise<readonly Finding[]> {
  const { checkFiles, checkPackages } = await import('../doctor.js')
  const { rootDir, dataDir } = host.view.app
  const specs = pluginsOf(checkConfig(loaded.exported, loaded.file)).map(({ spec }) => spec)
  const problems = host.view.problems()
  const configuration = problems.map((message) => ({
    check: 'configuration',
    message,
    fix: 'Correct it, and run this again to check the stores',
  }))
  // Where the configuration is wrong, stores would be those of the defaults.
  const { stores, failures } = problems.length > 0 ? { stores: [], failures: [] } : await storesOf((name) => host.slot(name))
  return [
    ...(await checkPackages(specs, rootDir)),
    ...(problems.length > 0 ? configuration : [{ check: 'configuration', message: 'it is complete' }]),
    ...(await checkFiles(rootDir, dataDir)),
    ...failures.map(({ plugin, reason }) => ({ check: `stores of ${plugin}`, message: reason, fix: 'Correct the plugin' })),
    ...merged((await Promise.all(stores.map(checkStore))).flat()),
  ]
}

async function checkStore({ where, check }: StoreInfo): Promise<readonly Finding[]> {
  try {
    return await withDeadline(check(), checkMs, `it did not respond within ${checkMs} ms`)
  } catch (error) {
    return [{ check: where, message: messageOf(error), fix: 'Do what the message says, and try again' }]
  }
}

/** What several plugins found in the same store, once: every problem with another remedy, or that there is none. */
function merged(findings: readonly Finding[]): readonly Finding[] {
  const found = new Map<string, Finding>()
  const hasProblem = new Set(findings.filter(({ fix }) => fix !== undefined).map(({ check }) => check))
  for (const finding of findings) {
    const { check, fix } = finding
    if (fix === undefined && hasProblem.has(check)) continue
    const key = fix === undefined ? check : `${check}: ${fix}`
    if (!found.has(key)) found.set(key, finding)
  }
  return [...found.values()]
}

function configurationProblems(error: unknown): readonly Finding[] {
  const messages = error instanceof BootError ? (error.details as readonly string[]) : [messageOf(error)]
  return messages.map((message) => ({ check: 'configuration', message, fix: 'Correct it, and run this again for the other checks' }))
}
