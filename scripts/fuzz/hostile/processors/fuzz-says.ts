import { parentPort } from 'node:worker_threads'

/** Sends the data of the job to the parent process or thread, in place of Zin's own messages. */
export default function say({ data }: { readonly data: unknown }): string {
  if (parentPort === null) process.send?.(data)
  else parentPort.postMessage(data)
  return 'said'
}
