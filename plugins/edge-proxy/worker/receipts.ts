import { type RowMode, type StatementResult, WireError } from 'zin/plugins/sql-wire'
import { webSha256Hex } from 'zin/signing/web'
import type { Verified } from './auth.js'
import { execBody } from './results.js'
import { insertsRows } from './statement.js'
import type { Task } from './tasks.js'

/** The receipt of a write with an idempotency key. */
export interface Receipt {
  readonly id: string
  /** Hash of path and body, to detect that the key is reused for another request. */
  readonly hash: string
}

/** Returns the receipt of a request; undefined without a key or if the request only reads. */
export async function receiptOf(
  key: string | undefined,
  tasks: readonly Task[],
  { keyId, bodySha256 }: Verified,
  path: string,
  credential: string,
): Promise<Receipt | undefined> {
  if (key === undefined || tasks.every(({ statement }) => statement.kind === 'read')) return undefined
  const id = (await webSha256Hex(`${credential}\n${keyId}\n${key}`)).slice(0, 32)
  return { id, hash: await webSha256Hex(`${path}\n${bodySha256}`) }
}

interface ReceiptRow {
  readonly step: number
  readonly body_hash: string | null
  readonly changes: number | null
  readonly last_row_id: string | null
  readonly response: string | null
}

/** Returns the response of the original request. @param found rows of the receipt, ordered by step. */
export function replayedBodies(
  found: readonly Readonly<Record<string, unknown>>[],
  receipt: Receipt,
  tasks: readonly Task[],
  rowMode: RowMode,
): readonly StatementResult[] {
  const [head, ...steps] = found as unknown as readonly ReceiptRow[]
  if (head === undefined) throw new WireError('IDEMPOTENCY_IN_PROGRESS', 'The request with this idempotency key has just expired or failed')
  if (head.body_hash !== receipt.hash)
    throw new WireError('IDEMPOTENCY_MISMATCH', 'This idempotency key was used for another request; use a new key for each write')
  if (head.response !== null) return (JSON.parse(head.response) as readonly StatementResult[]).map(asReplayed)
  if (steps.length !== tasks.length)
    throw new WireError('INTERNAL', 'The request with this idempotency key was committed, but its result rows are lost', {
      details: { committed: true },
    })
  return steps.map(({ changes, last_row_id }, index) => {
    const { statement } = tasks[index] as Task
    // After DDL, `changes` is the number of an earlier statement.
    const result = { columns: [], rows: [], changes: statement.scan.kind === 'write' ? (changes ?? 0) : 0 }
    return execBody(result, insertsRows(statement) ? last_row_id : null, rowMode, { replayed: true })
  })
}

function asReplayed(body: StatementResult): StatementResult {
  return { ...body, meta: { ...body.meta, replayed: true } }
}
