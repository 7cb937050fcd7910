import { type StatementOptions, type StatementResult, unauthorized, WireError } from 'zin/plugins/sql-wire'

import type { Verified } from './auth.js'
import type { EdgeConfig } from './config.js'
import type { EdgeResult, EdgeStatement } from './d1.js'
import { createDescriptions } from './describe.js'
import { isRefused, isUnsettled, wireErrorOf } from './failures.js'
import { edgeLimits } from './limits.js'
import { type Receipt, receiptOf, replayedBodies } from './receipts.js'
import { execBody, oneBody, queryBody, refuseDuplicates } from './results.js'
import type { ReadyStatement } from './statement.js'
import { type Step, stepOf, tooManyRows } from './steps.js'
import {
  alwaysFails,
  claimNonce,
  claimReceipt,
  countRequest,
  createTables,
  keepChanges,
  keepResponse,
  lastRowId,
  limitChanges,
  ownFailure,
  readReceipt,
} from './tables.js'
import { atIndex, type Shape, type Task } from './tasks.js'
import type { TimedDatabase } from './timed-database.js'

export interface Executor {
  /** Runs the statements in one transaction, together with the claim of the nonce. */
  run(tasks: readonly Task[], options: StatementOptions, caller: Verified, path: string): Promise<readonly StatementResult[]>
}

export interface ExecutorParts {
  readonly db: TimedDatabase
  readonly config: EdgeConfig
  readonly now: () => number
}

/** Counts the requests of all key ids; no key id contains it. */
const allKeys = '*'

/** Positions of a statement's parts in the batch. */
interface Placed {
  readonly step: Step
  readonly shape: Shape
  readonly at: number
  /** Index of the statement that returns the row id. */
  readonly rowIdAt: number | undefined
}

interface Prepared {
  readonly placed: readonly Placed[]
  readonly statements: readonly EdgeStatement[]
  /** Number of statements before those of each task. */
  readonly starts: readonly number[]
}

