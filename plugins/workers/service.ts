import { defineService } from 'zin'
import type { Applied, Control } from './control.js'
import { refuse } from './errors.js'
import type { WorkerJobs } from './jobs/jobs.js'
import type { WorkerNode } from './node/worker-node.js'
import type { ProcessorRegistry } from './processors/registry.js'
import { isIntIn, problem } from './record/problem.js'
import type { StoreDirectory } from './store/directory.js'
import type { ListOptions, OperationResult, ProcessorResolver, WorkerProcessor, Workers } from './types.js'
import { workerPage, workerStatus, workerView } from './views.js'

export const workersService = defineService<Workers>('workers')

export interface ServiceParts {
  readonly control: Control
  readonly directory: StoreDirectory
  readonly jobs: WorkerJobs
  readonly node: WorkerNode | undefined
  readonly registry: ProcessorRegistry
}

/** The service that routes, commands and other plugins use. */
export function makeWorkers({ control, directory, jobs, node, registry }: ServiceParts): Workers {
  const record = async (name: string) => (await control.find(name)).worker.record
  const resultOf = (applied: Applied, done: string, idle: string): OperationResult => ({
    message: messageOf(applied, done, idle),
    worker: workerView(applied.worker, node),
    operation: applied.operation,
  })

  return {
    async create(worker, options) {
      return workerView(await control.create(worker, options), node)
    },
    async start(name, options) {
      return resultOf(await control.start(name, options), `Worker "${name}" is running`, `Worker "${name}" was running already`)
    },
    async stop(name, options) {
      return resultOf(await control.stop(name, options), `Worker "${name}" is stopped`, '')
    },
    async restart(name, options) {
      return resultOf(await control.restart(name, options), `Worker "${name}" was restarted`, '')
    },
    remove: (name, options) => control.remove(name, options),
    async get(name) {
      return workerView((await control.find(name)).worker, node)
    },
    async list(options = {}) {
      checkList(options)
      return workerPage(await directory.all(), node, options)
    },
    async status(name) {
      return workerStatus((await control.find(name)).worker, node)
    },
    async metrics(name) {
      const { worker } = await control.find(name)
      return { ...workerStatus(worker, node).metrics, counts: await jobs.counts(worker.record) }
    },
    async enqueue(name, data, options = {}) {
      return jobs.add(await record(name), data, options)
    },
    async job(name, id) {
      return jobs.read(await record(name), id)
    },
    register: (name, processor) => registry.register(name, processor),
    registerAll: (processors: Readonly<Record<string, WorkerProcessor>>) =>
      all(Object.entries(processors).map(([name, processor]) => registry.register(name, processor))),
    registerPaths: (paths: Readonly<Record<string, string>>) =>
      all(Object.entries(paths).map(([name, path]) => registry.registerPath(name, path))),
    registerResolver: (resolver: ProcessorResolver) => registry.registerResolver(resolver),
  }
}

function messageOf({ changed, operation }: Applied, done: string, idle: string): string {
  if (!changed) return idle
  if (operation.applied.length > 0) return done
  return operation.targets.length > 0
    ? 'Accepted; it is still being applied'
    : 'Accepted; this process consumes no jobs, and those that do apply it'
}

function all(disposers: readonly (() => void)[]): () => void {
  return () => disposers.forEach((dispose) => void dispose())
}

function checkList({ page = 1, limit = 100 }: ListOptions): void {
  if (!isIntIn(page, 1, Number.MAX_SAFE_INTEGER)) refuse([problem('page', 'INVALID_PAGE', '"page" must be a whole number from 1')])
  if (!isIntIn(limit, 1, 100)) refuse([problem('limit', 'INVALID_LIMIT', '"limit" must be a whole number from 1 to 100')])
}
