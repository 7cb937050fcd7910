import { type AppClient, type Command, countText, defineCommand, type Printer } from 'zin'
import type { NodeView, OperationResult, VersionView, WorkerOnNode, WorkerPage, WorkerStatus, WorkerView } from './contract.js'

const named = [{ name: 'name', summary: 'Name of the worker' }]
const at = (name: string | undefined, rest = ''): string => `/api/workers/${encodeURIComponent(name ?? '')}${rest}`

/** Every worker of the app, page by page. */
async function allWorkers(app: AppClient, query: Readonly<Record<string, string | undefined>> = {}): Promise<readonly WorkerView[]> {
  const workers: WorkerView[] = []
  for (let page = 1; ; page++) {
    const response = await app.request<WorkerPage>({ method: 'GET', path: '/api/workers', query: { ...query, page, limit: 100 } })
    workers.push(...response.workers)
    if (page >= response.pagination.totalPages) return workers
  }
}

const list = defineCommand({
  name: 'worker:list',
  summary: 'List the workers of the running app',
  needs: 'running app',
  route: 'GET /api/workers',
  json: true,
  options: {
    status: { type: 'string', summary: 'Only running workers, or only those that are not running', values: ['active', 'inactive'] },
    all: { type: 'boolean', summary: 'Also list workers whose activeStatus is false', default: false },
  },
  run: async ({ app, options, print }) => {
    const workers = await allWorkers(app, { status: options.status, includeInactive: options.all ? 'true' : undefined })
    print.table(
      workers.map(({ name, queueName: queue, state, version, concurrency, desired, rollout, scaled }) => ({
        name,
        queue,
        state,
        desired,
        version,
        ...(rollout === undefined ? {} : { rollout: `${rollout.version} ${rollout.state}` }),
        concurrency,
        ...(scaled === undefined ? {} : { scaled: scaled.concurrency }),
      })),
      [
        'name',
        'queue',
        'state',
        'desired',
        'version',
        ...(workers.some(({ rollout }) => rollout) ? (['rollout'] as const) : []),
        'concurrency',
        ...(workers.some(({ scaled }) => scaled) ? (['scaled'] as const) : []),
      ],
    )
  },
})

const status = defineCommand({
  name: 'worker:status',
  summary: 'Show state, health and metrics of a worker',
  args: named,
  needs: 'running app',
  route: 'GET /api/workers/:name/status',
  json: true,
  run: async ({ app, args, print }) => {
    const response = await app.request<{ status: WorkerStatus }>({ method: 'GET', path: at(args.name, '/status') })
    print.record(response.status)
  },
})

const show = defineCommand({
  name: 'worker:show',
  summary: 'Show the full record of a worker',
  args: named,
  needs: 'running app',
  route: 'GET /api/workers/:name',
  json: true,
  run: async ({ app, args, print }) => {
    const response = await app.request<{ worker: WorkerView }>({ method: 'GET', path: at(args.name) })
    print.record(response.worker)
  },
})

const summary = defineCommand({
  name: 'worker:summary',
  summary: 'Count workers by state',
  needs: 'running app',
  json: true,
  run: async ({ app, print }) => {
    const workers = await allWorkers(app, { includeInactive: 'true' })
    const states: Record<string, number> = { running: 0, paused: 0, starting: 0, stopping: 0, stopped: 0, FAILED: 0, unknown: 0 }
    for (const { state } of workers) states[state] = (states[state] ?? 0) + 1
    print.record({ total: workers.length, ...states, disabled: workers.filter((worker) => !worker.activeStatus).length })
  },
})

const nodes = defineCommand({
  name: 'worker:nodes',
  summary: 'List the nodes of the app, including recently lost ones, or the status of a worker on each node',
  needs: 'running app',
  json: true,
  options: { worker: { type: 'string', summary: 'Show the status of this worker on each node' } },
  run: async ({ app, options, print }) => {
    if (options.worker !== undefined) {
      const response = await app.request<{ nodes: readonly WorkerOnNode[] }>({ method: 'GET', path: at(options.worker, '/nodes') })
      print.table(response.nodes, ['node', 'state', 'version', 'concurrency', 'busy', 'observedGeneration', 'error'])
      return
    }
    const response = await app.request<{ nodes: readonly NodeView[] }>({ method: 'GET', path: '/api/nodes' })
    print.table(response.nodes, ['id', 'region', 'consumes', 'draining', 'busy', 'alive', 'startedAt'])
  },
})

const drain = defineCommand({
  name: 'node:drain',
  summary: 'Let a node finish its running jobs and take no new ones, until that is undone or its process ends',
  args: [{ name: 'id', summary: 'Id of the node, as worker:nodes lists it' }],
  needs: 'running app',
  json: true,
  options: {
    undo: { type: 'boolean', summary: 'Let the node take jobs again', default: false },
    wait: { type: 'int', summary: 'Seconds to wait until no job runs there; 0: do not wait', default: 60, min: 0, max: 86_400 },
  },
  run: async ({ app, args, options: { undo, wait }, print }) => {
    const { id = '' } = args
    const path = `/api/nodes/${encodeURIComponent(id)}/drain`
    const { message, node } = await app.request<{ message: string; node: NodeView }>({ method: undo ? 'DELETE' : 'POST', path })
    print.line(message)
    const last = undo || wait === 0 ? node : await drained(app, node, wait * 1000, print)
    if (print.json) print.record({ ok: undo || wait === 0 || last.busy === 0, node: last })
    return undo || wait === 0 || last.busy === 0 ? 0 : 1
  },
})

/** How often a command looks whether a node has drained, in ms. */
const lookMs = 1_000

