import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Action, type Step, textOf } from './steps.js'
import type { LedgerLine, Reply, System } from './system.js'

/** Why a job may be gone. */
type Removal = 'deleted' | 'cancelled' | 'purged completed' | 'purged failed' | 'purged unfinished'

/** What must be true of a job. */
interface Job {
  readonly key: string
  /** Undefined: its request had no response, so that it may exist. */
  readonly id: string | undefined
  readonly attempts: number
  readonly children: readonly Job[]
  readonly parent: boolean
  /** Requests that may have run it again. */
  again: number
  /** Whether a request aborted or failed it. */
  aborted: boolean
  readonly removals: Set<Removal>
}

type Wanted = 'running' | 'stopped' | 'paused' | undefined

/** The longest wait for anything, in ms; what takes longer has hung. */
const patienceMs = 60_000
const unfinished = ['waiting', 'delayed'] as const

/** One worker and its queue, and what must be true of them. */
class Model {
  readonly #system: System
  readonly #name = `model-${randomUUID().slice(0, 13)}`
  readonly #jobs: Job[] = []
  readonly #operations: { readonly path: string; readonly action: string }[] = []
  readonly #problems: string[] = []
  #keys = 0
  #most = 2
  #kills = 0
  #wanted: Wanted = 'running'
  /** Marks all jobs at the end of a step, also those added meanwhile. */
  #marks: ((job: Job) => void)[] = []
  /** Attempts begun when a stop had ended; undefined: it may run. */
  #stoppedAt: number | undefined

  constructor(system: System) {
    this.#system = system
  }

