import { readFile } from 'node:fs/promises'
import { type Command, defineCommand, messageOf, type Printer } from 'zin'
import { errorText } from 'zin/plugins/decisions'
import type { CanaryEvent, CanaryResult, CanaryView, PastCanary } from './contract.js'
import { canaryErrors } from './errors.js'

const named = [{ name: 'name', summary: 'Name of the worker' }]
const at = (name: string | undefined, verb: string): string => `/api/workers/${encodeURIComponent(name ?? '')}/canary/${verb}`
const waitOption = {
  wait: { type: 'int', summary: 'Seconds to wait until every node has applied the change', default: 10, min: 0, max: 60 },
} as const

/** Prints a result; returns exit code 1 if not every node has applied the change yet. */
function report(result: CanaryResult, print: Printer): number {
  const { canary, message } = result
  if (print.json) print.record({ ok: true, ...result })
  else {
    print.line(message)
    line(canary, print)
  }
  return ['PENDING', 'PROMOTING', 'ROLLING_BACK', 'FAILED_TO_START'].includes(canary.state) ? 1 : 0
}

function line({ canary, health, pausedFor, stable, state, step, steps, trafficPercentage }: CanaryView, print: Printer): void {
  const why = pausedFor === undefined ? '' : ` (${pausedFor})`
  print.line(`  ${state}${why}, step ${step} of ${steps.length}, ${trafficPercentage} % of the jobs, health ${health}`)
  for (const arm of [stable, canary]) {
    print.line(`  ${arm.version}: ${arm.jobs} jobs, ${arm.failed} failed, ${arm.slow} slow, ${arm.lost} lost`)
    for (const error of arm.errors) print.line(`    ${errorText(error)}`)
  }
}

function verb(name: 'pause' | 'resume' | 'promote' | 'complete', summary: string): Command {
  return defineCommand({
    name: `canary:${name}`,
    summary,
    args: named,
    needs: 'running app',
    route: `POST /api/workers/:name/canary/${name}`,
    json: true,
    options: waitOption,
    run: async ({ app, args, options: { wait }, print }) =>
      report(await app.request<CanaryResult>({ method: 'POST', path: at(args.name, name), ...waiting(wait) }), print),
  })
}

function waiting(seconds: number) {
  const waitMs = seconds * 1000
  return { query: { wait: waitMs }, timeoutMs: waitMs + 20_000, waitingFor: `every node to apply the change, up to ${seconds} s (--wait)` }
}

const start = defineCommand({
  name: 'canary:start',
  summary: 'Route a growing share of the jobs of a worker to a new version',
  args: [...named, { name: 'version', summary: 'Registered version, such as 1.1.0' }],
  needs: 'running app',
  route: 'POST /api/workers/:name/canary/start',
  json: true,
  options: {
    ...waitOption,
    traffic: {
      type: 'string',
      summary: 'Largest share of the jobs in percent, reached in the steps of 1, 5, 10, 25 and 50 below it',
      default: '20',
    },
    minutes: { type: 'int', summary: 'Total duration of all steps in minutes', default: 60, min: 1, max: 43_200 },
    steps: { type: 'string', summary: 'Rising shares in percent, such as 5,25' },
    file: {
      type: 'string',
      summary: 'JSON file with further fields of the request; its trafficPercentage and duration override --traffic and --minutes',
    },
    shield: {
      type: 'boolean',
      summary: 'Rerun jobs that fail on the new version on the stable one, without using up an attempt',
      default: false,
    },
    force: { type: 'boolean', summary: 'Start the canary even if the version was refused before', default: false },
  },
  run: async ({ app, args, options: { file, force, minutes, shield, steps, traffic, wait }, print }) => {
    const given = file === undefined ? {} : await readFields(file)
    const body = {
      trafficPercentage: number(traffic),
      duration: minutes * 60_000,
      ...given,
      newVersion: args.version,
      ...(steps === undefined ? {} : { steps: steps.split(',').map(number) }),
      ...(shield ? { shield } : {}),
      ...(force ? { force } : {}),
    }
    return report(await app.request<CanaryResult>({ method: 'POST', path: at(args.name, 'start'), body, ...waiting(wait) }), print)
  },
})

