import type { Worker } from 'bullmq'

/** Resolves when a worker has completed `count` jobs. */
export const done = (worker: Worker, count: number): Promise<void> =>
  new Promise((resolve) => {
    let left = count
    worker.on('completed', () => {
      if (--left === 0) resolve()
    })
  })
