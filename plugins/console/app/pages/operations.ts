import { request } from '../data/api.js'
import { messageOf } from '../data/message.js'
import { exact, plural } from '../format.js'
import { path } from '../router.js'
import { toast } from '../ui/toast.js'

/** The fields of an operation on jobs that the page uses. */
export interface Operation {
  readonly id: string
  readonly state: string
  readonly changed: number
  readonly total: number
  /** Null if it cannot be undone. */
  readonly undo: { readonly jobs: number } | null
}

const pollMs = 1_000

/** Polls an operation until it has ended. */
export async function ended(first: Operation): Promise<Operation> {
  let operation = first
  while (operation.state === 'running') {
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    operation = (await request<{ operation: Operation }>('GET', path`/api/operations/${operation.id}`)).operation
  }
  return operation
}

/** Undoes operations sequentially and shows how many jobs were restored. */
export async function undo(ids: readonly string[], done: () => void): Promise<void> {
  let [restored, total] = [0, 0]
  try {
    for (const id of ids) {
      const { operation } = await request<{ operation: Operation }>('POST', path`/api/operations/${id}/undo`)
      const { changed, total: deleted } = await ended(operation)
      restored += changed
      total += deleted
    }
    toast(restored === total ? 'ok' : 'bad', `Restored ${restored === total ? '' : `${exact(restored)} of `}${plural(total, 'job')}`)
  } catch (error) {
    toast('bad', `Undo failed: ${restored === 0 ? '' : `only ${plural(restored, 'job')} restored; `}${messageOf(error)}`)
  }
  done()
}