  async begin(): Promise<void> {
    const body = { name: this.#name, queueName: this.#name, processor: 'processors/run.mjs', concurrency: this.#most }
    const { status, body: answer } = await this.#system.call('POST', '/api/workers', body)
    if (status !== 201) this.#fail(`the worker could not be created: ${status} ${JSON.stringify(answer)}`)
    await this.#state('running')
  }

  /** What was found to be wrong so far. */
  get problems(): readonly string[] {
    return this.#problems
  }

  async step({ actions, nodes }: Step): Promise<void> {
    const before = this.#wanted
    const outcomes = await Promise.all(actions.map((action, i) => this.#act(action, nodes[i as 0 | 1], actions)))
    for (const job of this.#jobs) for (const mark of this.#marks) mark(job)
    this.#marks = []
    const changes = outcomes.filter((outcome) => outcome !== 'same')
    this.#wanted = changes.length === 0 ? before : changes.length === 1 ? (changes[0] as Wanted) : undefined
    // What begins after a stop had ended, and before anything may have started the worker, was not stopped.
    if (this.#wanted === 'stopped' && this.#stoppedAt !== undefined && this.#begun() > this.#stoppedAt)
      this.#fail(`${this.#begun() - this.#stoppedAt} attempts began after the worker had stopped`)
    this.#stoppedAt = this.#wanted === 'stopped' ? (this.#stoppedAt ?? this.#begun()) : undefined
  }

  /** Lets everything end, and compares what is reported with what happened. */
  async end(): Promise<void> {
    this.#stoppedAt = undefined
    await this.#post(`/api/queue/${this.#name}/resume`)
    for (const verb of ['resume', 'start']) await this.#post(`/api/workers/${this.#name}/${verb}?wait=20000`)
    await this.#state('running')
    if (!(await this.#quiet())) return
    await this.#settled()
    const { status } = await this.#system.call('DELETE', `/api/workers/${this.#name}`)
    if (status !== 200) this.#fail(`the worker could not be removed: ${status}`)
  }

  /** Resolves to the state that the worker should have now; `same` if the action does not change it. */
  async #act(action: Action, node: number, beside: readonly Action[]): Promise<Wanted | 'same'> {
    const disturbed = beside.some(({ kind }) => kind === 'kill' || kind === 'end')
    const call = async (method: string, path: string, body?: unknown): Promise<Reply> => {
      const reply = await this.#system.call(method, path, body, node)
      const { status, body: answer } = reply
      const expected = status > 0 && (status < 500 || (status === 503 && disturbed))
      if (!expected && !(status === 0 && disturbed)) this.#fail(`${method} ${path} was ${status} ${JSON.stringify(answer)}`)
      const id = answer.operation?.id
      if (id !== undefined)
        this.#operations.push({
          path: path.startsWith('/api/workers') ? `/api/workers/${this.#name}/operations/${id}` : `/api/operations/${id}`,
          action: `${method} ${path}`,
        })
      return reply
    }
    const worker = `/api/workers/${this.#name}`
    const queue = `/api/queue/${this.#name}`
    switch (action.kind) {
      case 'start':
      case 'stop':
      case 'restart':
      case 'pause':
      case 'resume': {
        const { status } = await call('POST', `${worker}/${action.kind}?wait=20000`)
        return status >= 400 ? 'same' : status === 200 ? after(action.kind, this.#wanted) : undefined
      }
      case 'scale':
        this.#most = Math.max(this.#most, action.to)
        await call('POST', `${worker}/scale`, { concurrency: action.to })
        return 'same'
      case 'concurrency':
        this.#most = Math.max(this.#most, action.to)
        await call('PUT', worker, { concurrency: action.to })
        return 'same'
      case 'add':
        for (let n = 0; n < action.jobs; n++) {
          const { attempts, delay: delayMs, failures, ms, priority } = action
          const key = this.#key()
          const options = {
            attempts,
            delay: delayMs,
            priority,
            backoff: { type: 'fixed', delay: 20 },
            ...(this.#keys % 2 ? { jobId: key } : {}),
          }
          this.#added(key, await call('POST', `${worker}/jobs`, { data: { key, ms, failures }, options }), attempts)
        }
        return 'same'
      case 'flow': {
        const { children: count, failures, ms } = action
        const options = { attempts: 2, backoff: { type: 'fixed', delay: 20 } }
        const keys = Array.from({ length: count }, () => this.#key())
        const key = this.#key()
        const children = keys.map((child, i) => ({
          worker: this.#name,
          data: { key: child, ms, failures: i === 0 ? failures : 0 },
          options,
        }))
        const reply = await call('POST', `${worker}/jobs`, { data: { key, ms, failures: 0 }, options, children })
        const made = keys.map((child, i) => this.#added(child, { ...reply, body: { job: reply.body.job?.children?.[i] } }, 2))
        this.#added(key, reply, 2, made)
        return 'same'
      }
      case 'repeat': {
        const job = this.#pick(action.job)
        if (job === undefined || job.id !== job.key) return 'same'
        // With an id that is kept, the request adds nothing.
        if (job.removals.size > 0) job.again++
        const { status } = await call('POST', `${worker}/jobs`, {
          data: { key: job.key, ms: 0, failures: 0 },
          options: { attempts: job.attempts, jobId: job.key },
        })
        if (status < 400) job.removals.clear()
        return 'same'
      }
      case 'retry':
      case 'cancel':
      case 'promote': {
        const job = this.#pick(action.job)
        if (job === undefined) return 'same'
        const { status, body } = await call('POST', `/api/jobs/${this.#name}:${job.id}/${action.kind}`)
        const family = [job, ...job.children, ...this.#jobs.filter(({ children }) => children.includes(job))]
        if (status !== 200 && status !== 0 && status !== 503) return 'same'
        if (action.kind === 'retry') for (const one of family) one.again++
        if (action.kind !== 'cancel') return 'same'
        for (const one of family) one.aborted = true
        if (status !== 200 || body.outcome === 'removed') for (const one of [job, ...job.children]) one.removals.add('cancelled')
        return 'same'
      }
      case 'delete': {
        const job = this.#pick(action.job)
        if (job === undefined) return 'same'
        const { status } = await call('DELETE', `/api/jobs/${this.#name}:${job.id}`)
        if (status === 200 || status === 0 || status === 503) job.removals.add('deleted')
        return 'same'
      }
      case 'duplicate': {
        const job = this.#pick(action.job)
        if (job === undefined) return 'same'
        const key = this.#key()
        const reply = await call('POST', `/api/jobs/${this.#name}:${job.id}/duplicate`, { data: { key, ms: 0, failures: 0 } })
        if (reply.status < 400) this.#added(key, { ...reply, body: { job: reply.body } }, job.attempts)
        return 'same'
      }
      case 'retryAll':
        this.#marks.push((job) => job.again++)
        await call('POST', `${queue}/retry?wait=20000`, {})
        return 'same'
      case 'cancelAll':
        this.#marks.push((job) => {
          job.aborted = true
          job.removals.add('cancelled')
        })
        await call('POST', `${queue}/cancel?wait=20000`, {})
        return 'same'
      case 'purge': {
        const removal = unfinished.some((status) => status === action.status) ? 'purged unfinished' : (`purged ${action.status}` as Removal)
        this.#marks.push((job) => job.removals.add(removal))
        await call('POST', `${queue}/purge?wait=20000`, { status: action.status })
        return 'same'
      }
      case 'purgeAndUndo':
        await this.#purgeAndUndo(action.status, call)
        return 'same'
      case 'pauseQueue':
      case 'resumeQueue':
        await call('POST', `${queue}/${action.kind === 'pauseQueue' ? 'pause' : 'resume'}`)
        return 'same'
      case 'kill':
      case 'end': {
        if (action.kind === 'kill') this.#kills++
        const code = await this.#system.restart(action.node, action.kind === 'kill' ? 'SIGKILL' : 'SIGTERM')
        if (action.kind === 'end' && code !== 0) this.#fail(`a process exited with ${code} at SIGTERM`)
        return 'same'
      }
      case 'settle':
        if (this.#wanted !== undefined) await this.#state(this.#wanted)
        return 'same'
    }
  }

  #key(): string {
    return `j${++this.#keys}`
  }

  #pick(index: number): Job | undefined {
    const known = this.#jobs.filter(({ id }) => id !== undefined)
    return known[index % Math.max(1, known.length)]
  }

  #added(key: string, { body, status }: Reply, attempts: number, children: readonly Job[] = []): Job {
    const isKnown = status > 0 && status < 400
    if (!isKnown && status !== 0 && status !== 503) this.#fail(`a job was refused: ${status} ${JSON.stringify(body)}`)
    const job: Job = {
      key,
      id: isKnown ? body.job?.id : undefined,
      attempts,
      children,
      parent: children.length > 0,
      again: 0,
      aborted: false,
      removals: new Set(),
    }
    this.#jobs.push(job)
    return job
  }

  async #purgeAndUndo(status: string, call: (method: string, path: string, body?: unknown) => Promise<Reply>): Promise<void> {
    const queue = `/api/queue/${this.#name}`
    const listed = async (): Promise<readonly { readonly id: string }[]> => {
      const { body } = await call('GET', `/api/jobs/${status}?queue=${this.#name}&limit=100`)
      return body.jobs ?? []
    }
    const before = await listed()
    const { body } = await call('POST', `${queue}/purge?wait=20000`, { status })
    const { id, undo } = body.operation ?? {}
    if (undo !== null && undo !== undefined) await call('POST', `/api/operations/${id}/undo?wait=20000`)
    for (const { id: job } of before) {
      const { status: found, body: now } = await call('GET', `/api/jobs/${this.#name}:${job}`)
      if (found !== 200) this.#fail(`job ${job} was ${status}, and was not restored by the undo of a purge: ${found}`)
      else if (status !== 'delayed' && now.status !== status) this.#fail(`job ${job} was ${status}, and was restored as ${now.status}`)
    }
  }

  /** Waits for the state of the worker. */
  async #state(wanted: Exclude<Wanted, undefined>): Promise<void> {
    let state: unknown
    const met = await within(async () => {
      const { body } = await this.#system.call('GET', `/api/workers/${this.#name}/status`)
      state = body.status?.state
      return state === wanted
    })
    if (!met) this.#fail(`the worker is ${String(state)} instead of ${wanted}`)
  }

  /** Waits until no job waits or runs. Resolves to whether that happened. */
  async #quiet(): Promise<boolean> {
    let left: unknown
    const met = await within(async () => {
      const { body } = await this.#system.call('GET', `/api/queue/${this.#name}/stats`)
      const { active, delayed, waiting, waitingChildren } = body
      left = { active, delayed, waiting, waitingChildren }
      if (this.#jobs.length === 0 && active === undefined) return true
      // Statistics may be a second old; lists are read at once.
      for (const status of ['active', 'waiting', 'delayed']) {
        const { body: list } = await this.#system.call('GET', `/api/jobs/${status}?queue=${this.#name}&limit=1`)
        if (list.pagination?.total !== 0) return false
      }
      return active + delayed + waiting + waitingChildren === 0
    })
    if (!met) this.#fail(`the jobs do not end: ${JSON.stringify(left)}`)
    return met
  }

  /** Compares the jobs, their counts, their lists and the attempts that ran. */
  async #settled(): Promise<void> {
    for (const { action, path } of this.#operations) {
      let state: unknown
      const ended = await within(async () => {
        const { body, status } = await this.#system.call('GET', path)
        state = body.operation?.state ?? status
        return state !== 'pending' && state !== 'running'
      })
      if (!ended) this.#fail(`the operation of ${action} is still ${String(state)}`)
    }
    const found = { completed: 0, failed: 0 }
    for (const job of this.#jobs) await this.#checkJob(job, found)
    let stats: Reply['body'] = {}
    await within(async () => {
      stats = (await this.#system.call('GET', `/api/queue/${this.#name}/stats`)).body
      return (stats.completed ?? 0) === found.completed && (stats.failed ?? 0) === found.failed
    }, 5_000)
    for (const status of ['completed', 'failed'] as const) {
      const { body: list } = await this.#system.call('GET', `/api/jobs/${status}?queue=${this.#name}&limit=1`)
      const counts = [stats[status] ?? 0, list.pagination?.total ?? 0, found[status]]
      const unknown = this.#jobs.some(({ id }) => id === undefined)
      if (counts[0] !== counts[1] || (!unknown && counts[1] !== counts[2]))
        this.#fail(`${status} jobs: ${counts[0]} counted, ${counts[1]} listed, ${counts[2]} found one by one`)
    }
    this.#checkParallel()
  }

  async #checkJob(job: Job, found: { completed: number; failed: number }): Promise<void> {
    const lines = this.#system.ledger(this.#name).filter(({ key }) => key === job.key)
    const count = (phase: LedgerLine['phase']): number => lines.filter((line) => line.phase === phase).length
    const [starts, done] = [count('start'), count('done')]
    const mostStarts = job.attempts * (1 + job.again) + this.#kills
    if (starts > mostStarts) this.#fail(`job ${job.key} began ${starts} times, at most ${mostStarts} are explained`)
    if (done > 1 + job.again + this.#kills) this.#fail(`job ${job.key} completed ${done} times`)
    if (job.id === undefined) return
    const { status, body } = await this.#system.call('GET', `/api/jobs/${this.#name}:${job.id}`)
    if (status === 404) return this.#checkGone(job, done)
    if (status !== 200) return this.#fail(`job ${job.key} cannot be read: ${status} ${JSON.stringify(body)}`)
    if (body.status === 'completed') found.completed++
    else if (body.status === 'failed') found.failed++
    else return this.#fail(`job ${job.key} is ${body.status} (${body.state}) although nothing waits or runs`)
    if (body.status === 'completed' && done === 0) this.#fail(`job ${job.key} is completed, and never ran to its end`)
    if (body.status === 'failed' && done > 0 && !job.aborted && job.again === 0 && this.#kills === 0)
      this.#fail(`job ${job.key} ran to its end, and is failed: ${body.error}`)
    const early = job.children.filter(
      (child) => child.removals.size === 0 && !child.aborted && body.status === 'completed' && !this.#ran(child),
    )
    for (const child of early) this.#fail(`job ${job.key} completed although its child ${child.key} did not`)
  }

  #ran({ key }: Job): boolean {
    return this.#system.ledger(this.#name).some((line) => line.key === key && line.phase === 'done')
  }

  #checkGone(job: Job, done: number): void {
    const reasons = [...job.removals]
    if (reasons.length === 0) this.#fail(`job ${job.key} (id ${job.id}) was accepted, and is gone`)
    const isKept = reasons.every((reason) => reason === 'cancelled' || reason === 'purged unfinished')
    if (reasons.length > 0 && isKept && done > 0 && job.again === 0)
      this.#fail(`job ${job.key} had completed, and is gone (${reasons.join(', ')})`)
  }

  /** No process ran more attempts at a time than it may. */
  #checkParallel(): void {
    const open = new Map<number, number>()
    const problems = new Set<string>()
    for (const { phase, pid } of this.#system.ledger(this.#name)) {
      const now = (open.get(pid) ?? 0) + (phase === 'start' ? 1 : -1)
      open.set(pid, now)
      if (now > this.#most) problems.add(`a process ran ${now} attempts at a time, ${this.#most} are allowed`)
    }
    this.#problems.push(...problems)
  }

  #begun(): number {
    return this.#system.ledger(this.#name).filter(({ phase }) => phase === 'start').length
  }

  async #post(path: string): Promise<void> {
    await this.#system.call('POST', path)
  }

  #fail(problem: string): void {
    this.#problems.push(problem)
  }
}

