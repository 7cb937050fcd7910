import { readFile } from 'node:fs/promises'
import { type Command, defineCommand, type Printer } from 'zin'
import type { CanaryEvent, CanaryResult, CanaryView, PastCanary } from './contract.js'

const named = [{ name: 'name', summary: 'Name of the worker' }]
const at = (name: string | undefined, verb: string): string => `/api/workers/${encodeURIComponent(name ?? '')}/canary/${verb}`
const waitOption = {
  wait: { type: 'int', summary: 'Seconds to wait until every node has applied it', default: 10, min: 0, max: 60 },
} as const

/** Exit code 1: not every node has applied it yet. */
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
  for (const arm of [stable, canary])
    print.line(`  ${arm.version}: ${arm.jobs} jobs, ${arm.failed} failed, ${arm.slow} slow, ${arm.lost} lost`)
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
  return { query: { wait: waitMs }, timeoutMs: waitMs + 20_000, waitingFor: `every node to apply it, up to ${seconds} s (--wait)` }
}

const start = defineCommand({
  name: 'canary:start',
  summary: 'Give a growing share of the jobs of a worker to a new version',
  args: [...named, { name: 'version', summary: 'Registered version, such as 1.1.0' }],
  needs: 'running app',
  route: 'POST /api/workers/:name/canary/start',
  json: true,
  options: {
    ...waitOption,
    traffic: { type: 'string', summary: 'Largest share of the jobs in percent', default: '20' },
    minutes: { type: 'int', summary: 'Duration of all steps together', default: 60, min: 1, max: 43_200 },
    steps: { type: 'string', summary: 'Rising shares in percent, such as 5,25' },
    file: { type: 'string', summary: 'JSON file with further fields of the request; other options win' },
    shield: { type: 'boolean', summary: 'Run jobs that fail on the version on the stable one, with no attempt used up', default: false },
    force: { type: 'boolean', summary: 'Start a version that was refused', default: false },
  },
  run: async ({ app, args, options: { file, force, minutes, shield, steps, traffic, wait }, print }) => {
    const given = file === undefined ? {} : (JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>)
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

/** The app refuses what is no number. */
function number(text: string): number | string {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}

const rollback = defineCommand({
  name: 'canary:rollback',
  summary: 'End a canary; all jobs go to the stable version',
  args: named,
  needs: 'running app',
  route: 'POST /api/workers/:name/canary/rollback',
  json: true,
  options: { ...waitOption, reason: { type: 'string', summary: 'Why, for people' } },
  run: async ({ app, args, options: { reason, wait }, print }) => {
    const { query, ...limits } = waiting(wait)
    const request = { method: 'POST', path: at(args.name, 'rollback'), query: { ...query, reason }, ...limits } as const
    return report(await app.request<CanaryResult>(request), print)
  },
})

const replay = defineCommand({
  name: 'canary:replay',
  summary: 'Run the jobs that failed for good on the version again, on the stable one',
  args: named,
  needs: 'running app',
  route: 'POST /api/workers/:name/canary/replay',
  json: true,
  run: async ({ app, args, print }) =>
    report(await app.request<CanaryResult>({ method: 'POST', path: at(args.name, 'replay'), timeoutMs: 60_000 }), print),
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
    print.line(`${canary.worker}: version ${canary.canary.version} beside ${canary.stable.version}`)
    line(canary, print)
    print.line(`  ${canary.evidence.reason}`)
    const { jobs, minutes } = canary.needs
    if (canary.verdict === 'CONTINUE' && jobs !== null)
      print.line(`  needs about ${Math.ceil(jobs)} more jobs${minutes === null ? '' : `, ${Math.ceil(minutes)} min`}`)
    if (canary.casualties.recorded > 0)
      print.line(`  ${canary.casualties.recorded} jobs failed for good on it, ${canary.casualties.replayed} run again`)
  },
})

const history = defineCommand({
  name: 'canary:history',
  summary: 'Show what a canary went through',
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
      found.history.map(({ actor, at: time, from, reason, to }) => ({ at: time, from: from ?? '', to, actor: actor.id, reason })),
      ['at', 'from', 'to', 'actor', 'reason'],
    )
  },
})

/** Commands that act on the canaries of the running app. */
export const canaryCommands: readonly Command[] = [
  start,
  status,
  verb('pause', 'Freeze the share of a canary; its jobs continue'),
  verb('resume', 'Resume a paused canary'),
  verb('promote', 'Go to the next step of a canary at once'),
  verb('complete', 'Give all jobs to the version of a canary'),
  rollback,
  replay,
  history,
]
