import type { Queues } from 'zin/plugins/queues'

/** Returns a view of the queues without the hidden ones, for listing, searching and counting. */
export function visibleQueues(queues: Queues, isHidden: (queue: string) => boolean): Queues {
  const names = async (): Promise<readonly string[]> => (await queues.names()).filter((name) => !isHidden(name))
  return Object.create(queues, { names: { value: names } }) as Queues
}
