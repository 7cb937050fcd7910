import { isInternalQueue, type Queues } from 'zin/plugins/queues'

/** Returns a view of the queues without those of plugins, for listing, searching and counting. */
export function visibleQueues(queues: Queues): Queues {
  const names = async (): Promise<readonly string[]> => (await queues.names()).filter((name) => !isInternalQueue(name))
  return Object.create(queues, { names: { value: names } }) as Queues
}