/** The state of a worker after an action that every node has applied. */
function after(verb: 'start' | 'stop' | 'restart' | 'pause' | 'resume', before: Wanted): Wanted {
  if (verb === 'stop') return 'stopped'
  if (before === undefined) return undefined
  if (verb === 'pause') return before === 'running' ? 'paused' : undefined
  if (verb === 'resume') return before === 'paused' || before === 'running' ? 'running' : undefined
  return before === 'paused' ? undefined : 'running'
}

/** Polls until it is true. Resolves to false after {@link patienceMs}. */
async function within(isMet: () => Promise<boolean>, ms = patienceMs): Promise<boolean> {
  const end = performance.now() + ms
  for (let wait = 20; performance.now() < end; wait = Math.min(500, wait * 1.5)) {
    if (await isMet()) return true
    await delay(wait)
  }
  return false
}

/** Drives the system through a sequence. Throws an error with everything that is wrong, and the sequence. */
export async function runModel(system: System, steps: readonly Step[]): Promise<void> {
  const model = new Model(system)
  await model.begin()
  for (const step of steps) {
    await model.step(step)
    if (model.problems.length > 0) break
  }
  await model.end()
  if (model.problems.length > 0) throw new Error(`${model.problems.join('\n')}\nafter\n${textOf(steps)}`)
}