/** Waits until no job runs on a node, or it has ended, and says how many are left: `busy` of the result. */
async function drained(app: AppClient, node: NodeView, waitMs: number, print: Printer): Promise<NodeView> {
  const deadline = performance.now() + waitMs
  let last = node
  while (last.busy > 0) {
    if (performance.now() > deadline) {
      print.line(`${countText(last.busy, 'job')} still ${last.busy === 1 ? 'runs' : 'run'}; the node goes on draining (--wait)`)
      return last
    }
    await new Promise((resolve) => setTimeout(resolve, lookMs))
    const { nodes } = await app.request<{ nodes: readonly NodeView[] }>({ method: 'GET', path: '/api/nodes' })
    const found = nodes.find(({ id }) => id === node.id)
    if (found !== undefined && !found.alive) {
      print.line(
        `Node "${node.id}" has ended with ${countText(last.busy, 'job')} running; ${last.busy === 1 ? 'it is' : 'they are'} taken over by the other nodes`,
      )
      return { ...last, ...found, busy: last.busy }
    }
    // A process that stops finishes its jobs, and leaves.
    const now = found ?? { ...last, busy: 0 }
    if (now.busy !== last.busy && now.busy > 0) print.line(`${countText(now.busy, 'job')} ${now.busy === 1 ? 'runs' : 'run'}`)
    last = now
  }
  print.line(`Node "${node.id}" has drained`)
  return last
}

const versions = defineCommand({
  name: 'worker:versions',
  summary: 'List the versions of a worker',
  args: named,
  needs: 'running app',
  route: 'GET /api/workers/:name/versions',
  json: true,
  run: async ({ app, args, print }) => {
    const response = await app.request<{ versions: readonly VersionView[] }>({ method: 'GET', path: at(args.name, '/versions') })
    print.table(
      response.versions.map(({ version, state, busy, processor, description }) => ({ version, state, busy, processor, description })),
      ['version', 'state', 'busy', 'processor', 'description'],
    )
  },
})

/** Prints the result of an operation. Exit code 1: not every node has applied it, or no node can. */
function report({ message, operation, worker }: OperationResult, print: Printer): number {
  if (print.json) print.record({ ok: true, message, worker, operation })
  else {
    print.line(message)
    for (const { node, code, message: why } of operation.failed) print.line(`  ${node}: ${why} (${code})`)
    if (operation.targets.length === 0 && operation.state === 'pending')
      print.line('  the change is stored; start a node that can run the worker with: zin start --roles worker')
  }
  return operation.state === 'applied' ? 0 : 1
}

/** How long a command waits until every node has applied the change. */
const waitOption = {
  wait: { type: 'int', summary: 'Seconds to wait until every node has applied the change', default: 10, min: 0, max: 60 },
} as const

/** Requests a change. The response may take as long as `waitSeconds`. */
function ask(
  app: AppClient,
  path: string,
  waitSeconds: number,
  body?: object,
  more?: Readonly<Record<string, string>>,
): Promise<OperationResult> {
  const waitMs = waitSeconds * 1000
  const waitingFor = `every node to apply it, up to ${waitSeconds} s (--wait); a stopping worker finishes its jobs first`
  const query = { wait: waitMs, ...more }
  const timeoutMs = waitMs + 10_000
  return app.request<OperationResult>({ method: 'POST', path, query, timeoutMs, waitingFor, ...(body === undefined ? {} : { body }) })
}

const activate = defineCommand({
  name: 'worker:activate',
  summary: 'Roll a version out, one node after another; activate an earlier version to roll back',
  args: [...named, { name: 'version', summary: 'Registered version, such as 1.1.0' }],
  needs: 'running app',
  json: true,
  options: { ...waitOption, force: { type: 'boolean', summary: 'Activate a version that a plugin refused', default: false } },
  run: async ({ app, args, options: { force, wait }, print }) => {
    const path = at(args.name, `/versions/${encodeURIComponent(args.version ?? '')}/activate`)
    return report(await ask(app, path, wait, undefined, force ? { force: 'true' } : {}), print)
  },
})

const scale = defineCommand({
  name: 'worker:scale',
  summary: 'Set how many jobs run in parallel on each node, overriding the record; nothing restarts',
  args: [...named, { name: 'concurrency', summary: '1 to 1000, or "own" to use the number in the record' }],
  needs: 'running app',
  json: true,
  options: { ...waitOption, reason: { type: 'string', summary: 'Reason, shown in the list' } },
  run: async ({ app, args, options: { reason, wait }, print }) => {
    const { concurrency: given = '' } = args
    // The app validates the number.
    const concurrency = given === 'own' ? null : /^\d{1,9}$/.test(given) ? Number(given) : given
    return report(await ask(app, at(args.name, '/scale'), wait, { concurrency, ...(reason === undefined ? {} : { reason }) }), print)
  },
})

const operation = (verb: 'start' | 'stop' | 'restart' | 'pause' | 'resume', text: string): Command =>
  defineCommand({
    name: `worker:${verb}`,
    summary: text,
    args: named,
    needs: 'running app',
    json: true,
    options: waitOption,
    run: async ({ app, args, options, print }) => report(await ask(app, at(args.name, `/${verb}`), options.wait), print),
  })

/** Commands that act on the workers of the running app. */
export const workerCommands: readonly Command[] = [
  list,
  status,
  operation('start', 'Start a worker'),
  operation('stop', 'Stop a worker; it stays stopped after a reboot'),
  operation('restart', 'Restart a worker'),
  operation('pause', 'Pause a worker; running jobs continue'),
  operation('resume', 'Resume a paused worker'),
  scale,
  summary,
  show,
  versions,
  activate,
  nodes,
  drain,
]