/** Reads fields of the request from a file. Throws INVALID_CANARY. */
async function readFields(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Readonly<Record<string, unknown>>
  } catch (error) {
    throw canaryErrors.INVALID_CANARY(`--file ${file} cannot be read as JSON: ${messageOf(error)}`)
  }
}

/** Converts text to a number; other text is passed on, and the app rejects it. */
function number(text: string): number | string {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}

const rollback = defineCommand({
  name: 'canary:rollback',
  summary: 'Roll back a canary; all jobs go to the stable version',
  args: named,
  needs: 'running app',
  route: 'POST /api/workers/:name/canary/rollback',
  json: true,
  options: { ...waitOption, reason: { type: 'string', summary: 'Reason, for the history' } },
  run: async ({ app, args, options: { reason, wait }, print }) => {
    const { query, ...limits } = waiting(wait)
    const request = { method: 'POST', path: at(args.name, 'rollback'), query: { ...query, reason }, ...limits } as const
    return report(await app.request<CanaryResult>(request), print)
  },
})

const replay = defineCommand({
  name: 'canary:replay',
  summary: 'Rerun the jobs that failed permanently on the new version, on the stable one',
  args: named,
  needs: 'running app',
  route: 'POST /api/workers/:name/canary/replay',
  json: true,
  options: { wait: { type: 'int', summary: 'Seconds to wait for jobs that still run on the new version', default: 10, min: 0, max: 60 } },
  run: async ({ app, args, options: { wait }, print }) => {
    const waitMs = wait * 1000
    const limits = {
      query: { wait: waitMs },
      timeoutMs: waitMs + 60_000,
      waitingFor: `jobs of the new version to end, up to ${wait} s (--wait)`,
    }
    return report(await app.request<CanaryResult>({ method: 'POST', path: at(args.name, 'replay'), ...limits }), print)
  },
})

const status = defineCommand({
  name: 'canary:status',
  summary: 'Show the canary of a worker',
  args: named,
  needs: 'running app',
  route: 'GET /api/workers/:name/canary/status',
  json: true,
  run: async ({ app, args, print }) => {
    const { canary } = await app.request<{ canary: CanaryView }>({ method: 'GET', path: at(args.name, 'status') })
    if (print.json) return print.record(canary)
    print.line(`${canary.worker}: version ${canary.canary.version} against stable version ${canary.stable.version}`)
    line(canary, print)
    print.line(`  ${canary.evidence.reason}`)
    const { jobs, minutes } = canary.needs
    if (canary.verdict === 'CONTINUE' && jobs !== null)
      print.line(`  needs about ${Math.ceil(jobs)} more jobs${minutes === null ? '' : `, ${Math.ceil(minutes)} min`}`)
    if (canary.casualties.recorded > 0)
      print.line(`  ${canary.casualties.recorded} jobs failed permanently on it, ${canary.casualties.replayed} of them replayed`)
  },
})

const history = defineCommand({
  name: 'canary:history',
  summary: 'Show the history of a canary',
  args: named,
  needs: 'running app',
  route: 'GET /api/workers/:name/canary/history',
  json: true,
  run: async ({ app, args, print }) => {
    const found = await app.request<{ history: readonly CanaryEvent[]; canaries: readonly PastCanary[] }>({
      method: 'GET',
      path: at(args.name, 'history'),
    })
    print.table(
      found.history.map(({ actor, at: time, errors, from, reason, to }) => {
        const row = { at: time, from: from ?? '', to, actor: actor.id, reason }
        return errors === undefined ? row : { ...row, errors }
      }),
      ['at', 'from', 'to', 'actor', 'reason'],
    )
    if (print.json) return
    for (const error of found.history.findLast(({ errors }) => errors !== undefined)?.errors ?? []) print.line(`  ${errorText(error)}`)
  },
})

/** Commands that act on the canaries of the running app. */
export const canaryCommands: readonly Command[] = [
  start,
  status,
  verb('pause', 'Pause a canary; it keeps its share of the jobs'),
  verb('resume', 'Resume a paused canary'),
  verb('promote', 'Move a canary to its next step immediately'),
  verb('complete', 'Give all jobs to the new version of a canary'),
  rollback,
  replay,
  history,
]
