import type { ActivateOptions, OperationOptions, VersionState, VersionView } from '../contract.js'
import { refuse, workerErrors } from '../errors.js'
import { checkVersion, versionProblems } from '../record/checks.js'
import { versionOf } from '../record/make.js'
import type { RefusedVersion, RegisterVersion, VersionRecord, VersionRefusal } from '../record/record.js'
import { refusalProblems, storableRefusal } from '../record/refusal.js'
import type { ReportedStatus } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import type { Desired, StoredWorker } from '../store/contract.js'
import type { GivenCode } from './given-code.js'
import { statusesOf } from './state.js'
import type { VersionCheck } from './version-check.js'
import type { Applied, WorkerStep, WorkerWrites } from './writes.js'

export interface VersionsParts {
  readonly writes: WorkerWrites
  readonly shared: SharedState
  readonly check: VersionCheck
  readonly code: GivenCode
  readonly now: () => number
}

/** Maximum number of versions of one worker, and of candidates loaded next to the active version. */
const most = 100
const mostCandidates = 5

/** Registers and activates versions of workers; activating an earlier one rolls back. */
export class Versions {
  readonly #parts: VersionsParts

  constructor(parts: VersionsParts) {
    this.#parts = parts
  }

  async register(name: string, input: RegisterVersion, step: WorkerStep): Promise<VersionView> {
    const { check, code, now, writes } = this.#parts
    refuse(versionProblems(input))
    const version = versionOf(input, now())
    const add = async (current: StoredWorker): Promise<StoredWorker> => {
      demandVersioning(current)
      if (current.versions.some((known) => known.version === version.version)) throw workerErrors.VERSION_EXISTS(name, version.version)
      if (current.versions.length >= most) throw workerErrors.TOO_MANY_VERSIONS(name, most)
      await check.ofNew(current.record, version, input)
      return { ...current, versions: [...current.versions, version] }
    }
    const stored = await writes.note(name, add, step)
    code.keep(stored, `${name}@${version.version}`, input)
    return viewOf(stored, version, await this.#parts.shared.statusesOf(name))
  }

  async list(name: string): Promise<readonly VersionView[]> {
    const { worker } = await this.#parts.writes.find(name)
    const reported = await this.#parts.shared.statusesOf(name)
    return worker.versions.map((version) => viewOf(worker, version, reported))
  }

  /** @param by the plugin that refuses it. */
  async refuse(name: string, version: string, by: string, refusal: VersionRefusal, step: WorkerStep): Promise<VersionView> {
    refuse(refusalProblems(refusal))
    const refused = { by, ...storableRefusal(refusal), at: this.#parts.now() }
    const stored = await this.#parts.writes.note(name, (worker) => withRefused(worker, version, refused), step)
    const record = versionIn(stored, version)
    return viewOf(stored, record, await this.#parts.shared.statusesOf(name))
  }

  async activate(name: string, version: string, step: WorkerStep, options: ActivateOptions = {}): Promise<Applied> {
    const fault = checkVersion(version)
    if (fault !== undefined) refuse([fault])
    const { check, now, writes } = this.#parts
    return writes.change(
      name,
      'activate',
      async (worker) => {
        demandVersioning(worker)
        const { refused, ...wanted } = versionIn(worker, version)
        // A refusal by a halted rollout does not block the next rollout.
        if (refused !== undefined && refused.by !== rollout && options.force !== true)
          throw workerErrors.VERSION_REFUSED(name, version, refused)
        await check.ofStored(worker.record, wanted)
        const { halted: _, ...known } = worker
        const { desired, versions } = known
        // Unique even for two activations in the same millisecond.
        const activatedAt = Math.max(now(), (wanted.activatedAt ?? 0) + 1)
        return {
          ...known,
          versions: versions.map((one) => (one.version === version ? { ...wanted, activatedAt } : one)),
          desired: { ...activated(withoutCandidate(desired, version), version), previousVersion: fallbackOf(worker, version) },
        }
      },
      step,
      options,
    )
  }

  /** Replaces the versions that are loaded next to the active one. */
  setCandidates(name: string, wanted: readonly string[], step: WorkerStep, options?: OperationOptions): Promise<Applied> {
    const candidates = [...new Set(wanted)]
    const faults = candidates.flatMap((version) => checkVersion(version) ?? [])
    if (faults.length > 0) refuse(faults)
    const { check, writes } = this.#parts
    return writes.change(
      name,
      'candidates',
      async (worker) => {
        if (candidates.length > 0) demandVersioning(worker)
        if (candidates.length > mostCandidates) throw workerErrors.TOO_MANY_CANDIDATES(name, mostCandidates)
        for (const version of candidates) {
          await check.ofStored(worker.record, versionIn(worker, version))
        }
        const { candidates: _, ...desired } = worker.desired
        return { ...worker, desired: candidates.length === 0 ? desired : { ...desired, candidates } }
      },
      step,
      options,
    )
  }
}

/** `by` of refusals by a halted rollout. */
const rollout = 'workers'

/** Returns the worker with one of its versions marked as refused. Throws VERSION_NOT_FOUND. */
export function withRefused(worker: StoredWorker, version: string, refused: RefusedVersion): StoredWorker {
  const known = versionIn(worker, version)
  return { ...worker, versions: worker.versions.map((one) => (one === known ? { ...one, refused } : one)) }
}

function versionIn({ record, versions }: StoredWorker, version: string): VersionRecord {
  const found = versions.find((known) => known.version === version)
  if (found === undefined) throw workerErrors.VERSION_NOT_FOUND(record.name, version)
  return found
}

/** The version for nodes that cannot run `version`: never one whose rollout halted, or that no node has run. */
function fallbackOf({ desired, halted }: StoredWorker, version: string): string | null {
  if (version === desired.version) return desired.previousVersion
  if (halted === undefined && desired.untried !== true) return desired.version
  return version === desired.previousVersion ? null : desired.previousVersion
}

/** A version that is activated before a node has run the last one has not been tried either, unless it is the one before. */
function activated({ untried, ...desired }: Desired, version: string): Desired {
  const known = version === desired.version ? untried !== true : version === desired.previousVersion
  const runs = desired.state === 'running' && untried !== true
  return { ...desired, version, ...(!runs && !known && { untried: true }) }
}

/** Removes a version from the candidates: the active version is not one of them. */
function withoutCandidate({ candidates = [], ...desired }: Desired, version: string): Desired {
  const left = candidates.filter((candidate) => candidate !== version)
  return left.length === 0 ? desired : { ...desired, candidates: left }
}

function demandVersioning({ record }: StoredWorker): void {
  if (record.features.versioning === false) throw workerErrors.VERSIONING_OFF(record.name)
}

function viewOf(worker: StoredWorker, record: VersionRecord, reported: readonly ReportedStatus[]): VersionView {
  const { version, description, processor, healthCheck, createdAt, activatedAt, refused } = record
  const living = statusesOf(worker, reported).filter((status) => status.alive)
  const nodes = living.filter((status) => status.version === version).map((status) => status.node)
  const draining = living.reduce((sum, status) => sum + (status.draining[version] ?? 0), 0)
  const running = living.filter((status) => status.version !== null)
  return {
    version,
    description,
    processor,
    healthCheck,
    state: stateOf(worker, record, { active: nodes.length, running: running.length, draining }),
    nodes,
    busy: draining + living.filter((status) => status.version === version).reduce((sum, status) => sum + busyOf(status), 0),
    createdAt: new Date(createdAt).toISOString(),
    activatedAt: activatedAt === null ? null : new Date(activatedAt).toISOString(),
    ...(refused === undefined ? {} : { refused: { ...refused, at: new Date(refused.at).toISOString() } }),
  }
}

/** Running jobs of the version that takes new ones. */
function busyOf({ busy, candidates = [], draining }: ReportedStatus): number {
  const others = [...Object.values(draining), ...candidates.map((candidate) => candidate.busy)]
  return Math.max(0, busy - others.reduce((sum, jobs) => sum + jobs, 0))
}

function stateOf(
  worker: StoredWorker,
  { version, activatedAt, refused }: VersionRecord,
  seen: { readonly active: number; readonly running: number; readonly draining: number },
): VersionState {
  const halted = worker.halted !== undefined
  if (worker.desired.version === version) return halted ? 'refused' : seen.active === seen.running ? 'active' : 'activating'
  if (refused !== undefined && seen.active === 0 && seen.draining === 0) return 'refused'
  if (activatedAt === null) return 'registered'
  // The rollout that would have replaced it has halted.
  if (halted && seen.active > 0) return 'active'
  return seen.active > 0 || seen.draining > 0 ? 'draining' : 'drained'
}