export function createExecutor({ db, config, now }: ExecutorParts): Executor {
  const descriptions = createDescriptions(db)

  const limits = [
    [undefined, config.ratePerMinute],
    [allKeys, config.totalPerMinute],
  ] as const

  const guards = ({ keyId, nonce, nonceUntil }: Verified): readonly EdgeStatement[] => [
    claimNonce(db, nonce, nonceUntil),
    ...limits.flatMap(([id, most]) => (most === 0 ? [] : [countRequest(db, id ?? keyId, minuteOf(now()), most)])),
  ]

  /** Prepares the statements that follow the guards in a batch. */
  const prepare = async (
    tasks: readonly Task[],
    options: StatementOptions,
    receipt: Receipt | undefined,
    ms: number,
  ): Promise<Prepared> => {
    const statements: EdgeStatement[] =
      receipt === undefined ? [] : [...claimReceipt(db, receipt.id, receipt.hash, now(), edgeLimits.receiptMs)]
    const placed: Placed[] = []
    const starts: number[] = []
    for (const [index, { statement, shape }] of tasks.entries()) {
      const maxRows = rowLimit(options, statement, shape)
      const step = await stepOf(statement, { db, describe: descriptions.describe, maxRows, ms }).catch(atIndex(index))
      refuseDuplicates(step.names, options.rowMode ?? 'object')
      starts.push(statements.length)
      const own = statements.push(step.run) - 1
      if (step.limit !== undefined) statements.push(limitChanges(db, step.limit.most))
      const rowIdAt = step.inserts ? statements.push(lastRowId(db)) - 1 : undefined
      if (receipt !== undefined && statement.kind === 'write') statements.push(keepChanges(db, receipt.id, index, now()))
      placed.push({ step, shape, at: own, rowIdAt })
    }
    return { placed, statements, starts }
  }

  /** Runs a batch; creates the tables of the proxy if they do not exist yet. */
  const inTime = async (statements: readonly EdgeStatement[], ms: number): Promise<readonly EdgeResult[]> => {
    try {
      return await db.batch(statements, ms)
    } catch (error) {
      if (ownFailure(messageOf(error)) !== 'tables') throw error
      await createTables(db)
      return db.batch(statements, ms)
    }
  }

  /** Claims the nonce again after a failure that rolled it back: the same request must not run later. */
  const burn = async (caller: Verified, counted: boolean): Promise<void> => {
    const claim = counted ? guards(caller) : [claimNonce(db, caller.nonce, caller.nonceUntil)]
    await inTime(claim, edgeLimits.timeoutMs).catch((error: unknown) => {
      const own = ownFailure(messageOf(error))
      if (own === 'replayed') throw unauthorized()
      // The key has reached its rate limit in the meantime.
      if (own === 'rate') return inTime([claimNonce(db, caller.nonce, caller.nonceUntil)], edgeLimits.timeoutMs)
      throw error
    })
  }

  /** Burns the nonce of a failed request. Returns the error, with its outcome if that is now known. */
  const burnAfter = async (error: unknown, caller: Verified): Promise<unknown> => {
    const burned = burn(caller, true)
    if (isRefused(error)) {
      // Do not wait for the claim: the caller has already waited long enough.
      burned.catch(() => undefined)
      return error
    }
    if (!(error instanceof WireError && isUnsettled(error))) return burned.then(() => error)
    // Only one transaction can claim the nonce: if this one did, the statements have not run and never will.
    return burned.then(
      () => error.with({ details: { outcome: 'cancelled' } }),
      () => error,
    )
  }

  /** Finds the failed statement of a batch by binary search: runs prefixes of the batch, which are rolled back. */
  const failedIndex = async (statements: readonly EdgeStatement[], starts: readonly number[], ms: number): Promise<number> => {
    const fails = async (tasks: number): Promise<boolean> => {
      const beginning = [...statements.slice(0, starts[tasks] ?? statements.length), alwaysFails(db)]
      const failure = await db.batch(beginning, ms).then(
        () => 'probe',
        (error: unknown) => ownFailure(messageOf(error)),
      )
      return failure !== 'probe'
    }
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (await fails(middle + 1)) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Returns the error of a failed batch for the caller. */
  const failure = async (error: unknown, caller: Verified, prepared: Prepared, ms: number, isBatch: boolean): Promise<WireError> => {
    const own = ownFailure(messageOf(error))
    if (own === 'replayed') return unauthorized()
    if (own === 'rate') {
      await burn(caller, false)
      return rateLimited(config, now())
    }
    const known = await burnAfter(error, caller)
    if (known instanceof WireError && known.code !== 'RESULT_TOO_LARGE')
      return isBatch && !isUnsettled(known) ? known.with({ body: { committed: false } }) : known
    const index = isBatch ? await failedIndex(prepared.statements, prepared.starts, ms) : 0
    const { limit } = prepared.placed[index]?.step ?? {}
    const found =
      own === 'changes' && limit !== undefined
        ? limit.code === 'RESULT_TOO_LARGE'
          ? tooManyRows(limit.most)
          : new WireError('TOO_MANY_CHANGES', `The statement would change more than ${limit.most} rows`, { details: { limit: limit.most } })
        : wireErrorOf(error, config.mode)
    return isBatch ? found.with({ details: { failedIndex: index }, body: { failedIndex: index, committed: false } }) : found
  }

  const replay = async (receipt: Receipt, tasks: readonly Task[], options: StatementOptions, caller: Verified, ms: number) => {
    const claims = guards(caller)
    const results = await inTime([...claims, readReceipt(db, receipt.id)], ms)
    return replayedBodies(results[claims.length]?.results ?? [], receipt, tasks, options.rowMode ?? 'object')
  }

  const execute = async (tasks: readonly Task[], options: StatementOptions, caller: Verified, path: string) => {
    const isBatch = path.endsWith('/batch')
    const ms = timeLimit(options, tasks)
    const receipt = await receiptOf(options.idempotencyKey, tasks, caller, path, config.key.id)
    const prepared = await prepare(tasks, options, receipt, ms).catch(async (error: unknown) => {
      throw await burnAfter(error, caller)
    })
    const claims = guards(caller)
    const started = now()
    let results: readonly EdgeResult[]
    try {
      results = await inTime([...claims, ...prepared.statements], ms)
    } catch (error) {
      if (receipt !== undefined && ownFailure(messageOf(error)) === 'receipt') return replay(receipt, tasks, options, caller, ms)
      if (isStale(error)) throw error
      throw await failure(error, caller, prepared, ms, isBatch)
    }
    if (tasks.some(({ statement }) => statement.scan.kind === 'ddl')) descriptions.clear()
    const dbMs = now() - started
    const bodies = prepared.placed.map((placed) => bodyOf(placed, results.slice(claims.length), options, dbMs))
    // Respond with what was committed, even if it cannot be stored for a replay.
    if (receipt !== undefined && prepared.placed.some(({ step }) => step.names.length > 0))
      await db.batch([keepResponse(db, receipt.id, JSON.stringify(bodies))], ms).catch(() => undefined)
    return bodies
  }

  return {
    async run(tasks, options, caller, path) {
      try {
        return await execute(tasks, options, caller, path)
      } catch (error) {
        // Another process changed the schema, and nothing has run: describe again and retry.
        if (!isStale(error)) throw wireErrorOf(error, config.mode)
      }
      descriptions.clear()
      try {
        return await execute(tasks, options, caller, path)
      } catch (error) {
        throw wireErrorOf(error, config.mode)
      }
    },
  }
}

/** Returns whether the number of columns of a query has changed since it was described. */
function isStale(error: unknown): boolean {
  return /table zin_rows has \d+ values for \d+ columns|zin_rows has \d+ values/.test(messageOf(error))
}

function bodyOf(
  { step, shape, at, rowIdAt }: Placed,
  results: readonly EdgeResult[],
  options: StatementOptions,
  dbMs: number,
): StatementResult {
  const result = step.result(results[at] as EdgeResult)
  const rowMode = options.rowMode ?? 'object'
  const most = rowLimit(options, step.statement, shape)
  if (shape !== 'queryOne' && step.statement.kind === 'read' && result.rows.length > most) throw tooManyRows(most)
  if (shape === 'query') return queryBody(result, rowMode, { dbMs })
  if (shape === 'queryOne') return oneBody(result, rowMode, { dbMs })
  const rowId = rowIdAt === undefined ? null : String(results[rowIdAt]?.results[0]?.id ?? '')
  return execBody(result, rowId, rowMode, { dbMs })
}

function rowLimit({ maxRows }: StatementOptions, statement: ReadyStatement, shape: Shape): number {
  return shape === 'queryOne' ? 1 : Math.min(maxRows ?? edgeLimits.maxRows, statement.maxRows ?? edgeLimits.maxRows, edgeLimits.maxRows)
}

function timeLimit({ timeoutMs }: StatementOptions, tasks: readonly Task[]): number {
  const own = tasks.flatMap(({ statement }) => (statement.timeoutMs === undefined ? [] : [statement.timeoutMs]))
  return Math.min(timeoutMs ?? edgeLimits.timeoutMs, edgeLimits.maxTimeoutMs, ...own)
}

function rateLimited({ ratePerMinute, totalPerMinute }: EdgeConfig, now: number): WireError {
  const limits = [
    ...(ratePerMinute === 0 ? [] : [`${ratePerMinute} for each key id`]),
    ...(totalPerMinute === 0 ? [] : [`${totalPerMinute} for all of them`]),
  ]
  return new WireError('RATE_LIMITED', `The requests of the current minute are used up: ${limits.join(', ')}`, {
    details: { limit: ratePerMinute, total: totalPerMinute },
    retryAfterS: 60 - Math.floor((now % 60_000) / 1000),
  })
}

function minuteOf(now: number): number {
  return Math.floor(now / 60_000)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
