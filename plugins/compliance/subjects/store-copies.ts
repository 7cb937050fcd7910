import { randomUUID } from 'node:crypto'
import type { Queues } from 'zin/plugins/queues'
import type { Marks } from '../store/marks.js'

const mark = 'subjects.stores'
const note = 'compliance.subjects'

/**
 * Detects that the queues or the tables were set back to a copy, or jobs imported: then the index lacks jobs that the queues have. Both stores
 * keep the same random value, which changes with each erasure and once an hour.
 */
export class StoreCopies {
  readonly #marks: Pick<Marks, 'get' | 'set'>
  readonly #queues: Pick<Queues, 'note' | 'setNote'>

  constructor(marks: Pick<Marks, 'get' | 'set'>, queues: Pick<Queues, 'note' | 'setNote'>) {
    this.#marks = marks
    this.#queues = queues
  }

  /** Whether both are of the same time. False until a search has read the queues. */
  async match(): Promise<boolean> {
    const [known, there] = await Promise.all([this.#marks.get(mark), this.#queues.note(note)])
    return known !== undefined && known === there
  }

  /** Gives both a new value. Two processes that do so at once cause no more than a search that reads all queues. */
  async renew(): Promise<void> {
    const value = randomUUID()
    await this.#marks.set(mark, value)
    await this.#queues.setNote(note, value)
  }

  /** Gives both a new value, unless one was set back and no search has read the queues since. */
  async keepUp(): Promise<void> {
    if (await this.match()) await this.renew()
  }
}
